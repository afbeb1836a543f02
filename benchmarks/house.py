"""The size of the house, before and after: ``python benchmarks/house.py [REVISION ...]`` counts src of each revision.

Lines of code are lines that hold a token of code: no blank lines, comments or docstrings. The length of a function is
counted the same way. The working tree is counted last. With ``--rooms``: the lines without imports of each room.
"""

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> set[int]:
    """Numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def import_lines(text: str) -> set[int]:
    """Numbers of the lines of import statements."""
    imports = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom))
    return {line for node in imports for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def count(folder: Path) -> dict[str, int]:
    """What there is in the Python files below a folder."""
    texts = {path: path.read_text() for path in sorted(folder.rglob("*.py"))}
    code = {path: code_lines(text) for path, text in texts.items()}
    functions: list[int] = []
    for path, text in texts.items():
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        functions += [len(code[path] & set(range(n.lineno, (n.end_lineno or 0) + 1))) for n in nodes]
    joined = "\n".join(texts.values())
    return {
        "lines of code, no docstrings": sum(map(len, code.values())),
        "the same without imports": sum(len(code[path] - import_lines(text)) for path, text in texts.items()),
        "files": len(texts),
        "longest file (all lines)": max(len(text.splitlines()) for text in texts.values()),
        "functions": len(functions),
        "functions over 40 lines": sum(length > 40 for length in functions),
        "longest function": max(functions),
        "type: ignore": len(re.findall(r"# type: ignore", joined)),
        "Any": len(re.findall(r"\bAny\b", joined)),
        "cast(": len(re.findall(r"\bcast\(", joined)),
    }


def rooms(folder: Path) -> Counter[str]:
    """Lines of code without docstrings and imports in each room below a folder."""
    found: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        room = path.relative_to(folder).with_suffix("").parts[0]
        found[room] += len(code_lines(text) - import_lines(text))
    return found


def source(revision: str | None, place: Path) -> Path:
    """The folder src/unweave of a revision, unpacked in a place; of the working tree if none is given."""
    if revision is None:
        return ROOT / "src" / "unweave"
    archive = subprocess.run(
        ["git", "archive", revision, "src"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(place / revision, filter="data")
    return place / revision / "src" / "unweave"


def repeated(folder: Path, least: int = 6) -> int:
    """How many runs of six lines of code or more stand in two places, letter for letter."""
    seen: dict[tuple[str, ...], tuple[Path, int]] = {}
    ends: set[tuple[Path, int]] = set()
    found = 0
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        code = code_lines(text)
        lines = [line.strip() for n, line in enumerate(text.splitlines(), 1) if n in code]
        lines = [line for line in lines if not line.startswith(("import ", "from ")) and len(line) > 3]
        for start in range(len(lines) - least + 1):
            window = tuple(lines[start : start + least])
            other = seen.setdefault(window, (path, start))
            if other != (path, start):
                found += (path, start - 1) not in ends
                ends.add((path, start))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revisions", nargs="*")
    parser.add_argument("--rooms", action="store_true")
    arguments = parser.parse_args()
    revisions: list[str | None] = [*arguments.revisions, None]
    with tempfile.TemporaryDirectory() as scratch:
        folders = [source(revision, Path(scratch)) for revision in revisions]
        counts: list[dict[str, int]] = [
            rooms(folder)
            if arguments.rooms
            else {**count(folder), "repeated passages (6 lines)": repeated(folder)}
            for folder in folders
        ]
    print("| | " + " | ".join(revision or "now" for revision in revisions) + " |")
    print("|---" * (len(revisions) + 1) + "|")
    for name in dict.fromkeys(name for each in counts for name in each):
        print(f"| {name} | " + " | ".join(f"{each.get(name, 0):,}" for each in counts) + " |")
