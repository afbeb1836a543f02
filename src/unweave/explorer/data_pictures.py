"""Pictures of the data that models were trained on: where a walk may start, and what the factors look like."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.data import Dataset
from unweave.errors import UnweaveError
from unweave.explorer.factor_frames import factor_frames
from unweave.explorer.sheets import as_bytes, sheet
from unweave.models import TrainedModel

logger = logging.getLogger("unweave")

POINTS = 256
"""Images whose codes are the faint points of the plane."""

STARTS = 18
"""Of them, those that are shown to start from."""


@dataclass(frozen=True)
class DataPictures:
    """Some images of a data set ``(n, channels, height, width)`` uint8, and their factors ``(n, K)`` if known.

    Example:
        >>> from unweave.data import XYSquares
        >>> data_pictures(XYSquares(), "squares").images.shape
        (256, 3, 64, 64)
    """

    name: str
    dataset: Dataset
    images: NDArray[np.uint8]
    factors: NDArray[Any] | None

    def to_json(self) -> dict[str, Any]:
        """What the page needs of them; the codes of the points stand with each model."""
        found: dict[str, Any] = {
            "name": self.name,
            "starts": sheet(self.images[:STARTS]),
            "points": len(self.images),
            "factors": None,
            "frames": None,
        }
        space = self.dataset.space
        if self.factors is None or space is None:
            return found
        # A factor with one value, or one that tells images apart one by one, is nothing to tint by or to move.
        varying = [
            k
            for k, size in enumerate(space.sizes)
            if size != 1 and not (isinstance(size, int) and size == self.dataset.count)
        ]
        found["factors"] = {
            "names": [space.names[k] for k in varying],
            "columns": varying,
            "sizes": [size if isinstance(size, int) else list(size) for size in space.sizes],
            "values": np.round(self.factors[:, varying].astype(np.float64), 4).tolist(),
        }
        if varying:
            found["frames"] = factor_frames(self.dataset, self.factors[0])
        return found


def data_pictures(dataset: Dataset, name: str) -> DataPictures:
    """Images of the training distribution of a data set, the same each time.

    Example:
        >>> from unweave.data import XYSquares
        >>> data_pictures(XYSquares(), "squares").factors.shape
        (256, 6)
    """
    count = POINTS if dataset.count is None else min(POINTS, dataset.count)
    batch = dataset.sample(count, np.random.default_rng(0))
    return DataPictures(name, dataset, as_bytes(batch.images), batch.factors)


def first_data(models: Sequence[TrainedModel]) -> tuple[DataPictures | None, str]:
    """Pictures of the data of the first model whose data are there, and a sentence where something is missing.

    Example:
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 64, 64))
        >>> first_data([model])[1]
        ''
    """
    reason = ""
    for model in models:
        try:
            pictures = data_pictures(model.config.make_dataset(), model.data_name)
        except Exception as error:  # data of an outside class may fail in any way, and a model needs none
            if not isinstance(error, UnweaveError | OSError) and not model.config.outside_parts:
                raise
            reason = reason or " ".join(str(error).split())[:300]
            continue
        others = sorted({other.data_name for other in models} - {model.data_name})
        if others:
            return pictures, (
                f"Pictures and factors are those of {model.data_name}; there are models here that were trained on "
                f"{', '.join(others)}."
            )
        return pictures, ""
    return (
        None,
        f"The data of {models[0].data_name} are not here, so walks start from samples of the prior ({reason}).",
    )
