"""The pinwheel: points of the plane in spiral arms."""

from typing import Any, final

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave import memory
from unweave.data.dataset import Batch, Dataset
from unweave.data.space import check_count, check_index
from unweave.errors import UnweaveError


@final
class Pinwheel(Dataset):
    """Points of the plane, drawn once, in arms that curl with the radius.

    A point of arm ``k`` of ``A`` starts as ``(r, t)`` with ``r ~ N(1, radial^2)``, ``t ~ N(0, tangential^2)`` and is
    turned by ``2 pi k / A + rate exp(r)``.

    DEC appendix B prints deviations "radial and tangential" of 0.1 and 0.3 and a rate of 0.25. Its authors pass these
    numbers to a generator, by R. P. Adams, that applies the second to the radius, the first across it, and turns
    clockwise; that gives the four spirals of their figure, so it is the default here: 0.3 along the radius, 0.1
    across, rate -0.25. ``radial=0.1, tangential=0.3, rate=0.25``, the words as printed, gives four bars on a ring.

    To the networks a point is an image of 1 x 2 pixels: ``image = (point + 2) / 4``. Use linear networks and a Gaussian
    likelihood. There are no factors; ``points`` (n, 2) and ``arms`` (n,) hold the points themselves.

    Args:
        n: number of points, a multiple of the number of arms.
        clusters: number of arms.
        radial: standard deviation along the radius.
        tangential: standard deviation across it.
        rate: how much the arms curl; less than 0: clockwise.
        seed: of the points.

    Example:
        >>> wheel = Pinwheel()
        >>> wheel.points.shape, wheel.image_shape, np.bincount(wheel.arms).tolist()
        ((400, 2), (1, 1, 2), [100, 100, 100, 100])
    """

    description = (
        "points of the plane in spiral arms, 1 x 2 pixels: n, clusters, radial, tangential, rate, seed"
    )

    def __init__(
        self,
        *,
        n: int = 400,
        clusters: int = 4,
        radial: float = 0.3,
        tangential: float = 0.1,
        rate: float = -0.25,
        seed: int = 0,
    ) -> None:
        if clusters < 1 or n < clusters or n % clusters:
            raise UnweaveError(f"n must be a multiple of the {clusters} clusters, got {n}")
        if radial < 0 or tangential < 0:
            raise UnweaveError(
                f"radial and tangential deviations must be at least 0, got {radial:g}, {tangential:g}"
            )
        if seed < 0:
            raise UnweaveError(f"seed of Pinwheel must be at least 0, got {seed}")
        memory.check(100.0 * n, f"a pinwheel of {n:,} points", "choose a smaller data.n")
        rng = np.random.default_rng(seed)
        self.arms = np.repeat(np.arange(clusters), n // clusters)
        r = 1 + radial * rng.standard_normal(n)
        t = tangential * rng.standard_normal(n)
        with np.errstate(all="ignore"):  # whatever becomes too large is told below
            angle = 2 * np.pi * self.arms / clusters + rate * np.exp(r)
            x, y = r * np.cos(angle) - t * np.sin(angle), r * np.sin(angle) + t * np.cos(angle)
            self.points = np.stack([x, y], -1).astype(np.float32)
        if not np.isfinite(self.points).all():
            raise UnweaveError(
                f"radial {radial:g}, tangential {tangential:g} and rate {rate:g} give points that are not finite: "
                "choose smaller ones"
            )
        self.image_shape = (1, 1, 2)
        self.space = None
        self.count = n

    def at(self, index: ArrayLike) -> NDArray[Any]:
        """Images (m, 1, 1, 2) of row numbers, clipped to [0, 1]."""
        rows = check_index(index, len(self.points))
        images: NDArray[Any] = np.clip((self.points[rows] + 2) / 4, 0, 1).reshape(-1, 1, 2, 1)
        return images.transpose(0, 3, 1, 2)

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` rows, each equally likely."""
        return Batch(self.at(rng.integers(len(self.points), size=check_count(n))), None)
