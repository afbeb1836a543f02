"""Training on fewer than all combinations of factors: regions held out, correlated factors."""

from abc import abstractmethod
from typing import Any, Literal, final

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from unweave.data.dataset import Batch, Channels, Dataset
from unweave.data.space import Array, FactorSpace, check_count
from unweave.errors import UnweaveError
from unweave.slots import Slot

_TRIES = 1000


class _Chosen(Dataset):
    """A data set of which training takes each image with a probability that depends on its factors."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.image_shape = dataset.image_shape
        self.space: FactorSpace = dataset.factor_space()
        self.count = dataset.count

    @property
    def name(self) -> str:
        """Name of the dataset that is chosen from."""
        return self.dataset.name

    def images(self, factors: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of `factors` (n, K), held-out ones too."""
        return self.dataset.images(factors)

    def at(self, index: ArrayLike) -> NDArray[Any]:
        """Images (n, C, H, W) of row numbers (n,) of the whole dataset."""
        return self.dataset.at(index)

    def factors_at(self, index: ArrayLike) -> Array:
        """Factors (n, K) of row numbers (n,) of the whole dataset."""
        return self.dataset.factors_at(index)

    def sample(self, n: int, rng: Generator) -> Batch:
        """`n` images, each taken with its acceptance."""
        check_count(n)
        if self.count is not None:
            rows = self._rows(n, rng)
            return Batch(self.dataset._images_of_rows(rows, rng), self.factors_at(rows))
        images, points, have = [], [], 0
        for _ in range(_TRIES):
            drawn = self.dataset.sample(n, rng)
            assert drawn.factors is not None
            # Blank images have no factors and are always taken.
            blank = np.isnan(drawn.factors).any(axis=1) if drawn.factors.dtype.kind == "f" else None
            taken = np.ones(n, np.bool_)
            shown = taken if blank is None else ~blank
            chance = self.weight(drawn.factors[shown])
            taken[shown] = rng.random(len(chance)) < chance
            images.append(drawn.images[taken])
            points.append(drawn.factors[taken])
            have += int(taken.sum())
            if have >= n:
                stacked = np.concatenate([part.transpose(0, 2, 3, 1) for part in images])[:n]
                return Batch(stacked.transpose(0, 3, 1, 2), np.concatenate(points)[:n])
        raise self._nothing_left()

    def held_out(self, factors: ArrayLike) -> NDArray[np.bool_]:
        """True (n,) for the `factors` (n, K) that training never sees."""
        return self.dataset.held_out(factors) | (self.weight(self.space.check(factors)) <= 0)

    def acceptance(self, factors: ArrayLike) -> NDArray[np.float64]:
        """Probability (n,) with which training takes `factors` (n, K)."""
        return self.dataset.acceptance(factors) * self.weight(self.space.check(factors))

    def evaluation_rows(self, n: int, rng: Generator) -> NDArray[np.int64]:
        """Row numbers of at most `n` different images of the training distribution."""
        count = self._counted()
        order = rng.permutation(count) if count <= 5_000_000 else rng.integers(count, size=20 * n)
        found: list[NDArray[np.int64]] = []
        for start in range(0, len(order), 4 * n):
            rows = order[start : start + 4 * n]
            chance = self.weight(self.factors_at(rows))
            found.append(rows[rng.random(len(rows)) < chance])
            if sum(map(len, found)) >= n:
                break
        return np.concatenate(found)[:n]

    def fingerprint(self) -> str:
        """That of the dataset chosen from: the choice itself is in the config."""
        return self.dataset.fingerprint()

    def channels(self) -> Channels:
        """Those of the dataset chosen from."""
        return self.dataset.channels()

    @abstractmethod
    def weight(self, factors: Array) -> NDArray[np.float64]:
        """Probability (n,) in [0, 1], up to a constant, of `factors` (n, K)."""

    def _images_of(self, factors: Array, rng: Generator) -> NDArray[Any]:
        return self.dataset._images_of(factors, rng)

    def _images_of_rows(self, rows: NDArray[np.int64], rng: Generator) -> NDArray[Any]:
        return self.dataset._images_of_rows(rows, rng)

    def _propose_pairs(self, n: int, rng: Generator, k: int | None) -> tuple[Array, Array]:
        return self.dataset._propose_pairs(n, rng, k)

    def _rows(self, n: int, rng: Generator) -> NDArray[np.int64]:
        found: list[NDArray[np.int64]] = []
        have = 0
        for _ in range(_TRIES):
            rows = rng.integers(self._counted(), size=max(2 * (n - have), 16))
            chance = self.weight(self.factors_at(rows))
            found.append(rows[rng.random(len(rows)) < chance])
            have += len(found[-1])
            if have >= n:
                return np.concatenate(found)[:n]
        raise self._nothing_left()

    def _nothing_left(self) -> UnweaveError:
        return UnweaveError(
            f"{self.name}: hardly any image is left to train on: choose other factors, or fewer"
        )

    def _columns(self, factors: tuple[str, ...], least: int, of: str) -> list[int]:
        if len(factors) < least:
            names = ", ".join(self.space.names)
            raise UnweaveError(
                f"factors of {of} must name at least {least} of {names}, got {', '.join(factors) or 'none'}"
            )
        return [self.space.column(name) for name in factors]

    def _place(self, factors: Array, column: int) -> NDArray[np.float64]:
        """Where a factor lies in its range, 0 .. 1; of a discrete one the middles of equal parts."""
        size = self.space.sizes[column]
        if isinstance(size, tuple):
            return np.asarray((factors[:, column] - size[0]) / (size[1] - size[0]))
        return np.asarray((factors[:, column] + 0.5) / size)


