"""Pictures of the newest weights of a run: reconstructions and traversals."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave import plots
from unweave.runs.run import Run
from unweave.training import cpu

IMAGES, STEPS, ROWS = 8, 9, 10
"""Images that are reconstructed; values and latents of a traversal."""


def pictures(folder: Path) -> Iterator[tuple[str, int, NDArray[np.uint8]]]:
    """What the newest weights of a run make: a name, the training step and a picture (height, width, 3) each.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config
        >>> words = ["data=circles", "data.size=32", "steps=1", "batch_size=4", "latents=2"]
        >>> run = Run.create(Config.read(words=words), Path(tempfile.mkdtemp()) / "run")
        >>> _ = run.train()
        >>> [(name, step, image.shape) for name, step, image in pictures(run.folder)]
        [('pictures/reconstructions', 1, (66, 270, 3)), ('pictures/traversals', 1, (66, 304, 3))]
    """
    cpu.prepare(1)
    run = Run(folder)
    model, step = run.model_and_step()
    images = run.dataset().sample(IMAGES, np.random.default_rng(0)).images
    means, _ = model.codes(images)
    pairs = np.stack([_scaled(images), model.decode_mean(means)])
    yield "pictures/reconstructions", step, plots.contact_sheet(pairs)
    order = range(min(model.latents, ROWS))  # a row is the same latent at every step
    low, high = model.span
    varied = plots.traversal_codes(means[0], order, low=low, high=high, steps=STEPS).astype(np.float32)
    made = model.decode_mean(varied.reshape(-1, model.latents))
    yield "pictures/traversals", step, plots.contact_sheet(made.reshape(len(order), STEPS, *made.shape[1:]))


def _scaled(images: NDArray[Any]) -> NDArray[np.float32]:
    scale = 255 if images.dtype == np.uint8 else 1
    return np.asarray(images / scale, np.float32)
