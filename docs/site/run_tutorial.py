"""Execute the cells of a tutorial one after the other and write what each prints and shows, as JSON.

python run_tutorial.py TUTORIAL.py OUTPUTS.json
"""

import ast
import base64
import contextlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tutorials import cells


def run(code: str, names: dict[str, Any]) -> dict[str, Any]:
    """The text that a cell prints, followed by its last expression's value, and the pictures that it made."""
    start = time.monotonic()
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None
    pictures = _figures()
    if hasattr(value, "_repr_png_"):
        pictures.append(base64.b64encode(value._repr_png_()).decode())
    elif value is not None and not pictures:
        printed.write(f"{value!r}\n")
    return {"text": printed.getvalue(), "pictures": pictures, "seconds": time.monotonic() - start}


def _figures() -> list[str]:
    if "matplotlib.pyplot" not in sys.modules:
        return []
    import matplotlib.pyplot as plt

    made = []
    for number in plt.get_fignums():
        buffer = io.BytesIO()
        plt.figure(number).savefig(buffer, format="png", dpi=100, bbox_inches="tight")
        made.append(base64.b64encode(buffer.getvalue()).decode())
    plt.close("all")
    return made


def main() -> None:
    """All cells, in one set of names."""
    source, target = map(Path, sys.argv[1:])
    names: dict[str, Any] = {"__name__": "__main__"}
    results = [run(cell.text, names) for cell in cells(source.read_text()) if cell.kind == "code"]
    target.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
