"""How a model embeds a grid of two factors."""

from typing import final

import numpy as np

from unweave.metrics import Score, embed_grid
from unweave.model_metrics.model_metric import Evaluated, ModelMetric


@final
class Geometry(ModelMetric):
    """The geometry score of a grid of two factors; nothing where no two factors span a plane.

    Example:
        >>> from unweave import VAE
        >>> from unweave.data import Circles
        >>> from unweave.model_metrics import Codes
        >>> vae, circles, rng = VAE.assemble((3, 32, 32), latents=2), Circles(size=32), np.random.default_rng(0)
        >>> zeros, factors = np.zeros((2, 2)), np.array([[0.0, 0.0], [1.0, 1.0]])
        >>> codes = Codes(zeros, zeros + 1, zeros, factors, np.zeros(0), step=1)
        >>> list(Geometry().compute(Evaluated(vae, circles, codes), rng))
        ['geometry']
    """

    name = "geometry"
    sentence = "How close a grid of two factors stays to a copy of itself in two latents."

    def compute(self, evaluated: Evaluated, rng: np.random.Generator) -> dict[str, Score]:
        """Encodes the images of the grid."""
        dataset = evaluated.dataset
        known = dataset.space is not None and evaluated.codes.varying_factors is not None
        grid = embed_grid(evaluated.model.codes, dataset) if known else None
        return {} if grid is None else {"geometry": grid.score()}
