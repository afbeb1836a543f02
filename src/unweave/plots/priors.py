"""Pictures of priors: densities, trees of norms, surfaces of equal norm, preferred orientations."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.plots.style import FAINT, INK, PALETTE, bare, new_figure, style

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

Children = Sequence[Sequence[tuple[str, int]]]
"""For each inner node, beginning with the root, its children: ("leaf", number) or ("node", number)."""


def inks() -> "Colormap":
    """The colours of densities, from white to dark blue.

    Example:
        >>> [float(channel) for channel in inks()(0.0)]
        [1.0, 1.0, 1.0, 1.0]
    """
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "density", ["#ffffff", "#d3e5f2", "#7db4d8", "#0072b2", "#0b3a5e"]
    )


def densities(
    panels: Mapping[str, Callable[[NDArray[Any]], ArrayLike]],
    *,
    low: float = -4.0,
    high: float = 4.0,
    n: int = 181,
    title: str | None = None,
) -> "Figure":
    """Densities of two latents side by side, shaded, with contours that enclose 10, 50 and 90 % (DEC figures 5, 6).

    Args:
        panels: name -> function from points ``(m, 2)`` to their density ``(m,)``.
        low: lower end of both axes.
        high: upper end of both axes.
        n: points along each axis.
        title: of the figure.

    Example:
        >>> figure = densities({"round": lambda z: np.exp(-(z**2).sum(1))})
        >>> figure.axes[0].get_title(loc="left")
        'round'

    """
    axis = np.linspace(low, high, n)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    with new_figure(2.6 * len(panels) + 0.3, 3.2 if title else 3.1) as figure:
        for k, (name, density) in enumerate(panels.items()):
            axes = figure.add_subplot(1, len(panels), k + 1)
            values = np.asarray(density(points), dtype=np.float64).reshape(n, n)
            axes.imshow(
                values**0.5,
                extent=(low, high, low, high),
                origin="lower",
                cmap=inks(),
                interpolation="bilinear",
            )
            levels = sorted({_level(values, share) for share in (0.9, 0.5, 0.1)})
            axes.contour(axis, axis, values, levels=levels, colors=INK, linewidths=0.6)
            axes.set_title(name)
            axes.set_xlabel("$z_1$")
            if k == 0:
                axes.set_ylabel("$z_2$")
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def norm_tree(children: Children, exponents: ArrayLike) -> "Figure":
    """The tree of nested norms: an exponent at each inner node and a latent at each leaf (ISA figure 4).

    Args:
        children: of each inner node, beginning with the root.
        exponents: one for each inner node.

    Example:
        >>> figure = norm_tree([[("leaf", 0), ("node", 1)], [("leaf", 1), ("leaf", 2)]], [2.1, 1.0])
        >>> [text.get_text() for text in figure.axes[0].texts][:2]
        ['$z_{1}$', '$z_{2}$']

    """
    p = np.asarray(exponents, dtype=np.float64)
    places = _node_places(children)
    height = round(places["node", 0][1])
    leaves = sum(kind == "leaf" for kind, _ in places)
    with new_figure(max(3.0, 0.5 * leaves + 0.8), 0.95 * height + 0.8) as figure:
        axes = figure.add_subplot()
        for node, row in enumerate(children):
            x, y = places["node", node]
            for child in row:
                below = places[child]
                axes.plot([x, below[0]], [y, below[1]], color=FAINT, linewidth=1.0, zorder=1)
        size = 8 if leaves <= 24 else 5
        for number in range(leaves):
            x, y = places["leaf", number]
            axes.text(x, y - 0.06, f"$z_{{{number + 1}}}$", ha="center", va="top", fontsize=size, color=INK)
        for node, exponent in enumerate(p):
            x, y = places["node", node]
            colour = PALETTE[0] if node == 0 else PALETTE[1]
            box = {"boxstyle": "round,pad=0.32", "facecolor": "white", "edgecolor": colour, "linewidth": 1.2}
            axes.text(
                x,
                y,
                f"$p_{{{node}}}={exponent:.3g}$",
                ha="center",
                va="center",
                fontsize=8,
                bbox=box,
                zorder=3,
            )
        axes.set_xlim(-0.8, leaves - 0.2)
        axes.set_ylim(-0.5, height + 0.4)
        bare(axes)
    return figure


def _node_places(children: Children) -> dict[tuple[str, int], tuple[float, float]]:
    """Coordinates of the leaves, at height 0, and of the inner nodes, each above the middle of its children."""
    places: dict[tuple[str, int], tuple[float, float]] = {}

    def depth(node: int) -> int:
        return 1 + max((depth(number) for kind, number in children[node] if kind == "node"), default=0)

    def place(kind: str, number: int, height: int) -> float:
        if kind == "leaf":
            places[kind, number] = (float(number), 0.0)
            return float(number)
        across = [place(k, c, height - 1) for k, c in children[number]]
        places[kind, number] = ((min(across) + max(across)) / 2, float(height))
        return places[kind, number][0]

    place("node", 0, depth(0))
    return places


def iso_surfaces(
    panels: Sequence[Sequence[tuple[str, Callable[[NDArray[Any]], ArrayLike]]]],
) -> "Figure":
    """Surfaces on which a function of three latents is 1, in rows and columns (ISA figure 2).

    Args:
        panels: rows of (name, function), the function from points ``(m, 3)`` to norms ``(m,)``.

    Example:
        >>> figure = iso_surfaces([[("sphere", lambda z: np.linalg.norm(z, axis=1))]])
        >>> len(figure.axes)
        1

    """
    turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, 129), np.linspace(-np.pi / 2, np.pi / 2, 97))
    directions = np.stack([np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)], -1)
    rows, columns = len(panels), max(len(row) for row in panels)
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2.1 * columns, 2.3 * rows))
        for i, row in enumerate(panels):
            for j, (name, function) in enumerate(row):
                axes = figure.add_subplot(
                    rows, columns, i * columns + j + 1, projection="3d", computed_zorder=False
                )
                norms = np.asarray(function(directions.reshape(-1, 3)), dtype=np.float64).reshape(turn.shape)
                _draw_surface(axes, directions / norms[..., None])
                axes.text2D(0.5, 0.03, name, transform=axes.transAxes, ha="center", va="bottom", fontsize=9)
        top = 1 - 0.12 / figure.get_figheight()
        figure.subplots_adjust(left=0, right=1, bottom=0.01, top=top, wspace=0, hspace=0)
    return figure


def _draw_surface(axes: Any, surface: NDArray[np.float64]) -> None:
    """A surface (rows, columns, 3) with three axes that begin at it."""
    from matplotlib.colors import LightSource

    axes.plot_surface(
        *np.moveaxis(surface, -1, 0),
        color=PALETTE[5],
        lightsource=LightSource(azdeg=300, altdeg=40),
        rstride=1,
        cstride=1,
        linewidth=0,
        antialiased=False,
        rasterized=True,  # in vector files too: thousands of faces would be megabytes
    )
    for axis in range(3):
        ends = np.zeros((3, 2))
        ends[axis] = [1.02, 1.5]
        axes.plot(*ends, color=INK, linewidth=0.7, zorder=5)  # all three point towards the viewer
        place = 1.68 * np.eye(3)[axis]
        axes.text(*place, f"$z_{axis + 1}$", fontsize=7, color=INK, ha="center", va="center", zorder=6)
    axes.set_box_aspect((1, 1, 1), zoom=1.12)
    axes.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), zlim=(-1.1, 1.1))
    axes.view_init(elev=22, azim=35)
    axes.set_axis_off()


def preferred_orientation(
    panels: Sequence[tuple[str, Callable[[NDArray[Any]], ArrayLike], float]],
    angles: ArrayLike,
    preferences: Sequence[ArrayLike],
) -> "Figure":
    """Contours of priors, a square of positions at the angle that each prefers, and the preference (ISA figure 3).

    Args:
        panels: (name, density of points ``(m, 2)``, best angle of the square in radians).
        angles: of the square, in radians ``(a,)``.
        preferences: for each panel, the mean log-density at each angle, in nats ``(a,)``.

    Example:
        >>> figure = preferred_orientation(
        ...     [("p = 2", lambda z: np.exp(-(z**2).sum(1) / 2), 0.0)], [0.0, 1.0], [[-2.8, -2.8]]
        ... )
        >>> len(figure.axes)
        2

    """
    axis = np.linspace(-4, 4, 181)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    side = np.linspace(-np.sqrt(3), np.sqrt(3), 15)
    square = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    degrees = np.degrees(np.asarray(angles, dtype=np.float64))
    with new_figure(2.7 * len(panels) + 3.0, 2.9) as figure:
        widths = [*[1.0] * len(panels), 1.25]
        grid = figure.add_gridspec(1, len(panels) + 1, width_ratios=widths)
        for k, (name, density, best) in enumerate(panels):
            axes = figure.add_subplot(grid[0, k])
            values = np.asarray(density(points), dtype=np.float64).reshape(181, 181)
            levels = sorted({_level(values, share) for share in (0.97, 0.85, 0.6, 0.3, 0.1)})
            axes.contour(axis, axis, values, levels=levels, colors=FAINT, linewidths=0.9)
            turned = square @ np.array([[np.cos(best), np.sin(best)], [-np.sin(best), np.cos(best)]])
            x, y = turned.T
            axes.scatter(x, y, c=x, cmap="RdBu_r", vmin=-2.6, vmax=2.6, s=9, edgecolor="none")
            axes.set_aspect("equal")
            axes.set_title(name)
            axes.set_xlabel("$z_1$")
            if k == 0:
                axes.set_ylabel("$z_2$")
        axes = figure.add_subplot(grid[0, -1])
        for k, ((name, _, _), values_of) in enumerate(zip(panels, preferences, strict=True)):
            line = np.asarray(values_of, dtype=np.float64)
            axes.plot(degrees, line - line.max(), color=PALETTE[k], label=name)
        axes.set_title("Angle of the square")
        axes.set_xlabel("degrees")
        axes.set_xticks([0, 45, 90])
        axes.set_ylabel("log-density below the best (nats)")
        axes.legend(loc="lower center")
    return figure


def _level(values: NDArray[Any], share: float) -> float:
    """The density whose contour encloses this share of the mass on the grid."""
    ordered = np.sort(values, axis=None)[::-1]
    enclosed = np.cumsum(ordered) / ordered.sum()
    return float(ordered[np.searchsorted(enclosed, share)])
