"""One style for all pictures, with colours that people with colour vision deficiency can distinguish."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2933"
"""Text and held-out points."""
FAINT = "#8a94a0"
"""Axes, ticks and secondary text."""
IDLE = "#c3cad1"
"""Bars of what is not used."""
RULE = "#e5e8eb"
"""Lines of a grid behind the data."""
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f6ab8", "#5f6b76")
"""Line colours: those of Okabe and Ito without yellow, which is hard to see on white, and two more."""

_CORNERS = np.array([[[18, 60, 140], [112, 196, 255]], [[150, 40, 12], [255, 178, 60]]]) / 255


def style() -> AbstractContextManager[None]:
    """The matplotlib settings of every figure; global settings are not changed.

    Example:
        >>> import matplotlib as mpl
        >>> with style():
        ...     mpl.rcParams["axes.spines.top"]
        False

    """
    import matplotlib as mpl
    from cycler import cycler

    return mpl.rc_context(
        {
            "font.family": "DejaVu Sans",
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlecolor": INK,
            "axes.labelsize": 9,
            "axes.labelcolor": INK,
            "axes.edgecolor": FAINT,
            "axes.linewidth": 0.7,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=PALETTE),
            "axes.unicode_minus": True,
            "axes.formatter.useoffset": False,
            "xtick.color": FAINT,
            "ytick.color": FAINT,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "xtick.labelsize": 8,
            "ytick.labelsize": 8,
            "text.color": INK,
            "legend.frameon": False,
            "legend.fontsize": 8,
            "lines.linewidth": 1.5,
            "figure.dpi": 100,
            "figure.facecolor": "white",
            "savefig.facecolor": "white",
        }
    )


@contextmanager
def new_figure(width: float, height: float) -> Iterator["Figure"]:
    """An empty figure of that many inches, to be drawn in this style.

    Example:
        >>> with new_figure(3, 2) as figure:
        ...     axes = figure.subplots()
        >>> figure.get_size_inches().tolist(), axes.spines["top"].get_visible()
        ([3.0, 2.0], False)

    """
    from matplotlib.figure import Figure

    with style():
        yield Figure(figsize=(width, height), layout="constrained")


def plane_colors(points: ArrayLike) -> NDArray[np.float64]:
    """A colour for each point of the unit square, (m, 2) -> (m, 3).

    Blue to orange along u, dark to light along v: hue encodes one axis and lightness the other, so both are readable
    without red-green vision.

    Example:
        >>> plane_colors([[0, 0], [1, 1]]).round(2).tolist()
        [[0.07, 0.24, 0.55], [1.0, 0.7, 0.24]]

    """
    u, v = np.clip(np.asarray(points, dtype=np.float64), 0, 1).reshape(-1, 2).T[..., None]
    low = (1 - v) * _CORNERS[0, 0] + v * _CORNERS[0, 1]
    high = (1 - v) * _CORNERS[1, 0] + v * _CORNERS[1, 1]
    colors: NDArray[np.float64] = (1 - u) * low + u * high
    return colors


def bare(axes: "Axes", *, frame: str | None = None) -> None:
    """Removes the ticks of axes that only show a picture, and the frame unless it has a colour.

    Example:
        >>> from matplotlib.figure import Figure
        >>> axes = Figure().add_subplot()
        >>> bare(axes)
        >>> len(axes.get_xticks())
        0

    """
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(frame is not None)
        spine.set_edgecolor(frame or FAINT)
