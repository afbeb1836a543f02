"""Perceived distance: how far apart a reconstruction loss finds images that differ in one factor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError, unknown
from unweave.metrics.score import Score, interval_of_mean
from unweave.metrics.statistics import rank_correlation
from unweave.metrics.validation import check_count

Floats = NDArray[np.float64]
PixelLoss = Callable[[Any, Any], Any]
"""Images in [0, 1], (n, channels, height, width) each, to one distance a pair, (n,)."""


class ImageSource(Protocol):
    """What is needed of a data set to measure distances between its images (:class:`unweave.data.Dataset`)."""

    @property
    def space(self) -> Any:
        """The factor space."""

    def images(self, factors: Any) -> Any:
        """Images (n, channels, height, width) of factors (n, K)."""


def mse(a: Any, b: Any) -> Floats:
    """Mean squared error of each pair of images, (n,).

    Example:
        >>> mse(np.zeros((1, 1, 2, 2)), np.ones((1, 1, 2, 2))).tolist()
        [1.0]

    """
    n = len(a)
    gaps = (np.asarray(a, np.float32) - np.asarray(b, np.float32)).reshape(n, -1)
    squares: Floats = np.einsum("ni,ni->n", gaps, gaps).astype(np.float64) / gaps.shape[1]
    return squares


def bce(a: Any, b: Any) -> Floats:
    """Mean cross-entropy of images ``a`` under pixel probabilities ``b`` (clipped to 1e-6 .. 1 - 1e-6), (n,), in nats.

    Example:
        >>> bce(np.ones((1, 1, 1, 1)), np.full((1, 1, 1, 1), 0.5)).round(4).tolist()
        [0.6931]

    """
    x = np.asarray(a, np.float64).reshape(len(a), -1)
    p = np.clip(np.asarray(b, np.float64).reshape(len(b), -1), 1e-6, 1 - 1e-6)
    result: Floats = -np.mean(x * np.log(p) + (1 - x) * np.log1p(-p), axis=1)
    return result


def box_blurred(images: ArrayLike, radius: int) -> NDArray[np.float32]:
    """Images (n, channels, height, width) averaged over windows of 2 radius + 1 pixels a side, zeros outside.

    In numpy, because metrics must not import torch; :func:`unweave.functional.blur` is the same in torch, for losses.

    Example:
        >>> (9 * box_blurred(np.ones((1, 1, 3, 3)), 1)[0, 0, 1]).round().tolist()
        [6.0, 9.0, 6.0]

    """
    x = np.ascontiguousarray(images, np.float32)
    windows = []
    for side in x.shape[-2:]:
        offsets = np.abs(np.arange(side) - np.arange(side)[:, None])
        windows.append((offsets <= radius).astype(np.float32) / (2 * radius + 1))
    result: NDArray[np.float32] = windows[0] @ x @ windows[1]
    return result


def overlap(loss: PixelLoss = mse, *, radius: int = 31, weight: float | None = None) -> PixelLoss:
    """The loss that also compares box-blurred images: L(a, b) + weight L(blur a, blur b).

    Args:
        loss: L.
        radius: the window has 2 radius + 1 pixels a side; zeros lie outside the image.
        weight: (2 radius + 1)^2 by default, as in the paper.

    References:
        Michlo et al. 2023 (REC), Eq. 11.

    Example:
        >>> a, b = np.zeros((1, 1, 3, 3)), np.ones((1, 1, 3, 3))
        >>> overlap(mse, radius=0, weight=2.0)(a, b).tolist()
        [3.0]

    """
    radius = check_count("radius", radius, 0)
    alpha = float((2 * radius + 1) ** 2) if weight is None else weight

    def both(a: Any, b: Any) -> Any:
        return loss(a, b) + alpha * loss(box_blurred(a, radius), box_blurred(b, radius))

    return both


LOSSES: dict[str, PixelLoss] = {
    "mse": mse,
    "bce": bce,
    "blurred_mse": overlap(mse),
    "blurred_bce": overlap(bce),
}
"""Losses by name; any function of two batches of images will do."""


@dataclass(frozen=True)
class Distances:
    """Perceived distances of random pairs that differ in one factor, or in any: ``values[name]`` (pairs,).

    ``true[name]`` holds the distances of their factors, sum_k |v_k - v'_k|, in steps. "random" is the name of pairs
    that may differ in every factor.

    Example:
        >>> d = Distances("toy", "mse", {"x": np.array([1.0, 3.0])}, {"x": np.array([1.0, 2.0])})
        >>> d.scores()["x"].value, d.table()[1]
        (2.0, ['x', '2.0000', '1.4142', '1.000'])
    """

    dataset: str
    loss: str
    values: Mapping[str, Floats]
    true: Mapping[str, Floats]

    def scores(self) -> dict[str, Score]:
        """The mean distance of each factor with its interval; the deviation is ``constants["deviation"]``."""
        return {
            name: Score(
                f"perceived_distance_{name}",
                *interval_of_mean(values),
                (0.0, None),
                True,
                "Michlo et al. 2023 (REC), Eq. 12-13 and table A1",
                {
                    "loss": self.loss,
                    "pairs": len(values),
                    "deviation": float(np.std(values, ddof=1)),
                    "rank_correlation": self.correlations()[name],
                },
            )
            for name, values in self.values.items()
        }

    def correlations(self) -> dict[str, float]:
        """Spearman's rank correlation of perceived with true distances; 0 where one of them is constant."""
        return {
            name: rank_correlation(np.round(values, 12), np.round(self.true[name], 12))
            for name, values in self.values.items()
        }

    def table(self) -> list[list[str]]:
        """The rows of REC table A1: factor, mean, deviation and rank correlation, the largest mean first."""
        correlations = self.correlations()
        rows = sorted(self.values.items(), key=lambda item: -float(item[1].mean()))
        lines = [
            [name, f"{values.mean():.4f}", f"{values.std(ddof=1):.4f}", f"{correlations[name]:.3f}"]
            for name, values in rows
        ]
        return [["factor", "mean distance", "deviation", "rank correlation"], *lines]


