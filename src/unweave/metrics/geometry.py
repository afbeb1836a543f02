"""Latent geometry: how far the embedded factor grid is from a Euclidean image of itself."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.metrics.interventions import FactorSource
from unweave.metrics.score import Score
from unweave.metrics.validation import Floats, Integers, check_codes, check_count


def informative_latents(scales: ArrayLike, k: int = 2) -> Integers:
    """The ``k`` latents with the lowest mean posterior variance, most informative first.

    Args:
        scales: (n, latents) posterior standard deviations.
        k: how many.

    References:
        Watters et al. 2019 (SBD), figure 4.

    Example:
        >>> informative_latents([[0.9, 0.1, 0.4], [1.0, 0.2, 0.3]]).tolist()
        [1, 2]

    """
    variances = np.mean(check_codes(scales, "scales") ** 2, axis=0)
    k = check_count("k", k, 1)
    if k > len(variances):
        raise UnweaveError(f"k must be at most the number of latents, {len(variances)}, got {k}")
    return np.argsort(variances, kind="stable")[:k].astype(np.int64)


def geometry_score(codes: ArrayLike, factors: ArrayLike, held_out: ArrayLike | None = None) -> Score:
    """How close two latents come to a rotated, reflected, uniformly scaled and shifted copy of two factors.

    With factors F scaled to unit range and codes Z, both (m, 2),

        R^2 = 1 - min_{s, R, t} ||F - (s Z R + t)||^2 / ||F - mean F||^2    over orthogonal R.

    It equals (sum_i sigma_i)^2 / (||Z||^2 ||F||^2) for the singular values sigma of Z^T F after centring, so
    it does not matter which is fitted to which. 1: Euclidean image; 0: no relation. The transform is fitted
    outside ``held_out``; the held-out points are then judged by it.

    The constants hold, next to the settings:

    * ``linear``: the same R^2 for the best affine map (1 also for a sheared or stretched grid);
    * ``unfolded``: share of grid cells whose orientation agrees with the majority: 1 without folds, near 1/2
      for a grid folded in two (``None`` if the points are not a full grid);
    * ``tilt``: degrees, 0 to 45, by which the plane is turned against the latent axes: it lowers MIG, not the
      geometry score;
    * ``rotation``: R itself, from the latents to the factors;
    * ``held_out``, ``held_out_linear``, ``held_out_unfolded``: the same on held-out points, with the fit and
      the majority of the others; below 0 means worse than a constant guess.

    Args:
        codes: (m, 2) or (rows, columns, 2) codes of the grid in two latents.
        factors: (m, 2) or (rows, columns, 2) the two factors.
        held_out: (m,) or (rows, columns) True where training never sampled.

    References:
        Watters et al. 2019 (SBD), figure 4 and appendix H.

    Example:
        >>> f = np.stack(np.meshgrid(range(5), range(5), indexing="ij"), -1).reshape(-1, 2)
        >>> turned = geometry_score(f @ [[3, 4], [-4, 3]] + 7, f)
        >>> round(turned.value, 6), round(turned.constants["tilt"], 2), turned.constants["unfolded"]
        (1.0, 36.87, 1.0)

    """
    z, f = _grid(codes, factors)
    out = np.zeros(len(f), dtype=bool) if held_out is None else np.asarray(held_out, dtype=bool).reshape(-1)
    if len(out) != len(f):
        raise UnweaveError(f"held_out must have one entry per grid point, got {len(out)} for {len(f)}")
    if np.sum(~out) < 3:
        raise UnweaveError(
            f"at least 3 grid points must lie outside held_out to fit a plane, got {int(np.sum(~out))}"
        )

    similar, rotation = _similarity(z[~out], f[~out])
    angle = float(np.degrees(np.arctan2(rotation[0, 1], rotation[0, 0])))
    affine = _affine(z[~out], f[~out])
    inside_unfolded, outside_unfolded = _unfolded(z, f, out)
    constants: dict[str, Any] = {
        "linear": _explained(f[~out], affine(z[~out])),
        "unfolded": inside_unfolded,
        "tilt": abs((angle + 45) % 90 - 45),
        "rotation": rotation.tolist(),
        "points": int(np.sum(~out)),
    }
    if out.any():
        constants |= {
            "held_out": _explained(f[out], similar(z[out])),
            "held_out_linear": _explained(f[out], affine(z[out])),
            "held_out_unfolded": outside_unfolded,
            "held_out_points": int(np.sum(out)),
        }
    return Score(
        "geometry",
        min(1.0, max(0.0, _explained(f[~out], similar(z[~out])))),
        reference="Watters et al. 2019 (SBD), figure 4; Procrustes fit",
        constants=constants,
    )


Map = Callable[[Floats], Floats]


def _grid(codes: ArrayLike, factors: ArrayLike) -> tuple[Floats, Floats]:
    """Codes and factors (m, 2), the latter scaled to unit range."""
    z, f = check_codes(_points(codes, "codes"), "codes"), check_codes(_points(factors, "factors"), "factors")
    if len(z) != len(f):
        raise UnweaveError(
            f"codes and factors must have one row per grid point each, got {len(z)} and {len(f)}"
        )
    spans = np.ptp(f, axis=0)
    if np.any(spans == 0):
        raise UnweaveError(f"both factors must vary over the grid, factor {int(np.argmin(spans))} does not")
    return z, (f - f.min(axis=0)) / spans


def _points(values: ArrayLike, name: str) -> NDArray[Any]:
    points = np.asarray(values)
    if points.ndim not in (2, 3) or points.shape[-1] != 2:
        raise UnweaveError(f"{name} must have shape (points, 2) or (rows, columns, 2), got {points.shape}")
    return points.reshape(-1, 2)


def _similarity(z: Floats, f: Floats) -> tuple[Map, Floats]:
    """The best f ~ s z R + t, and R."""
    z_mean, f_mean = z.mean(axis=0), f.mean(axis=0)
    left, sigma, right = np.linalg.svd((z - z_mean).T @ (f - f_mean))
    rotation = left @ right
    size = float(np.sum((z - z_mean) ** 2))
    scale = float(sigma.sum()) / size if size > 0 else 0.0
    return lambda x: scale * (x - z_mean) @ rotation + f_mean, rotation


def _affine(z: Floats, f: Floats) -> Map:
    z_mean, f_mean = z.mean(axis=0), f.mean(axis=0)
    slope = np.linalg.lstsq(z - z_mean, f - f_mean, rcond=None)[0]
    return lambda x: (x - z_mean) @ slope + f_mean


def _explained(truth: Floats, guess: Floats) -> float:
    total = float(np.sum((truth - truth.mean(axis=0)) ** 2))
    return 1 - float(np.sum((truth - guess) ** 2)) / total if total > 0 else 0.0


def _unfolded(z: Floats, f: Floats, out: NDArray[np.bool_]) -> tuple[float | None, float | None]:
    """Share of cells that turn the way most inside cells do: inside, and touching a held-out point."""
    shape = (len(np.unique(f[:, 0])), len(np.unique(f[:, 1])))
    order = np.lexsort((f[:, 1], f[:, 0]))
    if shape[0] * shape[1] != len(f) or len(np.unique(f, axis=0)) != len(f):
        return None, None
    p, hole = z[order].reshape(*shape, 2), out[order].reshape(shape)
    diagonal, other = p[1:, 1:] - p[:-1, :-1], p[:-1, 1:] - p[1:, :-1]
    # Twice the signed area of a quadrangle is the cross product of its diagonals.
    turn = np.sign(diagonal[..., 0] * other[..., 1] - diagonal[..., 1] * other[..., 0])
    touched = hole[1:, 1:] | hole[:-1, :-1] | hole[1:, :-1] | hole[:-1, 1:]
    inside, outside = turn[~touched], turn[touched]
    if len(inside) == 0:
        return None, None
    majority = 1.0 if np.sum(inside > 0) >= np.sum(inside < 0) else -1.0
    return float(np.mean(inside == majority)), float(np.mean(outside == majority)) if len(outside) else None


MOST_CLASSES = 32
"""A grid over a discrete factor takes at most this many of its classes."""


class Space(Protocol):
    """What is needed of a factor space to lay a grid through it (:class:`unweave.data.FactorSpace`)."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the factors."""

    @property
    def sizes(self) -> Sequence[Any]:
        """Number of values of a discrete factor, (low, high) of a continuous one."""


