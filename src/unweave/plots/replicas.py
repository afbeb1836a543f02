"""Several replicas of several models in one picture, as in SBD: their geometry, or their traversals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.errors import UnweaveError
from unweave.plots.geometry import draw_grid, grid_colors, grid_edges
from unweave.plots.images import as_rgb, contact_sheet
from unweave.plots.style import FAINT, INK, PALETTE, bare, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WORST, _BEST = PALETTE[3], PALETTE[2]


@dataclass(frozen=True)
class Embedded:
    """The codes of the factor grid in one replica.

    Args:
        codes: (m, 2) the grid in two latents.
        latents: numbers of the two latents.
        note: text beside the title, such as a score.
        mark: (2,) a code to mark with a star, such as that of an empty image.

    Example:
        >>> Embedded(np.zeros((4, 2)), (0, 3), "geometry 0.92").latents
        (0, 3)
    """

    codes: ArrayLike
    latents: tuple[int, int]
    note: str = ""
    mark: ArrayLike | None = None


@dataclass(frozen=True)
class Replicas:
    """One row of the sheet: a score of every replica, and the replicas with the lowest and the highest score.

    Example:
        >>> grid = Embedded(np.zeros((4, 2)), (0, 1))
        >>> Replicas([0.1, 0.3, 0.2], worst=grid, best=grid).scores
        [0.1, 0.3, 0.2]
    """

    scores: Sequence[float]
    worst: Embedded
    best: Embedded


def geometry_sheet(
    models: Mapping[str, Replicas],
    grid_factors: ArrayLike,
    *,
    drawn: ArrayLike,
    images: ArrayLike,
    held_out: ArrayLike | None = None,
    names: Sequence[str] = ("x", "y"),
    score: str = "MIG",
) -> "Figure":
    """The data; below, for each model, a histogram of a score over replicas and the grid in its worst and best replica.

    The first row shows the factors of the data, the grid of factors that is encoded, and some images. Neighbours on
    the grid are joined by lines; points held out from training are black.

    Args:
        models: name -> its replicas; one row each.
        grid_factors: (m, 2) factors of the grid.
        drawn: (n, 2) factors of the training data.
        images: (16, C, H, W) examples of the data.
        held_out: (m,) True for points held out from training.
        names: of the two factors.
        score: name of the score.

    References:
        SBD figures 4 and 11 to 20.

    Example:
        >>> f = np.stack(np.meshgrid(range(4), range(4), indexing="ij"), -1).reshape(-1, 2)
        >>> row = Replicas([0.1, 0.2], Embedded(f, (0, 1)), Embedded(f, (2, 3)))
        >>> sheet = geometry_sheet({"VAE": row}, f, drawn=f, images=np.zeros((16, 3, 8, 8)))
        >>> len(sheet.axes)
        6
    """
    if not models:
        raise UnweaveError("a sheet needs at least one model")
    factors = np.asarray(grid_factors, dtype=np.float64).reshape(-1, 2)
    hole = np.zeros(len(factors), bool) if held_out is None else np.asarray(held_out, bool).reshape(-1)
    colors, edges = grid_colors(factors, hole), grid_edges(factors)
    with new_figure(9.2, 3.1 * (1 + len(models))) as figure:
        axes = figure.subplots(1 + len(models), 3, squeeze=False)
        draw_grid(axes[0, 1], factors, edges, colors, hole, "box")
        axes[0, 1].set(title="grid of factors", xlabel=names[0], ylabel=names[1])
        _draw_data(axes[0], np.asarray(drawn, dtype=np.float64), np.asarray(images)[:16], names)
        every = np.concatenate([np.asarray(model.scores, float) for model in models.values()])
        top = max(0.05, float(every.max()) * 1.08)
        for row, (name, model) in zip(axes[1:], models.items(), strict=True):
            _histogram(row[0], model.scores, top)
            row[0].set(title=name, xlabel=f"{score}, {len(model.scores)} replicas", ylabel="replicas")
            for place, label, replica, color in (
                (row[1], "worst", model.worst, _WORST),
                (row[2], "best", model.best, _BEST),
            ):
                points = np.asarray(replica.codes, dtype=np.float64).reshape(-1, 2)
                if len(points) != len(factors):
                    raise UnweaveError(
                        f"codes of {name} must have {len(factors)} grid points, got {len(points)}"
                    )
                draw_grid(place, points, edges, colors, hole)
                place.set_title(f"★ {label} {score}", color=color)
                _annotate(place, replica)
    return figure


def _draw_data(
    axes: Sequence["Axes"], drawn: NDArray[Any], images: NDArray[Any], names: Sequence[str]
) -> None:
    """The factors of the data left of the grid, within the same limits, and some images on its right."""
    factors, grid, examples = axes
    factors.plot(drawn[:, 0], drawn[:, 1], ".", markersize=1.6, color=FAINT, rasterized=True)
    factors.set(title="factors of the data", xlabel=names[0], ylabel=names[1])
    factors.set(xlim=grid.get_xlim(), ylim=grid.get_ylim())
    factors.set_aspect("equal", adjustable="box")
    examples.imshow(contact_sheet(_four_by_four(images), background=160), interpolation="none")
    examples.set_title("data")
    bare(examples)


def _annotate(axes: "Axes", replica: Embedded) -> None:
    """The names of the latents, the note, and the star of one replica."""
    if replica.mark is not None:
        axes.plot(*np.asarray(replica.mark, dtype=np.float64), "*", color=INK, markersize=13, zorder=5)
    axes.set(xlabel=f"z{replica.latents[0]}", ylabel=f"z{replica.latents[1]}")
    axes.set_title(replica.note, loc="right", fontweight="normal", fontsize=8)


@dataclass(frozen=True)
class Swept:
    """Pictures of one replica: data, their reconstructions, and the traversals of some latents.

    Args:
        originals: (n, C, H, W).
        reconstructed: (n, C, H, W).
        sweeps: (latents shown, n, C, H, W), the traversals.
        labels: one for each latent shown.

    Example:
        >>> pictures = np.zeros((9, 1, 8, 8))
        >>> len(Swept(pictures, pictures, pictures[None], ["z0"]).labels)
        1
    """

    originals: ArrayLike
    reconstructed: ArrayLike
    sweeps: ArrayLike
    labels: Sequence[str]


def traversal_sheet(
    replicas: Mapping[str, Swept],
    scores: Mapping[str, Sequence[float]] | None = None,
    *,
    score: str = "MIG",
    span: tuple[float, float] = (-2.0, 2.0),
) -> "Figure":
    """A score of all replicas of each model, medians with a star; then data, reconstructions and traversals.

    Args:
        replicas: title -> the pictures of one replica, side by side.
        scores: model -> one value for each replica; None: pictures only.
        score: name of the score.
        span: lowest and highest value of the traversals.

    References:
        SBD figures 2 and 5 to 10.

    Example:
        >>> pictures = np.zeros((9, 1, 8, 8))
        >>> one = Swept(pictures, pictures, np.zeros((4, 9, 1, 8, 8)), ["z0", "z1", "z2", "z3"])
        >>> len(traversal_sheet({"A": one, "B": one}, {"A": [0.1, 0.2], "B": [0.3]}).axes)
        3
    """
    if not replicas:
        raise UnweaveError("a sheet needs at least one replica")
    sheets = [_sheet(each) for each in replicas.values()]
    # Sizes in inches: a panel, its images without the labels to their left, the strip of scores.
    panel, cells = 4.7, 4.0
    lines = max((len(name.split()) for name in scores or ()), default=1)
    height = max(len(pixels) / pixels.shape[1] for pixels, _ in sheets) * cells + 0.7 + 0.17 * (lines - 1)
    left = 0.5 + 0.62 * max(2, len(scores)) if scores else 0.0
    with new_figure(left + panel * len(replicas), height) as figure:
        ratios = [left] * bool(scores) + [panel] * len(replicas)
        axes = figure.subplots(1, len(ratios), width_ratios=ratios, squeeze=False)[0]
        if scores:
            _score_strip(axes[0], scores, score)
        range_label = f"latent from {span[0]:g} to {span[1]:g}, the others fixed".replace("-", "−")
        for place, (title, each), (pixels, middles) in zip(
            axes[-len(replicas) :], replicas.items(), sheets, strict=True
        ):
            place.imshow(pixels)
            place.set_anchor("N")
            bare(place)
            place.set_yticks(middles, ["data", "model", *each.labels])
            place.tick_params(axis="y", length=0, labelsize=7.5)
            place.set_title(title)
            place.set_xlabel(range_label, fontsize=8, color=FAINT)
    return figure


def median_replica(scores: ArrayLike) -> int:
    """The index of the replica with the median score; for an even number, the lower of the two in the middle.

    Example:
        >>> median_replica([0.5, 0.1, 0.3]), median_replica([0.2, 0.1])
        (2, 1)
    """
    values = np.asarray(scores, dtype=np.float64)
    return int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])


def _four_by_four(images: NDArray[np.generic]) -> NDArray[np.generic]:
    if len(images) != 16:
        raise UnweaveError(f"there must be 16 images, got {len(images)}")
    return images.reshape(4, 4, *images.shape[1:])


def _histogram(axes: "Axes", scores: Sequence[float], top: float) -> None:
    values = np.asarray(scores, dtype=np.float64)
    counts, _, _ = axes.hist(values, bins=np.linspace(0, top, 16).tolist(), color=PALETTE[0], alpha=0.55)
    high = float(np.max(np.asarray(counts, dtype=np.float64), initial=1.0))
    for value, color in ((values.min(), _WORST), (values.max(), _BEST)):
        axes.plot(value, high * 1.12, "*", color=color, markersize=11, clip_on=False)
    axes.set(xlim=(0, top), ylim=(0, high * 1.25))
    axes.locator_params(axis="y", integer=True)


def _score_strip(axes: "Axes", scores: Mapping[str, Sequence[float]], score: str) -> None:
    for place, (values, color) in enumerate(zip(scores.values(), _cycle(len(scores)), strict=True)):
        sample = np.asarray(values, dtype=np.float64)
        offsets = np.resize([0.0, 0.13, -0.13, 0.07, -0.07], len(sample))
        axes.plot(place + offsets, sample, "o", markersize=4, color=color, alpha=0.55, markeredgewidth=0)
        middle = sample[median_replica(sample)]
        axes.plot(place, middle, "*", markersize=13, color=color, markeredgecolor="white")
    axes.set_xticks(range(len(scores)), [name.replace(" ", "\n") for name in scores])
    axes.set_xlim(-0.6, len(scores) - 0.4)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_ylabel(score)


def _cycle(n: int) -> list[str]:
    return [PALETTE[i % len(PALETTE)] for i in range(n)]


def _sheet(each: Swept) -> tuple[NDArray[np.uint8], list[float]]:
    """Data and reconstructions above, traversals below, as one array of pixels; and the middle of each row."""
    gap, separator = 2, 12
    pair = np.moveaxis(np.stack([as_rgb(each.originals), as_rgb(each.reconstructed)]), -1, -3)
    height = pair.shape[-2]
    scale = max(1, round(64 / height))
    above, below = (contact_sheet(images, gap=gap, scale=scale) for images in (pair, np.asarray(each.sweeps)))
    sheet = np.concatenate([above, np.full((separator, above.shape[1], 3), 255, np.uint8), below])
    step = height * scale + gap
    rows = [place * step for place in range(2)]
    rows += [len(above) + separator + place * step for place in range(len(each.labels))]
    return sheet, [row + height * scale / 2 for row in rows]
