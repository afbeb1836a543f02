"""Perceived distances under a loss: matrices along factors and cumulative curves (REC figures 3, 4, 8, 10, A1)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unweave.errors import UnweaveError
from unweave.metrics import Distances, Matrices
from unweave.plots.style import FAINT, INK, PALETTE, bare, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {
    "factors": "factors",
    "observations": "images",
    "means": "latent means",
    "posteriors": "latent KL",
    "reconstructions": "reconstructions",
}


def matrices(per_factor: Sequence[Matrices], *, title: str | None = None) -> "Figure":
    """Average distance matrices for each factor and each level.

    Each matrix has its own scale from 0 (white) to its largest entry (dark); the number above it is its correlation
    with the distances of the factors.

    Args:
        per_factor: one for each factor, with the same levels.
        title: of the figure.

    References:
        Michlo et al. 2023 (REC), figures 3, 4, 8 and 10.

    Example:
        >>> m = Matrices("x", {"factors": np.abs(np.subtract.outer(range(4), range(4))) * 1.0})
        >>> len(matrices([m]).axes)
        1

    """
    if not per_factor:
        raise UnweaveError("at least one factor is needed to draw distance matrices")
    levels = [level for level in _TITLES if level in per_factor[0].levels]
    # One or two levels are stacked, as in figure 3; more are side by side, as in figure 4.
    across = len(levels) > 2
    rows, columns = (len(per_factor), len(levels)) if across else (len(levels), len(per_factor))
    with new_figure(1.1 + 1.75 * columns, 0.6 + 1.9 * rows) as figure:
        panels = figure.subplots(rows, columns, squeeze=False)
        panels = panels if across else panels.T
        for row, one in zip(panels, per_factor, strict=True):
            correlations = one.correlations()
            for axes, level in zip(row, levels, strict=True):
                matrix = one.levels[level]
                _draw_matrix(axes, matrix, float(matrix.max()))
                note = "" if level == "factors" else f"r = {correlations[level]:.2f}"
                axes.set_xlabel(note, color=INK, fontsize=8)
            if across:
                row[0].set_ylabel(one.factor)
            else:
                row[0].set_title(one.factor, fontsize=9)
        for axes, level in zip(panels[0], levels, strict=True):
            if across:
                axes.set_title(_TITLES[level], fontsize=9)
            else:
                axes.set_ylabel(_TITLES[level])
        if title:
            figure.suptitle(title, fontsize=10, fontweight="bold", x=0.02, ha="left")
    return figure


def cumulative_distances(distances: Distances) -> "Figure":
    """The share of pairs that are closer than a distance: a curve for each factor and one for random pairs.

    Curves further to the right belong to factors with larger distances, which a VAE learns first; a step is a
    constant distance.

    Args:
        distances: from :func:`unweave.metrics.perceived_distances`.

    References:
        Michlo et al. 2023 (REC), figure A1.

    Example:
        >>> d = Distances("toy", "mse", {"x": np.array([1.0, 3.0])}, {"x": np.array([1.0, 2.0])})
        >>> len(cumulative_distances(d).axes[0].lines)
        1

    """
    with new_figure(5.2, 3.4) as figure:
        axes = figure.subplots()
        share = np.linspace(0, 1, 501)
        ordered = sorted(distances.values.items(), key=lambda item: -float(item[1].mean()))
        colours = iter([*PALETTE, *PALETTE, *PALETTE])
        for name, values in ordered:
            random = name == "random"
            axes.plot(
                np.quantile(values, share),
                share,
                color=INK if random else next(colours),
                linestyle="--" if random else "-",
                label=f"{name} ({values.mean():.4f})",
            )
        axes.set(xlabel=f"perceived distance ({distances.loss})", ylabel="share of pairs", ylim=(0, 1.02))
        axes.set_xlim(left=0)
        axes.set_title(f"{distances.dataset}: perceived distances")
        axes.legend(title="factor (mean)", title_fontsize=8, loc="best")
    return figure


def matrix_panels(
    rows: Sequence[Sequence[tuple[str, NDArray[np.float64]]]],
    *,
    labels: Sequence[str] | None = None,
    shared: bool = False,
) -> "Figure":
    """Matrices in rows, each under its own caption; rows may differ in length.

    Args:
        rows: for each row, captions and square matrices.
        labels: one for each row, to its left.
        shared: whether the matrices of a row share one scale; otherwise each has its own. Zero is white.

    References:
        Michlo et al. 2023 (REC), figures 3 and 8.

    Example:
        >>> len(matrix_panels([[("a", np.eye(3)), ("b", np.eye(2))], [("c", np.eye(4))]], labels=["one", "two"]).axes)
        3

    """
    if not rows or not all(rows):
        raise UnweaveError("at least one matrix in each row is needed")
    columns = max(len(row) for row in rows)
    with new_figure(0.9 + 1.12 * columns, 0.35 + 1.42 * len(rows)) as figure:
        panels = figure.subplots(len(rows), columns, squeeze=False)
        for i, (row, line) in enumerate(zip(panels, rows, strict=True)):
            largest = max(float(matrix.max()) for _, matrix in line)
            for axes, (caption, matrix) in zip(row, line, strict=False):
                _draw_matrix(axes, matrix, largest if shared else float(matrix.max()))
                axes.set_title(caption, fontsize=7.5, fontweight="normal", loc="center")
            for axes in row[len(line) :]:
                axes.remove()
            if labels is not None:
                row[0].set_ylabel(labels[i], fontsize=8)
    return figure


def _draw_matrix(axes: "Axes", matrix: NDArray[np.float64], darkest: float) -> None:
    """A matrix in shades from 0 (white) to ``darkest``, in a frame."""
    axes.imshow(matrix, cmap="bone_r", vmin=0.0, vmax=max(darkest, 1e-12))
    bare(axes, frame=FAINT)
