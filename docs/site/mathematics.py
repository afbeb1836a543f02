"""A Sphinx extension that sets formulas as MathML when the site is built: no script, no font, nothing to download.

``app.add_html_math_renderer("mathml", ...)`` is Sphinx's own way to add a renderer; `latex2mathml` does the work.
"""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def mathml(formula: str, *, display: bool = False) -> str:
    r"""A formula of LaTeX as MathML; ``ValueError`` if it contains a command that is not understood.

    Example:
        >>> mathml(r"\beta")[:5], "<mi>" in mathml(r"\beta")
        ('<math', True)
    """
    made = str(convert(formula, display="block" if display else "inline"))
    unknown = re.findall(r"\\[A-Za-z]+", made)
    if unknown:
        raise ValueError(
            f"the formula {formula!r} has {', '.join(unknown)}, which latex2mathml does not know"
        )
    return made


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), display=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