@dataclass(frozen=True)
class GridEmbedding:
    """A grid over two factors and where an encoder puts it.

    ``factors`` (m, 2) and ``codes`` (m, 2) are the arguments of :func:`geometry_score`; ``names`` are those
    of the factors, ``latents`` the numbers of the two latents shown, ``means`` and ``scales`` (m, latents)
    the codes in all latents, ``points`` (m, all factors) the images of the grid. :func:`embed_grid` makes one.

    Example:
        >>> f = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> grid = GridEmbedding(("x", "y"), f, np.zeros(4, bool), (0, 1), 3 * f, 0 * f + 0.1)
        >>> round(grid.score().value, 6)
        1.0
    """

    names: tuple[str, str]
    factors: Floats
    held_out: NDArray[np.bool_]
    latents: tuple[int, int]
    means: Floats
    scales: Floats
    points: Floats | None = None

    @property
    def codes(self) -> Floats:
        """The grid in the two latents, (m, 2)."""
        return self.means[:, list(self.latents)]

    def score(self) -> Score:
        """:func:`geometry_score` of this grid."""
        score = geometry_score(self.codes, self.factors, self.held_out)
        extra = {"factors": list(self.names), "latents": list(self.latents)}
        return Score(
            score.name, score.value, reference=score.reference, constants={**score.constants, **extra}
        )


