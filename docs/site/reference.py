"""The reference of the site: a page for each public module, written from signatures and docstrings.

Docstrings are in Google's style with Markdown inside; formulas come from ``formulas.toml``, citations become links
through :mod:`unweave.papers`. Sphinx's Python domain gives every object its index entry, its address and its source.
"""

import ast
import importlib
import inspect
import re
import textwrap
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

from unweave import papers

FORMULAS: dict[str, dict[str, str]] = tomllib.loads((Path(__file__).parent / "formulas.toml").read_text())
MODULES = (
    *(
        "unweave",
        "unweave.data",
        "unweave.networks",
        "unweave.posteriors",
        "unweave.priors",
        "unweave.likelihoods",
    ),
    *("unweave.objectives", "unweave.pairing", "unweave.optimizers", "unweave.schedules", "unweave.training"),
    *("unweave.gan", "unweave.functional", "unweave.metrics", "unweave.model_metrics", "unweave.models"),
    *("unweave.runs", "unweave.plots", "unweave.reports", "unweave.explorer"),
)
CORE = ("objectives", "priors", "posteriors", "likelihoods", "pairing", "functional")
"""Modules of which every class and function is mathematics, but for their abstract bases and results."""

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Examples?|References?|Note):[ ]*(.*)$")
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|obj|exc):`([^`]+)`")
_ENTRY = re.compile(r"^(\*{0,2}\w[\w, *]*?)(?: \(([^)]*)\))?: (.*)$")


def public(module: ModuleType) -> list[str]:
    """The names of the objects of a module that are public: ``__all__``, or what is defined in it."""
    if hasattr(module, "__all__"):
        return sorted((n for n in module.__all__ if not inspect.ismodule(getattr(module, n))), key=_order)
    own = (n for n, made in vars(module).items() if getattr(made, "__module__", "") == module.__name__)
    return sorted((name for name in own if not name.startswith("_")), key=_order)


def _order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name.lower())


def pages() -> dict[str, str]:
    """File name -> text of every page of the reference but that of the commands."""
    made = {f"{name.replace('.', '-')}.md": page(importlib.import_module(name)) for name in MODULES}
    return {name: re.sub(r"\n{3,}", "\n\n", text) for name, text in made.items()}


def page(module: ModuleType) -> str:
    """The page of a module."""
    named = [(name, getattr(module, name)) for name in public(module)]
    rows = [f"| {{py:obj}}`~{place(module, name)}.{name}` | {_sentence(made)} |" for name, made in named]
    documented = [(name, made) for name, made in named if place(module, name) == module.__name__]
    parts = [
        f"# {module.__name__}",
        f"```{{py:module}} {module.__name__}\n```",
        _markdown(_sections(inspect.getdoc(module) or "")[0]),
        "| object | what it is |\n|---|---|\n" + "\n".join(rows),
    ]
    parts += [described(module.__name__, name, made) for name, made in documented]
    return "\n\n".join(parts) + "\n"


def place(module: ModuleType, name: str) -> str:
    """The module on whose page an object is described: of several that have it, the first below ``unweave`` itself."""
    for other in map(importlib.import_module, MODULES[1:]):
        if name in public(other) and getattr(other, name) is getattr(module, name):
            return other.__name__
    return module.__name__


def _sentence(made: Any) -> str:
    text = inspect.getdoc(made) if inspect.isclass(made) or callable(made) else ""
    if isinstance(made, dict) or not text or type(made).__module__.startswith("unweave"):
        return "a table of names" if not inspect.isclass(made) and not inspect.isfunction(made) else ""
    first = " ".join(text.split("\n\n")[0].split())
    return _markdown(first).replace("|", r"\|")


def described(module: str, name: str, made: Any) -> str:
    """A section of one object: signature, formula, text, arguments, references, example, members."""
    heading = f"## {name}\n\n"
    if inspect.isclass(made):
        members = [_member(module, name, key, value) for key, value in sorted(vars(made).items())]
        inside = "\n\n".join([_content(module, name, made), *filter(None, members)])
        return heading + _directive("py:class", f"{name}{_signature(made)}", module, inside, 6)
    if inspect.isfunction(made):
        signature = f"{name}{_signature(made)}"
        return heading + _directive("py:function", signature, module, _content(module, name, made), 6)
    return heading + _directive("py:data", name, module, _value(made), 6)


def _value(made: Any) -> str:
    names = getattr(made, "names", None) or (made if isinstance(made, dict) else ())
    listed = ", ".join(f"`{name}`" for name in (names() if callable(names) else names))
    return f"Names: {listed}." if listed else f"`{type(made).__name__}`"


def _directive(kind: str, signature: str, module: str, inside: str, fence: int) -> str:
    marks = ":" * fence
    return f"{marks}{{{kind}}} {signature}\n:module: {module}\n\n{inside}\n{marks}"


def _content(module: str, name: str, made: Any) -> str:
    body, sections = _sections(inspect.getdoc(made) or "")
    first, _, rest = body.partition("\n\n")
    formula = FORMULAS.get(module, {}).get(name)
    shown = [_markdown(first)]
    if formula:
        shown.append(f"```{{math}}\n{formula}\n```")
    shown.append(_markdown(rest))
    shown += [_section(title, text) for title, text in sections]
    return "\n\n".join(filter(None, shown))


def _member(module: str, owner: str, key: str, made: Any) -> str:
    if key.startswith("_") or isinstance(made, type):
        return ""
    kind = "py:property" if isinstance(made, property) else "py:method"
    function = made.fget if isinstance(made, property) else getattr(made, "__func__", made)
    if not inspect.isfunction(function) or not inspect.getdoc(function):
        return ""
    signature = (
        "" if kind == "py:property" else _signature(function, method=not isinstance(made, staticmethod))
    )
    body, sections = _sections(inspect.getdoc(function) or "")
    inside = "\n\n".join(filter(None, [_markdown(body), *(_section(t, text) for t, text in sections)]))
    return _directive(kind, f"{owner}.{key}{signature}", module, inside, 5)


def _signature(made: Any, *, method: bool = False) -> str:
    """As written in the source; a dataclass has one of its fields."""
    function = vars(made).get("__init__") if inspect.isclass(made) else made
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
    except (OSError, TypeError, AssertionError, SyntaxError, IndentationError):
        return _fields(made) if inspect.isclass(made) else "()"
    if method or inspect.isclass(made):
        first = tree.args.posonlyargs or tree.args.args
        del first[:1]
    returned = f" -> {ast.unparse(tree.returns)}" if tree.returns and not inspect.isclass(made) else ""
    return f"({ast.unparse(tree.args)}){returned}"


def _fields(made: type) -> str:
    fields = getattr(made, "__dataclass_fields__", {})
    shown = [f"{n}: {f.type}" if isinstance(f.type, str) else n for n, f in fields.items() if f.init]
    return f"({', '.join(shown)})" if shown else ""


def _sections(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The body of a docstring, and its sections in their order."""
    body: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        found = _SECTION.match(line)
        if found:
            sections.append((found[1], [found[2]] if found[2] else []))
        elif sections and (not line.strip() or line.startswith(" ") or sections[-1][0].startswith("Refer")):
            sections[-1][1].append(line)
        elif sections:  # text again, after a section
            sections.append(("Note", [line]))
        else:
            body.append(line)
    whole = [(title, _dedent(lines)) for title, lines in sections]
    return "\n".join(body).strip(), [(title, text) for title, text in whole if text]


def _dedent(lines: list[str]) -> str:
    if lines and lines[0] and not lines[0].startswith(" "):
        return "\n".join([lines[0], *(line.strip() for line in lines[1:])]).strip()
    return textwrap.dedent("\n".join(lines)).strip()


def _section(title: str, text: str) -> str:
    if title in ("Args", "Attributes"):
        return _entries(title, text)
    if title.startswith("Example"):
        return f"```pycon\n{text}\n```" if ">>>" in text else f"```text\n{text}\n```"
    if title.startswith("Reference"):
        return f"**Reference:** {cited(' '.join(text.split()))}"
    if title == "Note":
        return _markdown(text)
    return f"**{title}:** {_markdown(text)}"


def _entries(title: str, text: str) -> str:
    entries: list[list[str]] = []
    for line in text.splitlines():
        found = None if line.startswith(" ") else _ENTRY.match(line)
        if found:
            entries.append([found[1], found[3]])
        elif entries:
            entries[-1].append(line.strip())
        else:
            return _markdown(text)
    field = "param" if title == "Args" else "ivar"
    return "\n".join(f":{field} {name}: {_markdown(' '.join(words))}" for name, *words in entries)


def _markdown(text: str) -> str:
    """Text of a docstring as Markdown: roles lead to objects, citations to papers; what is indented stays."""
    text = _ROLE.sub(lambda found: f"{{py:obj}}`{found[1]}`", text)
    lines = []
    for block in re.split(r"\n\n", text):
        if textwrap.dedent(block).startswith(">>> "):  # to Markdown, nested quotations
            shown = f"```pycon\n{textwrap.dedent(block)}\n```"
        else:
            shown = textwrap.indent(textwrap.dedent(block), "    ") if _is_indented(block) else cited(block)
        lines.append(shown)
    return "\n\n".join(lines).strip("\n")


def _is_indented(block: str) -> bool:
    return bool(block.strip()) and all(line.startswith("    ") for line in block.splitlines() if line)


def cited(text: str) -> str:
    """Markdown in which every citation leads to the work.

    Example:
        >>> cited("FAC Eq. 2; Kingma & Ba 2015")  # doctest: +ELLIPSIS
        '[FAC](https://arxiv.org/abs/1802.05983) Eq. 2; [Kingma & Ba 2015](https://...)'
    """
    if "`" in text:  # not within code
        pieces = re.split(r"(``.*?``|`[^`]*`)", text, flags=re.DOTALL)
        return "".join(piece if piece.startswith("`") else cited(piece) for piece in pieces)
    for name in papers.citations(text):
        if name in papers.PAPERS:
            continue
        try:
            address = papers.find(name).address
        except KeyError:
            continue
        for spelling in (name, name.replace(" & ", " and ")):
            if f"[{spelling}]" not in text:
                text = text.replace(spelling, f"[{spelling}]({address})", 1)
    return papers.linked(text)
