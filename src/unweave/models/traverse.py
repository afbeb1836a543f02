"""Traversals: one latent of a code is varied, the others stay as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from unweave import atomic, plots
from unweave.errors import UnweaveError
from unweave.vae import VAE

if TYPE_CHECKING:
    from unweave.models.encode import Tell
    from unweave.models.trained import TrainedModel

ANIMATED = {".gif": plots.traversal_gif_bytes, ".webp": plots.traversal_webp_bytes}
"""Endings of moving pictures."""


@dataclass(frozen=True)
class Traversal:
    """Images ``(rows, steps, channels, height, width)`` of one varied latent each.

    Example:
        >>> import tempfile
        >>> found = Traversal(np.zeros((2, 5, 1, 16, 16)), (1, 0), ("z1", "z0"), -2.0, 2.0)
        >>> found.save(Path(tempfile.mkdtemp()) / "z.webp").name
        'z.webp'
    """

    images: NDArray[np.float32]
    latents: tuple[int, ...]
    labels: tuple[str, ...]
    low: float
    high: float

    def save(self, path: Path) -> Path:
        """A sheet as png, svg or pdf, or an animation as gif or webp, by the ending of the path."""
        if path.suffix.lower() in ANIMATED:
            atomic.write(path, ANIMATED[path.suffix.lower()](self.images, self.labels))
            return path
        return plots.save(plots.traversals(self.images, self.labels, low=self.low, high=self.high), path)


def traverse(
    model: "TrainedModel",
    code: NDArray[Any] | None = None,
    *,
    latents: Sequence[str | int] | None = None,
    span: tuple[float, float] | None = None,
    steps: int = 9,
    tell: "Tell | None" = None,
) -> Traversal:
    """The images of a code of which one latent at a time is varied.

    Args:
        model: what decodes.
        code: (latents,), at which the others stay; none: the mean of the prior.
        latents: which to vary, in this order; none: all, those with the largest KL first if it is known.
        span: first and last value; none: the model's own, such as -2 to 2.
        steps: number of values.
        tell: called with how many images are done, and of how many.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> traverse(model, steps=5).images.shape
        (2, 5, 3, 32, 32)
    """
    low, high = model.model.span if span is None else span
    if not (np.isfinite([low, high]).all() and low < high):
        raise UnweaveError(
            f"the range of a traversal must be two numbers, the lower one first, got {low:g},{high:g}"
        )
    kl = model.kl
    if latents is not None:
        order = [model.latent(word) for word in latents]
    else:
        order = list(range(model.latents)) if kl is None else np.argsort(-kl, kind="stable").tolist()
    middle = center(model) if code is None else model.checked_codes(code)[0]
    codes = plots.traversal_codes(middle, order, low=low, high=high, steps=steps).astype(np.float32)
    images = model.decode(codes.reshape(-1, model.latents), tell=tell)
    labels = plots.traversal_labels(order, kl, model.latent_names)
    shaped = images.reshape(len(order), steps, *images.shape[1:])
    return Traversal(shaped, tuple(order), tuple(labels), low, high)


def center(model: "TrainedModel") -> NDArray[np.float32]:
    """The mean of the model's prior, (latents,); zero where that is not known.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> center(model).tolist()
        [0.0, 0.0]
    """
    if isinstance(model.model, VAE):
        try:
            with torch.no_grad():
                mean = model.model.prior().mean.cpu().float().numpy()
            if mean.shape == (model.latents,) and np.isfinite(mean).all():
                return np.asarray(mean, np.float32)
        except (AttributeError, NotImplementedError):
            pass
    return np.zeros(model.latents, np.float32)
