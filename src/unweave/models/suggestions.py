"""Names for latents, suggested by the factors that sit in them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unweave.models.trained import TrainedModel

LEAST = 0.2
"""A factor is suggested if a latent holds at least this share of its entropy."""


def suggested_names(relations: Mapping[str, Any], latents: int) -> dict[int, str]:
    """For each latent the factor that it tells most about, if no other latent tells more about that factor.

    With the shares ``s_jk = I(z_j; v_k) / H(v_k)`` of :func:`unweave.metrics.relations`: latent ``j`` gets the name of
    factor ``k`` where ``s_jk`` is the largest of its row and of its column and at least :data:`LEAST`.

    Args:
        relations: as a run stores them; empty: nothing is known of factors, and nothing is suggested.
        latents: size of the code.

    Example:
        >>> suggested_names({"factor_names": ["x", "y"], "information": [[0.1, 0.0], [0.0, 0.9], [0.7, 0.1]]}, 3)
        {2: 'x', 1: 'y'}
    """
    names = [str(name) for name in relations.get("factor_names", ())]
    shares = np.asarray(relations.get("information", ()), np.float64)
    if shares.shape != (latents, len(names)) or not names:
        return {}
    found = {}
    for k, name in enumerate(names):
        j = int(np.argmax(shares[:, k]))
        if shares[j, k] >= LEAST and int(np.argmax(shares[j])) == k:
            found[j] = name
    return found


def names_table(model: "TrainedModel", latent: int | None = None) -> list[list[str]]:
    """A table of the latents, or of one of them: number, name, KL, and the factor that would be a name.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> names_table(model, 1)
        [['latent', 'name'], ['z1', '']]
    """
    suggested, kl = model.suggested_names(), model.kl
    columns = ["latent", "name", *(["KL"] if kl is not None else []), *(["suggested"] if suggested else [])]
    rows = [columns]
    for j in range(model.latents) if latent is None else [latent]:
        row = [f"z{j}", model.names.get(j, "")]
        row += [f"{kl[j]:.2f}"] if kl is not None else []
        row += [suggested.get(j, "")] if suggested else []
        rows.append(row)
    return rows