def perceived_distances(
    dataset: ImageSource,
    rng: np.random.Generator,
    *,
    loss: str | PixelLoss = "mse",
    pairs: int = 50_000,
    factors: Sequence[str] | None = None,
    block: int = 1_000,
    tell: Callable[[str], None] = lambda _: None,
) -> Distances:
    """Distances, as a reconstruction loss perceives them, of pairs along each factor and of random pairs.

        d_i = E[ L(x(a), x(b)) ],  a uniform, b differing from a in factor i alone;   d_ran: b any other point.

    A factor with a large distance reduces the loss most when it is learnt, so a VAE learns it first.

    Args:
        dataset: with ``space`` and ``images(factors)``; continuous factors are drawn anywhere in their range.
        rng: source of the pairs.
        loss: a name of ``LOSSES``, or a function of two batches of images in [0, 1].
        pairs: of each factor, and of random ones.
        factors: names; all that vary by default.
        block: pairs drawn at a time.
        tell: called with a line of text on the progress.

    References:
        Michlo et al. 2023 (REC), section 4, Eq. 12-13, table A1 and figure A1.

    Example:
        >>> from unweave.data import XYSquares
        >>> found = perceived_distances(XYSquares(), np.random.default_rng(0), pairs=50)
        >>> sorted(set(found.values["x_r"].round(4).tolist()))   # constant: 2 * 64 / (3 * 64 * 64)
        [0.0104]

    """
    name, measure = _loss(loss)
    pairs = check_count("pairs", pairs, 2)
    if dataset.space is None:
        raise UnweaveError("perceived distances need a data set with known factors")
    space = dataset.space
    varying = [n for n, size in zip(space.names, space.sizes, strict=True) if size != 1]
    for wanted in factors or ():
        if wanted not in varying:
            raise unknown("factor", wanted, varying)
    values: dict[str, Floats] = {}
    true: dict[str, Floats] = {}
    for factor in [None, *(factors or varying)]:
        label = "random" if factor is None else factor
        found, apart = [], []
        for start in range(0, pairs, block):
            tell(f"distances: {label}, {start} of {pairs} pairs")
            a, b = _pairs(space, min(block, pairs - start), factor, rng)
            found.append(np.asarray(measure(_unit(dataset.images(a)), _unit(dataset.images(b))), np.float64))
            apart.append(_steps(space, a, b))
        values[label], true[label] = np.concatenate(found), np.concatenate(apart)
    title = type(dataset).__name__
    return Distances(title, name, values, true)


@dataclass(frozen=True)
class Matrices:
    """Average distance matrices (values, values) along one factor, by level.

    Levels: ``factors`` (sum of absolute differences), ``observations`` (perceived), and with a model ``means``
    (Euclidean), ``posteriors`` (KL) and ``reconstructions`` (perceived).

    Example:
        >>> m = Matrices("x", {"factors": np.array([[0.0, 1.0], [1.0, 0.0]]), "means": np.array([[0.0, 2.0], [2.0, 0.0]])})
        >>> round(m.correlations()["means"], 6)
        0.0
    """  # noqa: E501

    factor: str
    levels: Mapping[str, Floats]

    def correlations(self) -> dict[str, float]:
        """Pearson's correlation of each level with that of the factors, off the diagonal; 0 where one is constant."""
        true = self.levels["factors"]
        off = ~np.eye(len(true), dtype=bool)
        found = {}
        for name, matrix in self.levels.items():
            a, b = true[off], matrix[off]
            moves = a.std() > 1e-12 * max(1.0, np.abs(a).max()) and b.std() > 1e-9 * max(
                1e-30, np.abs(b).max()
            )
            found[name] = float(np.corrcoef(a, b)[0, 1]) if moves else 0.0
        return found