@final
class HeldOut(_Chosen):
    """A dataset from which training never sees one region of factor space.

    The region is a box over the named factors: those whose place in their range (0 .. 1) lies, for every named factor,
    in the lower `share` (``corner``) or in the middle `share` (``center``). Metrics draw from the rest;
    :meth:`images` still draws the region, :meth:`held_out` marks it.

    Args:
        dataset: any dataset with factors.
        factors: names of the factors that span the box.
        region: where the box lies.
        share: of each factor's range that the box takes.

    Reference: SBD figure 4 (holes of a quarter of the plane).

    Example:
        >>> from unweave.data import XYSquares
        >>> part = HeldOut(XYSquares(), factors=("x_r", "y_r"))
        >>> float((part.sample(1000, np.random.default_rng(0)).factors[:, :2] < 4).all(axis=1).mean())
        0.0
    """

    description = "one region of factor space is never seen in training: factors, region, share"

    def __init__(
        self,
        dataset: Dataset,
        *,
        factors: tuple[str, ...] = (),
        region: Literal["corner", "center"] = "corner",
        share: float = 0.5,
    ) -> None:
        super().__init__(dataset)
        if region not in ("corner", "center"):
            raise UnweaveError(f"region of HeldOut must be corner or center, got {region!r}")
        if not 0 < share < 1:
            raise UnweaveError(f"share of HeldOut must lie between 0 and 1, got {share}")
        self.region, self.share = region, share
        self.columns = self._columns(factors, 1, "HeldOut")
        every = self.space.grid([self.space.names[c] for c in self.columns], None, self._origin())
        if self.weight(every).all() or not self.weight(every).any():
            raise UnweaveError(
                f"HeldOut with share={share} holds out all or nothing of {', '.join(factors)}: choose another share"
            )

    def weight(self, factors: Array) -> NDArray[np.float64]:
        """0 inside the region, 1 outside."""
        low = 0.0 if self.region == "corner" else (1 - self.share) / 2
        inside = np.ones(len(factors), np.bool_)
        for column in self.columns:
            place = self._place(factors, column)
            inside &= (place > low - (self.region == "corner")) & (place < low + self.share)
        return np.where(inside, 0.0, 1.0)

    def _origin(self) -> list[float]:
        return [size[0] if isinstance(size, tuple) else 0 for size in self.space.sizes]


@final
class Correlated(_Chosen):
    """A data set in whose training images two or more factors are correlated.

    An image is taken with probability ``prod exp(-(u_i - u_1)^2 / (2 sigma^2))``, where u in [0, 1] is a factor's place
    in its range and i runs over the second and further named factors: a small `sigma` correlates them strongly, a large
    one leaves them nearly independent.

    Args:
        dataset: any dataset with factors.
        factors: names of the factors that are correlated.
        sigma: width of the correlation, in ranges.

    Reference: Träuble et al. 2021, On disentangled representations learned from correlated data.

    Example:
        >>> from unweave.data import XYSquares
        >>> tied = Correlated(XYSquares(), factors=("x_r", "y_r"), sigma=0.1)
        >>> x, y = tied.sample(2000, np.random.default_rng(0)).factors[:, :2].T
        >>> bool(np.corrcoef(x, y)[0, 1] > 0.8)
        True
    """

    description = "correlated factors in training: factors, sigma"

    def __init__(self, dataset: Dataset, *, factors: tuple[str, ...] = (), sigma: float = 0.2) -> None:
        super().__init__(dataset)
        if not sigma > 0:
            raise UnweaveError(f"sigma of Correlated must be greater than 0, got {sigma}")
        self.sigma = sigma
        self.columns = self._columns(factors, 2, "Correlated")

    def weight(self, factors: Array) -> NDArray[np.float64]:
        """The product of the Gaussians."""
        first = self._place(factors, self.columns[0])
        apart = sum((self._place(factors, c) - first) ** 2 for c in self.columns[1:])
        return np.asarray(np.exp(-apart / (2 * self.sigma**2)))


@final
class Uniform(_Chosen):
    """A data set without any change.

    Example:
        >>> from unweave.data import XYSquares
        >>> Uniform(XYSquares()).weight(np.zeros((2, 6))).tolist()
        [1.0, 1.0]
    """

    description = "every image equally likely"

    def weight(self, factors: Array) -> NDArray[np.float64]:
        """1 everywhere."""
        return np.ones(len(factors))


SAMPLINGS: Slot[Dataset] = Slot(
    "sampling",
    "unweave.samplings",
    Dataset,
    {"Uniform": Uniform, "HeldOut": HeldOut, "Correlated": Correlated},
)