def plane_factors(space: Space) -> tuple[str, str] | None:
    """The two factors that span a plane: an x and a y position, else the first two continuous ones, else None.

    Example:
        >>> from types import SimpleNamespace
        >>> plane_factors(SimpleNamespace(names=("hue", "value", "x", "y"), sizes=((0, 1), (0, 1), 32, 32)))
        ('x', 'y')
        >>> plane_factors(SimpleNamespace(names=("shape", "hue"), sizes=(3, 10))) is None
        True

    """
    many = [name for name, size in zip(space.names, space.sizes, strict=True) if size != 1]
    words = {name: re.findall(r"[A-Z]?[a-z]+|[A-Z]|\d+", name) for name in many}
    for name, parts in words.items():
        lower = [part.lower() for part in parts]
        for other, others in words.items():
            if "x" in lower and [o.lower() for o in others] == ["y" if p == "x" else p for p in lower]:
                return name, other
    smooth = [name for name, size in zip(space.names, space.sizes, strict=True) if isinstance(size, Sequence)]
    return (smooth[0], smooth[1]) if len(smooth) >= 2 else None


def _axis(size: Any, n: int | None) -> Floats:
    """``n`` values of a continuous factor, or the classes of a discrete one; the middle alone without ``n``."""
    if isinstance(size, Sequence):
        low, high = float(size[0]), float(size[1])
        return np.array([(low + high) / 2]) if n is None else np.linspace(low, high, n)
    if n is None:
        return np.array([size // 2])
    return np.unique(np.rint(np.linspace(0, size - 1, min(size, MOST_CLASSES))))


def embed_grid(
    encode: Callable[[Any], tuple[Any, Any]],
    dataset: FactorSource,
    *,
    n: int = 21,
    names: tuple[str, str] | None = None,
) -> GridEmbedding | None:
    """A grid over two factors in the two most informative latents; None if no two factors span a plane.

    A continuous factor is cut at ``n`` evenly spaced values, a discrete one at its classes (32 at most);
    all others stay at the middle of their range. Data that lack a part of the grid have no embedding either.

    Args:
        encode: images -> (means, scales), e.g. ``vae.codes``.
        dataset: with ``space``, ``images(factors)`` and ``held_out(factors)``.
        n: values of each continuous factor.
        names: the two factors; by default those of :func:`plane_factors`.

    Example:
        >>> from types import SimpleNamespace
        >>> space = SimpleNamespace(names=("x", "y"), sizes=((0.0, 1.0), (0.0, 1.0)))
        >>> data = SimpleNamespace(space=space, images=lambda f: f, held_out=lambda f: f[:, 0] < 0)
        >>> grid = embed_grid(lambda x: (2 * x, 0 * x + 0.1), data, n=5)
        >>> grid.names, grid.latents, grid.codes.shape, grid.score().value
        (('x', 'y'), (0, 1), (25, 2), 1.0)

    """
    n = check_count("n", n, 2)
    if dataset.space is None:
        return None
    space: Space = dataset.space
    pair = names or plane_factors(space)
    if pair is None:
        return None
    axes = [
        _axis(size, n if name in pair else None) for name, size in zip(space.names, space.sizes, strict=True)
    ]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    where = [list(space.names).index(name) for name in pair]
    try:
        images = dataset.images(grid)
    except UnweaveError:
        return None  # the user's own images need not hold every combination of factors
    means, scales = (np.asarray(part, dtype=np.float64) for part in encode(images))
    if means.shape[1] < 2:
        return None
    first, second = sorted(informative_latents(scales).tolist())
    return GridEmbedding(
        names=pair,
        factors=grid[:, where].astype(np.float64),
        held_out=np.asarray(dataset.held_out(grid), dtype=bool),
        latents=(first, second),
        means=means,
        scales=scales,
        points=grid.astype(np.float64),
    )
