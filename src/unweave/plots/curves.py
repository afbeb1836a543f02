"""Training curves, and the KL of each latent."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unweave.plots.style import FAINT, IDLE, PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {
    "total": "loss",
    "reconstruction": "reconstruction",
    "kl": "KL to the prior",
    "kl_per_latent": "KL of each latent",
}
_NOT_NATS = (
    "total",
    "discriminator_accuracy",
    "critic_loss",
    "critic_gap",
    "gradient_penalty",
    "generator_loss",
    "mmd",
)
_MOST_POINTS = 200
_WIDEST = 28
"""Letters of a title in one line of a panel."""


def curves(
    histories: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]],
    keys: Sequence[str] | None = None,
) -> "Figure":
    """Training curves, one panel per key; several runs share the panels of a mapping name -> history.

    Long histories are averaged to at most 200 points. If the first steps would flatten the rest of a curve, the axis
    is logarithmic (positive values) or cuts off the first values.

    Args:
        histories: the lines of a run's history (dictionaries with "step" and the keys), or several by name.
        keys: what to draw; values may be numbers or lists (one line per latent). Absent keys are omitted. None: the
            loss, its reconstruction and KL, then every other logged term.

    Example:
        >>> history = [{"step": i, "total": 100 / i, "kl_per_latent": [i, 1.0]} for i in range(1, 50)]
        >>> [axes.get_title(loc="left") for axes in curves(history).axes]
        ['loss', 'KL of each latent']

    """
    runs = _by_name(histories)
    panels = _panels(runs, keys)
    columns = min(len(panels), 4 if len(panels) <= 4 else 3) or 1
    rows = -(-len(panels) // columns) or 1
    with new_figure(max(2.9, 9 / columns if rows > 1 else 0) * columns, 2.35 * rows) as figure:
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (key, only) in zip(grid, panels, strict=False):
            chosen = {only: runs[only]} if only or len(runs) == 1 else runs
            _panel(axes, key, chosen, label=len(chosen) > 1)
            axes.set_title(_wrapped(_title(key, only if len(runs) > 1 else "")))
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        if len(runs) > 1 and panels:
            handles, labels = grid[0].get_legend_handles_labels()
            if handles:
                figure.legend(handles, labels, loc="outside upper left", ncols=len(handles))
    return figure


def curve_panels(
    histories: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]],
) -> "dict[str, Figure]":
    """The panels of :func:`curves` as figures of their own, by title: a page arranges them as its width allows.

    Example:
        >>> history = [{"step": i, "total": 100 / i, "kl": 1.0} for i in range(1, 50)]
        >>> list(curve_panels(history))
        ['loss', 'KL to the prior']

    """
    runs = _by_name(histories)
    made = {}
    for key, only in _panels(runs):
        title = _title(key, only if len(runs) > 1 else "")
        with new_figure(2.9, 2.2) as figure:
            axes = figure.subplots()
            chosen = {only: runs[only]} if only or len(runs) == 1 else runs
            _panel(axes, key, chosen, label=len(chosen) > 1)
            axes.set_title(_wrapped(title))
        made[title] = figure
    return made


def _by_name(
    histories: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str, Sequence[Mapping[str, Any]]]:
    return dict(histories) if isinstance(histories, Mapping) else {"": histories}


def _panels(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], keys: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """What each panel shows: a key, and the run that it is about if it has a line for each latent."""
    logged = [key for lines in runs.values() for line in lines[:1] for key in line]
    keys = list(dict.fromkeys([*_TITLES, *logged])) if keys is None else keys
    panels: list[tuple[str, str]] = []
    for key in keys:
        if key in ("step", "seconds"):
            continue
        names = [name for name, lines in runs.items() if any(key in line for line in lines)]
        if names and any(isinstance(line.get(key), list | tuple) for line in runs[names[0]]):
            panels += [(key, name) for name in names]
        elif names:
            panels.append((key, ""))
    return panels


def _title(key: str, only: str) -> str:
    title = _TITLES.get(key, key.replace("_", " "))
    return f"{title}: {only}" if only else title


def _wrapped(title: str) -> str:
    """A long name goes on in a second line instead of beyond the panel."""
    return textwrap.fill(title, _WIDEST)


def kl_bars(
    kl: ArrayLike, *, scales: ArrayLike | None = None, names: Sequence[str] | None = None
) -> "Figure":
    """Mean KL of each latent in nats, largest first; with ``scales``, unused latents (sd >= 0.5) are grey.

    Args:
        kl: (latents,) mean KL to the prior.
        scales: (latents,) mean posterior standard deviation.
        names: what the latents are called; none: z0, z1 ...

    Example:
        >>> [label.get_text() for label in kl_bars([0.1, 2.0]).axes[0].get_xticklabels()]
        ['z1', 'z0']

    """
    values = np.asarray(kl, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    used = np.ones(len(values), bool) if scales is None else np.asarray(scales) < 0.5
    with new_figure(max(3.2, 0.42 * len(values) + 1.1), 2.35) as figure:
        axes = figure.subplots()
        bars = axes.bar(
            range(len(values)), values[order], color=[PALETTE[0] if used[j] else IDLE for j in order]
        )
        axes.bar_label(bars, [f"{values[j]:.1f}" for j in order], fontsize=7, color=FAINT, padding=1)
        called = [f"z{j}" if names is None else names[j] for j in order]
        long = max(map(len, called), default=0) > 5
        axes.set_xticks(
            range(len(values)), called, rotation=40 if long else 0, ha="right" if long else "center"
        )
        axes.tick_params(axis="x", length=0)
        axes.set_ylabel("KL (nats)")
        axes.margins(x=0.02, y=0.12)
        axes.set_ylim(0, max(0.1, 1.12 * float(np.max(values, initial=0.0))))
    return figure


def _panel(axes: "Axes", key: str, runs: Mapping[str, Sequence[Mapping[str, Any]]], *, label: bool) -> None:
    plotted: list[NDArray[np.float64]] = []
    for i, (name, lines) in enumerate(runs.items()):
        table = [(line["step"], line[key]) for line in lines if line.get(key) is not None]
        if not table:
            continue
        steps = np.array([step for step, _ in table], dtype=np.float64)
        values = np.array([value for _, value in table], dtype=np.float64).reshape(len(table), -1)
        steps, means = block_means(steps, values.T, _MOST_POINTS)
        values = means.T
        plotted.append(values)
        for j, line_values in enumerate(values.T):
            # If there are more latents than colours, the colours repeat with another dash pattern.
            dash = ("-", "--", ":")[j // len(PALETTE) % 3]
            color = PALETTE[(i if values.shape[1] == 1 else j) % len(PALETTE)]
            axes.plot(steps, line_values, dash, color=color, label=name if label else None, linewidth=1.3)
    axes.set_xlabel("step")
    if key not in _NOT_NATS and not key.startswith("covariance"):
        axes.set_ylabel("nats")
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}")
    if plotted:
        _fit_axis(axes, plotted)


def _fit_axis(axes: "Axes", plotted: Sequence[NDArray[np.float64]]) -> None:
    """A scale on which the later steps are visible."""
    every = np.concatenate([values.ravel() for values in plotted])
    late = np.concatenate([values[len(values) // 10 :].ravel() for values in plotted])
    every, late = every[np.isfinite(every)], late[np.isfinite(late)]
    if len(late) == 0:
        return
    span = float(np.ptp(late)) or max(abs(float(late[0])) * 0.1, 1e-12)
    if every.max() - late.max() <= 2 * span:
        return
    if every.min() > 0 and plotted[0].shape[1] == 1:
        from matplotlib.ticker import LogLocator, NullLocator

        axes.set_yscale("log")
        decades = float(np.log10(every.max() / every.min()))
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 3 else (1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    else:
        axes.set_ylim(late.min() - 0.05 * span, late.max() + 0.2 * span)


def block_means(
    where: ArrayLike, values: ArrayLike, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of equal blocks of points, at most ``most`` of them: (n,), (lines, n) -> (m,), (lines, m).

    Example:
        >>> x, y = block_means([1, 2, 3, 4], [[1.0, 3.0, 5.0, 7.0]], most=2)
        >>> x.tolist(), y.tolist()
        ([1.5, 3.5], [[2.0, 6.0]])

    """
    x, y = np.asarray(where, np.float64), np.atleast_2d(np.asarray(values, np.float64))
    starts = np.arange(0, len(x), max(1, -(-len(x) // most)))
    sizes = np.diff([*starts, len(x)])
    return np.add.reduceat(x, starts) / sizes, np.add.reduceat(y, starts, axis=1) / sizes