def distance_matrices(
    dataset: ImageSource,
    factor: str,
    rng: np.random.Generator,
    *,
    loss: str | PixelLoss = "mse",
    encode: Callable[[Any], tuple[Any, Any]] | None = None,
    decode: Callable[[Any], Any] | None = None,
    traversals: int = 50,
    levels: int = 16,
) -> Matrices:
    """Distances between all images of a factor traversal, averaged over random traversals, at up to five levels.

        D_uv = E_a[ d(x(u), x(v)) ],   u, v the points that vary factor i from a.

    Args:
        dataset: with ``space`` and ``images(factors)``.
        factor: its name.
        rng: source of the traversals.
        loss: a name of ``LOSSES``, or a function of two batches of images in [0, 1].
        encode: images -> (means, scales), e.g. ``vae.codes``; adds means and KL(q_u || q_v).
        decode: codes -> images, e.g. ``vae.decode_mean``; adds reconstructions.
        traversals: how many.
        levels: values taken of a continuous factor.

    References:
        Michlo et al. 2023 (REC), Eq. 10 and figures 3, 4, 8, 10.

    Example:
        >>> from unweave.data import XYSquares
        >>> found = distance_matrices(XYSquares(spacing=1), "x_r", np.random.default_rng(0), traversals=2)
        >>> found.levels["observations"].shape, found.correlations()["observations"] > 0.9
        ((8, 8), True)

    """
    _, measure = _loss(loss)
    traversals = check_count("traversals", traversals, 1)
    if dataset.space is None:
        raise UnweaveError("distance matrices need a data set with known factors")
    space = dataset.space
    if factor not in space.names:
        raise unknown("factor", factor, space.names)
    total: dict[str, Floats] = {}
    for start in space.sample(traversals, rng):
        points = space.traversal(factor, start, levels)
        u, v = (index.ravel() for index in np.indices((len(points), len(points))))
        images = _unit(dataset.images(points))
        found = {
            "factors": _steps(space, points[u], points[v]),
            "observations": np.asarray(measure(images[u], images[v]), np.float64),
        }
        if encode is not None:
            means, scales = (np.asarray(part, np.float64) for part in encode(dataset.images(points)))
            found["means"] = np.sqrt(np.sum((means[u] - means[v]) ** 2, axis=1))
            found["posteriors"] = _kl(means[u], scales[u], means[v], scales[v])
            if decode is not None:
                again = np.asarray(decode(means))
                found["reconstructions"] = np.asarray(measure(again[u], again[v]), np.float64)
        for name, values in found.items():
            total[name] = total.get(name, 0.0) + values.reshape(len(points), len(points)) / traversals
    return Matrices(factor, total)


def _kl(m: Floats, s: Floats, n: Floats, t: Floats) -> Floats:
    """KL( N(m, s^2) || N(n, t^2) ), summed over latents."""
    result: Floats = np.sum(np.log(t / s) + (s**2 + (m - n) ** 2) / (2 * t**2) - 0.5, axis=1)
    return result


def _loss(loss: str | PixelLoss) -> tuple[str, PixelLoss]:
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise unknown("loss", loss, LOSSES)
        return loss, LOSSES[loss]
    return getattr(loss, "__name__", type(loss).__name__), loss


def _pairs(
    space: Any, n: int, factor: str | None, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    a = space.sample(n, rng)
    if factor is None:
        b = space.sample(n, rng)
        while (same := (a == b).all(axis=1)).any():
            b[same] = space.sample(int(same.sum()), rng)
        return a, b
    k = list(space.names).index(factor)
    b, size = a.copy(), space.sizes[k]
    if isinstance(size, tuple):
        b[:, k] = rng.uniform(size[0], size[1], n)
    else:
        b[:, k] = (a[:, k] + rng.integers(1, size, n)) % size
    return a, b


def _steps(space: Any, a: NDArray[Any], b: NDArray[Any]) -> Floats:
    """The sum of absolute differences of factors; a continuous one counts its range as 1."""
    ranges = [size[1] - size[0] if isinstance(size, tuple) else 1.0 for size in space.sizes]
    result: Floats = np.sum(np.abs(a.astype(np.float64) - b) / np.array(ranges), axis=1)
    return result


def _unit(images: Any) -> NDArray[np.float32]:
    x = np.asarray(images)
    return x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else x.astype(np.float32)
