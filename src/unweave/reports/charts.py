"""Figures as inline SVG that follows the theme of a page, with points that a reader can ask for what lies behind."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from unweave import plots
from unweave.plots.style import FAINT, IDLE, INK, PALETTE, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST = 1_500_000
"""Bytes of SVG above which a figure is shown as PNG instead: thousands of marks are slow to draw in a browser."""

_VARIABLES = {
    INK: "--ink",
    FAINT: "--faint",
    IDLE: "--idle",
    RULE: "--line",
    "#ffffff": "--ground",
    **{color: f"--line-{number}" for number, color in enumerate(PALETTE)},
}
"""Colours of figures that the page chooses: text, axes, grounds and lines; the colours of data points stay."""


@dataclass(frozen=True)
class LivePoint:
    """A point that says what lies behind it.

    Args:
        x: from the left, in data units of its axes.
        y: from below, in data units.
        label: told when the point is reached.
        tile: number of its images in the sprite sheets of the group; none: it has no image.
        link: where a click leads; empty: nowhere.

    Example:
        >>> LivePoint(0.5, 1.0, "beta=4, seed 0").tile is None
        True
    """

    x: float
    y: float
    label: str
    tile: int | None = None
    link: str = ""


def chart(
    figure: "Figure",
    alt: str,
    *,
    points: Sequence[LivePoint] = (),
    axes: "Axes | None" = None,
    widest: float = 1.25,
) -> Markup:
    """A figure as inline SVG: text stays text, and its colours are those of the page's theme.

    Args:
        figure: drawn in the style of :mod:`unweave.plots`.
        alt: what it shows.
        points: that a pointer or the arrow keys can reach.
        axes: in whose data units the points are; none: the first.
        widest: up to this multiple of its own width the figure grows with the page.

    Example:
        >>> from unweave.plots import kl_bars
        >>> markup = chart(kl_bars([0.1, 2.0]), "KL of each latent")
        >>> "var(--line-0)" in markup, "#0072b2" in markup, "z1</text>" in markup
        (True, False, True)
    """
    content = plots.to_bytes(figure, "svg", text=True)
    width = float(figure.get_figwidth() * 100)
    if len(content) > LARGEST:
        from unweave.reports.rendering import image, png

        return image(*png(figure, alt))
    drawing = themed(content.decode(), alt, width * widest)
    if not points:
        return drawing
    places = _places(figure, figure.axes[0] if axes is None else axes, points)
    label = f"{alt}; arrow keys go from point to point, Enter keeps one"
    return Markup(
        f'<div class="live" role="application" tabindex="0" aria-label="{html.escape(label)}" '
        f'data-points="{html.escape(json.dumps(places, ensure_ascii=False, separators=(",", ":")))}">{drawing}</div>'
    )


def themed(svg: str, alt: str, width: float) -> Markup:
    """The SVG of matplotlib as part of a page: no rules or names of its own, colours by variables of the page.

    Example:
        >>> themed('<?xml?><svg width="9pt" id="a" viewBox="0 0 9 9"><g style="fill: #1f2933"/></svg>', "A", 9)
        Markup('<svg class="chart" role="img" aria-label="A" style="max-width:9px" viewBox="0 0 9 9"><g style="fill: var(--ink)"/></svg>')
    """  # noqa: E501
    body = svg[svg.index("<svg") :].strip()
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(r"<style.*?</style>", "", body, flags=re.S)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.S)
    body = _own_names(body.replace("xlink:href", "href"), alt)
    body = re.sub(r"#[0-9a-f]{6}", _variable, body)
    body = re.sub(r"font: ([^;\"]*?px) '[^;\"]*", r"font: \1 var(--font)", body)
    view = re.search(r'viewBox="[^"]*"', body)
    start = (
        f'<svg class="chart" role="img" aria-label="{html.escape(alt)}" style="max-width:{width:.0f}px" '
        f"{view.group() if view else ''}>"
    )
    return Markup(start + re.sub(r"\n\s*", "\n", body[body.index(">") + 1 :]))


def _variable(match: "re.Match[str]") -> str:
    color = match.group()
    return f"var({_VARIABLES[color]})" if color in _VARIABLES else color


def _own_names(body: str, alt: str) -> str:
    """Only names that something refers to stay, and none of them is that of a figure with another text."""
    used = set(re.findall(r"(?:url\(|href=\")#([^\")]+)", body))
    # A name must be of this figure alone, but the same for the same figure.
    digest = plots.content_name(alt + body)
    body = re.sub(r' id="([^"]+)"', lambda m: f' id="{digest}{m[1]}"' if m[1] in used else "", body)
    return re.sub(r"(url\(|href=\")#([^\")]+)", rf"\1#{digest}\2", body)


def _places(figure: "Figure", axes: "Axes", points: Sequence[LivePoint]) -> list[list[Any]]:
    """For each point its place in the figure, in thousandths of width and height, and what is told of it."""
    width, height = (float(side) * figure.dpi for side in figure.get_size_inches())
    made = []
    for point in points:
        x, y = axes.transData.transform((point.x, point.y))
        place = [round(1000 * float(x) / width, 1), round(1000 * (1 - float(y) / height), 1)]
        made.append([*place, point.label, -1 if point.tile is None else point.tile, point.link])
    return made
