"""Which factor sits in which latent, for a page: a map of numbers, and how the best latent follows each factor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unweave.metrics import Relations, Score, relations
from unweave.metrics.metric import Encoded
from unweave.plots.latents import factor_map, response_curves
from unweave.runs.evaluation import encoded_of
from unweave.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

MEASURES = {
    "information": (
        "mutual information",
        "Share of a factor's entropy that one latent tells, whatever the form of the dependence.",
    ),
    "importance": (
        "DCI importance",
        "Share of a latent in the prediction of a factor from all latents together.",
    ),
    "correlation": (
        "rank correlation",
        "Whether a latent rises or falls with a factor; near 0 for cyclic factors and for classes without an order.",
    ),
}
MOST_VALUES = 24
"""Values of a factor at most that a response curve has points for; more are put into classes."""


@dataclass(frozen=True)
class Cell:
    """One number of a map: its text, how strong its tint is in percent, and whether it is below 0.

    Example:
        >>> Cell("0.50", 50, False).tint
        50
    """

    text: str
    tint: int
    negative: bool


@dataclass(frozen=True)
class MeasureMap:
    """A map of one measure: factors down, latents across.

    Example:
        >>> MeasureMap("information", "mutual information", "", ("z0",), ()).latents
        ('z0',)
    """

    key: str
    title: str
    sentence: str
    latents: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class Response:
    """How the best latent of a factor follows it: median of the codes at each value, and the middle 80 % of them.

    The curves are the points of an SVG of 100 x 60.

    Example:
        >>> Response("x", "z0", 0.9, "0,0 100,60", "0,0 100,60", "0", "1").factor
        'x'
    """

    factor: str
    latent: str
    share: float
    line: str
    band: str
    low: str
    high: str


@dataclass(frozen=True)
class LatentMap:
    """All maps of a run, and a response for each factor.

    Example:
        >>> LatentMap((), ()).responses
        ()
    """

    measures: tuple[MeasureMap, ...]
    responses: tuple[Response, ...]


def latent_map(run: Run, scores: Mapping[str, Score], order: Sequence[int]) -> LatentMap | None:
    """The map of a run that was scored on data with factors; none for others.

    Args:
        run: with saved codes.
        scores: of the run, for the importances of DCI.
        order: the latents to show.

    Example:
        >>> latent_map.__annotations__["return"] == LatentMap | None
        True
    """
    encoded = encoded_of(run)
    found = None if encoded is None else relations(encoded, scores)
    if encoded is None or found is None:
        return None
    return LatentMap(tuple(maps(found, order)), tuple(responses(encoded, found)))


def latent_map_figures(run: Run, scores: Mapping[str, Score], order: Sequence[int]) -> "dict[str, Figure]":
    """The maps of a run as figures for papers, ``map-information`` and so on, and the responses of its factors.

    Example:
        >>> latent_map_figures.__annotations__["scores"] == Mapping[str, Score]
        True
    """
    encoded = encoded_of(run)
    found = None if encoded is None else relations(encoded, scores)
    if encoded is None or found is None:
        return {}
    made = {}
    for key, (title, _) in MEASURES.items():
        values: NDArray[np.float64] | None = getattr(found, key)
        if values is not None:
            names = [_short(found.latent_names[j]) for j in order]
            made[f"map-{key}"] = factor_map(values[list(order)].T, found.factor_names, names, title)
    curves = [
        (factor, _short(found.latent_names[best]), values, low, middle, high)
        for factor, best, values, low, middle, high in _followed(encoded, found)
    ]
    return {**made, "responses": response_curves(curves)}


def maps(found: Relations, order: Sequence[int]) -> list[MeasureMap]:
    """One map for each measure that was computed; latents in the given order.

    Example:
        >>> found = Relations(("a", "b"), ("x",), np.array([[0.1], [0.9]]), None, np.array([[0.0], [-1.0]]))
        >>> [row for row in maps(found, [1, 0])[1].rows]
        [('x', (Cell(text='\u22121.00', tint=100, negative=True), Cell(text='0.00', tint=0, negative=False)))]
    """
    made = []
    for key, (title, sentence) in MEASURES.items():
        values: NDArray[np.float64] | None = getattr(found, key)
        if values is not None:
            rows = tuple(
                (factor, tuple(_cell(float(values[j, k])) for j in order))
                for k, factor in enumerate(found.factor_names)
            )
            names = tuple(_short(found.latent_names[j]) for j in order)
            made.append(MeasureMap(key, title, sentence, names, rows))
    return made


def responses(encoded: Encoded, found: Relations) -> list[Response]:
    """The response of the latent that tells most about each factor.

    Example:
        >>> v = np.repeat(np.arange(5), 40)[:, None]
        >>> encoded = Encoded.of(2.0 * v + 1, v, factor_names=["x"])
        >>> responses(encoded, relations(encoded))[0].line
        '0.0,60.0 25.0,45.0 50.0,30.0 75.0,15.0 100.0,0.0'
    """
    made = []
    for factor, best, values, low, middle, high in _followed(encoded, found):
        bottom, top = float(low.min()), float(high.max())
        x = np.linspace(0, 100, len(values)) if len(values) > 1 else np.array([50.0])
        band = [*_points(x, low, bottom, top), *_points(x, high, bottom, top)[::-1]]
        made.append(
            Response(
                factor,
                _short(found.latent_names[best]),
                float(found.information[best, found.factor_names.index(factor)]),
                " ".join(_points(x, middle, bottom, top)),
                " ".join(band),
                f"{bottom:.1f}".replace("-", "\u2212"),
                f"{top:.1f}".replace("-", "\u2212"),
            )
        )
    return made


def _followed(
    encoded: Encoded, found: Relations
) -> Iterator[tuple[str, int, Floats, Floats, Floats, Floats]]:
    """For each factor: its best latent, its values, and a tenth, half and nine tenths of the codes at each value."""
    assert encoded.factors is not None
    for k, factor in enumerate(found.factor_names):
        best = int(np.argmax(found.information[:, k]))
        values, classes = _classes(np.asarray(encoded.factors[:, k]))
        codes = np.asarray(encoded.codes[:, best], dtype=np.float64)
        low, middle, high = (
            np.array([np.quantile(codes[classes == c], q) for c in range(len(values))])
            for q in (0.1, 0.5, 0.9)
        )
        yield factor, best, values, low, middle, high


def _short(latent: str) -> str:
    """The name of a latent as pictures have it: z3, or the one that a user gave."""
    return latent.replace("latent ", "z", 1) if latent.startswith("latent ") else latent


def _cell(value: float) -> Cell:
    return Cell(f"{value:.2f}".replace("-", "\u2212"), round(100 * min(abs(value), 1.0)), value < 0)


def _classes(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The values of a factor in order, and the class of each code; many values are put into classes of equal width."""
    values, classes = np.unique(column, return_inverse=True)
    if len(values) <= MOST_VALUES:
        return values, classes.reshape(-1)
    edges = np.linspace(values[0], values[-1], MOST_VALUES + 1)
    cut = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, MOST_VALUES - 1)
    found, classes = np.unique(cut, return_inverse=True)
    return ((edges[:-1] + edges[1:]) / 2)[found], classes.reshape(-1)


def _points(x: NDArray[np.float64], y: NDArray[np.float64], bottom: float, top: float) -> list[str]:
    height = 60 - 60 * (y - bottom) / max(top - bottom, 1e-12)
    return [f"{a:.1f},{b:.1f}" for a, b in zip(x, height, strict=True)]
