"""Pictures made beforehand, for a decoder that the page cannot run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.explorer.latent_facts import LatentFacts
from unweave.explorer.sheets import sheet
from unweave.models import TrainedModel

LATENTS, STEPS, SIDE, SAMPLES = 8, 9, 9, 24


def precomputed(
    model: TrainedModel, facts: LatentFacts, centre: NDArray[Any], starts: NDArray[Any] | None
) -> dict[str, Any]:
    """Codes and their images: the centre, traversals of the first latents, a plane of two, samples, reconstructions.

    Args:
        model: what decodes.
        facts: of its latents.
        centre: code (latents,) around which latents are varied.
        starts: codes of pictures to start from.

    Example:
        >>> from unweave.explorer.latent_facts import latent_facts
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> made = precomputed(model, latent_facts(model), np.zeros(2), None)
        >>> made["sheet"]["count"] == len(made["along"]) == 1 + 2 * 9 + 81 + 24
        True
    """
    rows, along = [np.asarray(centre, np.float32)], [-1]
    for j in facts.order[:LATENTS]:
        for value in facts.values.get(j) or np.linspace(*facts.ranges[j], STEPS):
            rows.append(_with(centre, {j: value}))
            along.append(j)
    if len(facts.order) > 1:
        a, b = facts.order[:2]
        for x in np.linspace(*facts.ranges[a], SIDE):
            for y in np.linspace(*facts.ranges[b], SIDE):
                rows.append(_with(centre, {a: x, b: y}))
                along.append(-1)
    others = [facts.draws[:SAMPLES], *([] if starts is None else [starts])]
    codes = np.concatenate([np.stack(rows), *others]).astype(np.float32)
    along += [-1] * (len(codes) - len(along))
    return {"codes": codes, "along": along, "sheet": sheet(model.decode(codes))}


def _with(centre: NDArray[Any], changes: dict[int, float]) -> NDArray[np.float32]:
    code = np.array(centre, np.float32)
    for j, value in changes.items():
        code[j] = value
    return code
