"""The picture of what imports what, drawn from the code: each room stands above all rooms that it imports from."""

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent / "src" / "unweave"
GROUND = ("errors", "references", "slots", "atomic", "artefacts", "memory")
LEFT_OUT = {*GROUND, "__init__", "__main__", "console", "papers", "image_input", "standardise", "standalone"}
WIDTH, HEIGHT, GAP, ROW = 112, 34, 14, 74


def rooms() -> dict[str, set[str]]:
    """Room -> the rooms it imports from, without the ground that all stand on."""
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room not in LEFT_OUT:
            found.setdefault(room, set()).update(_imported(path) - LEFT_OUT - {room})
    return {room: {name for name in into if name in found} for room, into in found.items()}


def _imported(path: Path) -> set[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = node.module == "unweave"
            names += [f"unweave.{alias.name}" for alias in node.names] if whole else [node.module]
    return {name.split(".")[1] for name in names if name.startswith("unweave.")}


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """How many rooms at most lie one above the other, below each.

    Example:
        >>> levels({"a": set(), "b": {"a"}, "c": {"a", "b"}})
        {'a': 0, 'b': 1, 'c': 2}
    """

    def level(room: str) -> int:
        return 1 + max((level(below) for below in graph[room]), default=-1)

    return {room: level(room) for room in graph}


def direct(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that no longer path implies.

    Example:
        >>> direct({"a": set(), "b": {"a"}, "c": {"a", "b"}})
        [('b', 'a'), ('c', 'b')]
    """

    def reached(room: str) -> set[str]:
        return set().union(graph[room], *(reached(below) for below in graph[room]))

    kept = []
    for room, into in graph.items():
        implied = set().union(*(reached(below) for below in into)) if into else set()
        kept += [(room, below) for below in sorted(into - implied)]
    return kept


def picture() -> str:
    """The drawing, as SVG."""
    graph = rooms()
    level = levels(graph)
    top = max(level.values())
    rows = [sorted(room for room in graph if level[room] == n) for n in range(top, -1, -1)]
    width = max(len(row) for row in rows) * (WIDTH + GAP) + GAP
    places = {}
    for y, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP) + GAP) / 2
        places |= {room: (left + x * (WIDTH + GAP), 10 + y * ROW) for x, room in enumerate(row)}
    lines = [_arrow(places[above], places[below]) for above, below in direct(graph)]
    boxes = [_box(room, *place) for room, place in places.items()]
    ground = 10 + (top + 1) * ROW
    ground_text = "all stand on: " + ", ".join(GROUND)
    ground_box = (
        f'<rect x="{GAP}" y="{ground}" width="{width - 2 * GAP}" height="{HEIGHT}" fill="#e9e4d8" stroke="#a99"/>'
        f'<text x="{width / 2}" y="{ground + 22}">{ground_text}</text>'
    )
    style = "text{font:14px sans-serif;text-anchor:middle;fill:#222}path{fill:none;stroke:#7a8aa0;stroke-width:1.3}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {ground + HEIGHT + 10}" role="img" '
        f'aria-label="which package imports from which"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(lines + boxes)}{ground_box}</svg>\n'
    )


def _box(room: str, x: float, y: float) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#dce8f7" stroke="#5b7fae"/>'
        f'<text x="{x + WIDTH / 2}" y="{y + 22}">{room}</text>'
    )


def _arrow(above: tuple[float, float], below: tuple[float, float]) -> str:
    x1, y1 = above[0] + WIDTH / 2, above[1] + HEIGHT
    x2, y2 = below[0] + WIDTH / 2, below[1]
    middle = (y1 + y2) / 2
    return f'<path d="M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}"/>'
