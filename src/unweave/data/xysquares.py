"""XYSquares: three squares that move on a grid (REC 5.1, 5.4)."""

from typing import Any, final

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.dataset import Batch, Channels, Dataset, channels_last
from unweave.data.pictures import check_size
from unweave.data.space import FactorSpace
from unweave.errors import UnweaveError

_PLACES = 8
_FRAME = 64


@final
class XYSquares(Dataset):
    """A red, a green and a blue square 8 x 8 in 64 x 64, each on an 8 x 8 grid: 8^6 = 262,144 images.

    At spacing 8 squares at different grid points never overlap, so that every two images that differ in one
    factor have the same distance: mean squared pixel difference 2*64/(64*64*3) on [0, 1]. A smaller spacing
    brings the grid points closer, centred in the frame, and makes neighbours overlap.

    Factors are x and y (grid column from the left, row from the top) of the red, green and blue square.

    Reference: REC 5.1 (the set), 5.4 (spacing), tables A1 and A2.

    Args:
        spacing: distance of neighbouring grid points, 1 .. 8, in 1/64 of the frame (pixels at size 64).
        size: height and width in pixels, a multiple of 8; the squares scale with it.

    Example:
        >>> squares = XYSquares()
        >>> squares.count, squares.image_shape
        (262144, (3, 64, 64))
        >>> a, b = squares.images([[0, 0, 0, 0, 0, 0], [7, 0, 0, 0, 0, 0]]) / 255
        >>> float(((a - b) ** 2).mean()) == 2 * 64 / (64 * 64 * 3)
        True
    """

    description = "red, green and blue square on a grid: x 8 and y 8 each; spacing 1..8 sets the overlap"

    def __init__(self, *, spacing: int = 8, size: int = 64) -> None:
        if not isinstance(spacing, int) or isinstance(spacing, bool) or not 1 <= spacing <= 8:
            raise UnweaveError(f"spacing of XYSquares must be a whole number from 1 to 8, got {spacing!r}")
        if not isinstance(size, int) or isinstance(size, bool) or size < 8 or size % 8:
            raise UnweaveError(f"size of XYSquares must be a multiple of 8 pixels, got {size!r}")
        check_size(size, "XYSquares")
        if spacing * size % _FRAME:
            raise UnweaveError(
                f"spacing {spacing} of XYSquares is {spacing * size / _FRAME:g} pixels at size {size}: "
                f"choose a spacing and size whose product is a multiple of {_FRAME}"
            )
        self.spacing, self.size = spacing, size
        self.image_shape = (3, size, size)
        self.space: FactorSpace = FactorSpace(("x_r", "y_r", "x_g", "y_g", "x_b", "y_b"), (_PLACES,) * 6)
        self.count: int = _PLACES**6
        side, step = size // 8, spacing * size // _FRAME
        self._step = step
        self._start = (size - (_PLACES - 1) * step - side) // 2
        # Offsets of a square's bytes from its first one, in (height, width, channel) order.
        self._square = ((np.arange(side)[:, None] * size + np.arange(side)) * 3).ravel()

    def images(self, factors: ArrayLike) -> NDArray[Any]:
        """Images (n, 3, size, size), uint8 0 or 255, of `factors` (n, 6)."""
        return self._draw(self.space.check(factors))

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` of the 262,144 images, drawn uniformly with replacement."""
        factors = self.space.sample(n, rng)
        return Batch(self._draw(factors), factors)

    def channels(self) -> Channels:
        """Exact for every spacing and size: of n pixels a channel a share p = 1/64 is on; std^2 = p (1 - p) n/(n - 1).

        REC table A2.
        """
        share, n = 1 / 64, self.size**2
        return Channels((share,) * 3, (float(np.sqrt(share * (1 - share) * n / (n - 1))),) * 3, "exact")

    def _draw(self, factors: NDArray[np.int64]) -> NDArray[np.uint8]:
        n = len(factors)
        pixels = np.zeros((n, self.size, self.size, 3), np.uint8)
        place = self._start + self._step * factors.reshape(n, 3, 2)
        corner = (np.arange(n)[:, None] * self.size + place[..., 1]) * self.size + place[..., 0]
        first = corner * 3 + np.arange(3)
        pixels.reshape(-1)[first[..., None] + self._square] = 255
        return channels_last(pixels)
