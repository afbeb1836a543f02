"""Pictures of theory: toy systems, rotations, biased entropies, grids of alpha and beta."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.plots.priors import inks
from unweave.plots.style import FAINT, INK, PALETTE, bare, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]


def factor_analysis(
    cases: Sequence[tuple[str, ArrayLike, ArrayLike, ArrayLike]],
    angles: ArrayLike,
    likelihood: ArrayLike,
    energies: Mapping[str, ArrayLike],
) -> "Figure":
    """Weights and posteriors of factor analyses, then likelihood and free energy over the rotation (ISA B.3, B.5).

    Args:
        cases: (name, weights ``(2, 2)``, true posterior covariance, mean-field covariance).
        angles: radians ``(a,)``.
        likelihood: log-likelihood at each angle in nats, ``(a,)``.
        energies: name -> free energy at each angle.

    Example:
        >>> eye = np.eye(2)
        >>> figure = factor_analysis([("plain", eye, eye, eye)], [0, 1], [-1, -1], {"free energy": [-1, -2]})
        >>> len(figure.axes)
        3

    """
    with new_figure(2.05 * 2 * len(cases) + 3.4, 2.7) as figure:
        grid = figure.add_gridspec(1, 2 * len(cases) + 1, width_ratios=[*[1.0] * (2 * len(cases)), 1.6])
        reach = 1.25 * max(float(np.abs(np.asarray(case[1])).max()) for case in cases)
        width = 3.3 * max(float(np.sqrt(np.asarray(case[2]).max())) for case in cases)
        for k, (name, weights, true, found) in enumerate(cases):
            axes = figure.add_subplot(grid[0, 2 * k])
            _arrows(axes, np.asarray(weights), [PALETTE[0]] * 2)
            axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title=name)
            axes.set_xlabel("weights in data space")
            axes = figure.add_subplot(grid[0, 2 * k + 1])
            for covariance, colour, label in ((true, INK, "true"), (found, PALETTE[1], "mean field")):
                for deviations in (1, 2):
                    x, y = deviations * _ellipse(np.asarray(covariance))
                    axes.plot(x, y, color=colour, linewidth=1.4, label=label if deviations == 1 else None)
            axes.set(xlim=(-width, width), ylim=(-width, width), aspect="equal")
            axes.set_xlabel("posterior of $z$")
            if k == 0:
                axes.legend(
                    loc="lower left", bbox_to_anchor=(-0.1, 1.0), ncols=2, columnspacing=1.0, handlelength=1.2
                )
        axes = figure.add_subplot(grid[0, -1])
        degrees = np.degrees(np.asarray(angles, dtype=np.float64))
        axes.plot(degrees, np.asarray(likelihood), color=INK, linestyle=(0, (4, 2)), label="log-likelihood")
        for k, (name, energy) in enumerate(energies.items()):
            axes.plot(degrees, np.asarray(energy), color=PALETTE[1 + k], label=name)
        axes.set_xticks(np.arange(0, degrees.max() + 1, 90))
        axes.set(xlabel="rotation (degrees)", ylabel="nats")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, columnspacing=1.0, handlelength=1.6)
    return figure


def lines(
    x: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    level: tuple[str, ArrayLike] | None = None,
) -> "Figure":
    """Several curves over one axis, and a dashed one for comparison.

    Example:
        >>> figure = lines([0, 1], {"a": [1, 2]}, xlabel="x", ylabel="nats", title="A line")
        >>> figure.axes[0].get_ylabel()
        'nats'

    """
    with new_figure(4.4, 2.8) as figure:
        axes = figure.add_subplot()
        if level is not None:
            axes.plot(np.asarray(x), np.asarray(level[1]), color=INK, linestyle=(0, (4, 2)), label=level[0])
        for k, (name, values) in enumerate(curves.items()):
            axes.plot(np.asarray(x), np.asarray(values), color=PALETTE[k], label=name)
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
        axes.legend()
    return figure


def components(
    data: ArrayLike, true: ArrayLike, panels: Mapping[str, ArrayLike | None], *, scale: float = 4.0
) -> "Figure":
    """Data, true components in blue and found ones in orange, one panel for each method (ISA figure 1, B.8).

    Args:
        data: points ``(n, 2)``.
        true: components in columns, ``(2, k)``.
        panels: name -> found components ``(2, k)``; none: only the true ones.
        scale: drawn length of a component of length 1.

    Example:
        >>> figure = components(np.zeros((3, 2)), np.eye(2), {"truth": None, "found": np.eye(2)})
        >>> len(figure.axes)
        2

    """
    points, blue = np.asarray(data, dtype=np.float64), np.asarray(true, dtype=np.float64)
    reach = 1.6 * scale
    with new_figure(2.75 * len(panels), 3.1) as figure:
        for k, (name, found) in enumerate(panels.items()):
            axes = figure.add_subplot(1, len(panels), k + 1)
            axes.scatter(
                points[:, 0], points[:, 1], s=7, facecolor="none", edgecolor="#a9bccb", linewidth=0.6
            )
            _arrows(axes, scale * blue, [PALETTE[0]] * blue.shape[1])
            if found is not None:
                _arrows(axes, scale * np.asarray(found), [PALETTE[1]] * blue.shape[1], width=2.0)
            axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title=name)
            bare(axes, frame="#d5dbe0")
    return figure


def entropy_bias(
    batch_sizes: ArrayLike, estimates: ArrayLike, errors: ArrayLike, exact: float, no_overlap: float, n: int
) -> "Figure":
    """The minibatch estimate of the entropy of q(z) over the batch size, and the exact value (DEC appendix C).

    Example:
        >>> figure = entropy_bias([2, 100], [5.0, 3.0], [0.1, 0.1], 3.0, 5.2, 100)
        >>> figure.axes[0].get_xscale()
        'log'

    """
    sizes = np.asarray(batch_sizes, dtype=np.float64)
    with new_figure(4.8, 3.0) as figure:
        axes = figure.add_subplot()
        axes.axhline(no_overlap, color=FAINT, linestyle=(0, (4, 2)), linewidth=1)
        axes.axhline(exact, color=INK, linestyle=(0, (4, 2)), linewidth=1)
        axes.errorbar(
            sizes,
            np.asarray(estimates),
            yerr=2 * np.asarray(errors),
            color=PALETTE[1],
            marker="o",
            markersize=4,
            capsize=2,
        )
        axes.set_xscale("log")
        axes.set(xlabel=f"batch size B (of n = {n:,})", ylabel="entropy of q(z) (nats)")
        end, start = (float(sizes.max()), no_overlap), (float(sizes.min()), exact)
        _annotate(axes, "log n + entropy of one encoding", end, -4, ha="right", va="top")
        _annotate(axes, "exact", start, 4, ha="left", va="bottom")
        axes.set_title("The estimate of Eq. 10 and where it should be")
    return figure


def rotations(changes: Mapping[str, ArrayLike]) -> "Figure":
    """How much the objective changes under random rotations, one row of dots for each prior (DEC theorem 2).

    Args:
        changes: name -> changes in nats, any shape; their absolute values are drawn on a logarithmic axis.

    Example:
        >>> figure = rotations({"StandardNormal": [1e-15], "ISA": [0.1, 0.3]})
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['ISA', 'StandardNormal']

    """
    floor = 1e-16
    names = list(changes)[::-1]
    rng = np.random.default_rng(0)
    with new_figure(5.6, 0.36 * len(names) + 1.0) as figure:
        axes = figure.add_subplot()
        for k, name in enumerate(names):
            values = np.maximum(np.abs(np.asarray(changes[name], dtype=np.float64)).ravel(), floor)
            colour = PALETTE[0] if values.max() < 1e-4 else PALETTE[1]
            axes.scatter(
                values,
                k + rng.uniform(-0.22, 0.22, len(values)),
                s=3,
                color=colour,
                alpha=0.25,
                linewidth=0,
            )
        axes.axvline(1e-4, color=FAINT, linestyle=(0, (4, 2)), linewidth=1)
        axes.set_xscale("log")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set_xlabel("|change of the objective of a data point| (nats)")
        axes.tick_params(axis="y", length=0)
    return figure


def alpha_beta(
    alphas: Sequence[float],
    betas: Sequence[float],
    density: Callable[[int, int, Array], ArrayLike],
    overlap: ArrayLike,
    mismatch: ArrayLike,
    *,
    low: float = -0.75,
    high: float = 1.75,
    n: int = 90,
) -> "Figure":
    """The aggregate posterior for every alpha (rows) and beta (columns), with overlap and mismatch (DEC figure 3).

    Args:
        alphas: of the rows.
        betas: of the columns.
        density: from (row, column, points ``(m, 2)``) to the density of q(z) there.
        overlap: ``(rows, columns)``, number of data points that a code may come from.
        mismatch: ``(rows, columns)``, KL(p || q) in nats.
        low: of both axes.
        high: of both axes.
        n: points along each axis.

    Example:
        >>> figure = alpha_beta([0.0], [1.0], lambda i, j, z: np.exp(-(z**2).sum(1)), [[3.0]], [[0.1]], n=5)
        >>> figure.axes[0].get_title()
        'β = 1'

    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    axis = np.linspace(low, high, n)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    many, apart = np.asarray(overlap, dtype=np.float64), np.asarray(mismatch, dtype=np.float64)
    rows, columns = len(alphas), len(betas)
    with style():
        engine = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02)
        figure = Figure(figsize=(1.55 * columns + 0.5, 1.75 * rows + 0.35), layout=engine)
        for i in range(rows):
            for j in range(columns):
                axes = figure.add_subplot(rows, columns, i * columns + j + 1)
                values = np.asarray(density(i, j, points), dtype=np.float64).reshape(n, n)
                shade = np.sqrt(np.minimum(values / np.quantile(values, 0.995), 1))
                axes.imshow(
                    shade,
                    extent=(low, high, low, high),
                    origin="lower",
                    cmap=inks(),
                    interpolation="bilinear",
                )
                bare(axes, frame="#d5dbe0")
                if i == 0:
                    axes.set_title(f"β = {betas[j]:g}", loc="center", fontsize=9)
                if j == 0:
                    axes.set_ylabel(f"α = {alphas[i]:g}", fontsize=9, fontweight="bold")
                kl = f"{apart[i, j]:.2f}" if apart[i, j] < 100 else f"{apart[i, j]:,.0f}"
                axes.set_xlabel(f"overlap {many[i, j]:.3g}   KL {kl}", fontsize=7, labelpad=2)
    return figure


def _annotate(axes: "Axes", text: str, at: tuple[float, float], offset: float, *, ha: str, va: str) -> None:
    axes.annotate(
        text, at, xytext=(0, offset), textcoords="offset points", ha=ha, va=va, fontsize=8, color=INK
    )


def _arrows(axes: "Axes", columns: Array, colours: Sequence[str], width: float = 1.6) -> None:
    for (x, y), colour in zip(columns.T, colours, strict=True):
        if np.hypot(x, y) > 1e-3 * np.abs(columns).max():
            properties = {
                "arrowstyle": "-|>",
                "color": colour,
                "linewidth": width,
                "shrinkA": 0,
                "shrinkB": 0,
            }
            axes.annotate("", (x, y), (0, 0), arrowprops=properties)
        else:
            axes.plot(0, 0, "o", color=colour, markersize=4)


def _ellipse(covariance: Array) -> Array:
    angle = np.linspace(0, 2 * np.pi, 200)
    points: Array = np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)])
    return points
