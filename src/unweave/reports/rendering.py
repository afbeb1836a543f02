"""From figures and a template to one self-contained HTML file."""

import base64
import hashlib
import html
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from unweave import plots

DPI = 200
"""Twice the size at which pictures are shown, so that they are sharp on high-resolution screens and in print."""

Picture = tuple[bytes, str, float, str]
"""Content, file type, width in pixels at which it is shown, and the alternative text."""


def png(figure: Figure, alt: str) -> Picture:
    """A figure as a picture of a page.

    Example:
        >>> png(Figure(figsize=(3, 2)), "nothing")[1:]
        ('png', 300.0, 'nothing')
    """
    return plots.to_bytes(figure, "png", dpi=DPI), "png", float(figure.get_figwidth() * 100), alt


def image(content: bytes, kind: str, width: float, alt: str) -> Markup:
    """The HTML element that contains a picture.

    Example:
        >>> image(b"abc", "png", 10.0, "a & b")
        Markup('<img alt="a &amp; b" style="width:10px" src="data:image/png;base64,YWJj">')
    """
    data = base64.b64encode(content).decode()
    size = f' style="width:{width:.0f}px"' if width else ""
    return Markup(f'<img alt="{html.escape(alt)}"{size} src="data:image/{kind};base64,{data}">')


def writer() -> str:
    """The versions of the packages that write a page.

    Example:
        >>> writer().startswith("Python 3.")
        True
    """
    parts = [f"Python {platform.python_version()}"]
    for package in ("unweave", "numpy", "matplotlib"):
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(parts)


def render(template: str, **values: Any) -> str:
    """A page from its template; a missing value is an error.

    Example:
        >>> "<title>A &amp; B</title>" in render("page.html", title="A & B", writer="me")
        True
    """
    loader = PackageLoader("unweave.reports", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script, *_ = loader.get_source(environment, "live.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Only this very script may run: the page's policy names its hash.
    known = {"script": Markup(script), "script_hash": f"sha256-{digest}"}
    return environment.get_template(template).render(**known, **values)
