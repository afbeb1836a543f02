"""Imports run one way: a module may import only from rooms before its own."""

import ast
from pathlib import Path

import pytest

from unweave.recipes.catalogue import PAPERS

SOURCE = Path(__file__).parent.parent / "src" / "unweave"

# room -> the rooms it may import from
GROUND = {"errors", "file_locks", "references", "slots", "atomic", "artefacts", "memory"}
ALLOWED = {
    "errors": set(),
    "file_locks": set(),
    "atomic": {"errors", "file_locks"},
    "artefacts": {"errors", "atomic"},
    "memory": {"errors"},
    "image_input": {"errors"},
    "console": {"errors"},
    "papers": set(),
    "references": {"errors"},
    "slots": {"errors", "memory", "references"},
    "functional": GROUND,
    "networks": GROUND,
    "metrics": GROUND,
    "data": GROUND,
    "plots": GROUND | {"metrics"},
    "posteriors": GROUND | {"functional"},
    "priors": GROUND | {"functional"},
    "likelihoods": GROUND | {"functional"},
    "pairing": GROUND | {"functional", "posteriors"},
    "vae": GROUND
    | {"functional", "networks", "posteriors", "priors", "likelihoods", "pairing", "image_input"},
}
ALLOWED["objectives"] = ALLOWED["vae"] | {"vae"}
ALLOWED["standardise"] = ALLOWED["vae"] | {"vae"}
ALLOWED["optimizers"] = GROUND
ALLOWED["schedules"] = ALLOWED["objectives"] | {"objectives"}
ALLOWED["standalone"] = ALLOWED["objectives"] | {"objectives"}
ALLOWED["gan"] = ALLOWED["standalone"] | {"standalone"}
ALLOWED["theory"] = ALLOWED["objectives"] | {"objectives", "data", "plots", "metrics"}
ALLOWED["training"] = ALLOWED["gan"] | {"console", "gan", "data", "optimizers", "schedules"}
ALLOWED["model_metrics"] = ALLOWED["gan"] | {"gan", "data", "metrics"}
ALLOWED["runs"] = ALLOWED["training"] | {"training", "metrics", "model_metrics", "standardise"}
ALLOWED["estimator"] = ALLOWED["runs"] | {"runs"}
ALLOWED["models"] = ALLOWED["runs"] | {"runs", "plots"}
ALLOWED["tracking"] = ALLOWED["runs"] | {"runs", "plots"}
ALLOWED["recipes"] = ALLOWED["runs"] | {"runs", "plots", "theory"}
ALLOWED["reports"] = ALLOWED["recipes"] | {"recipes", "plots", "papers", "models"}
ALLOWED["explorer"] = ALLOWED["reports"] | {"reports"}
ALLOWED["cli"] = ALLOWED["explorer"] | {"explorer", "theory", "papers", "tracking"}
ALLOWED["__main__"] = {"cli"}


def rooms_imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = (
                [f"unweave.{alias.name}" for alias in node.names]
                if node.module == "unweave"
                else [node.module or ""]
            )
        found |= {name.split(".")[1] for name in names if name.startswith("unweave.")}
    return found


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_run_one_way(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert room in ALLOWED, f"{room} is a new room: say here what it may import"
    wrong = rooms_imported(path) - ALLOWED[room] - {room}
    assert not wrong, f"{path.relative_to(SOURCE)} imports {sorted(wrong)}"


def test_the_check_sees_a_wrong_import(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "def f():\n    from unweave.training.loop import train\n    import unweave.vae\n    return train\n"
    )
    assert rooms_imported(wrong) == {"training", "vae"}


def test_every_public_object_has_a_docstring() -> None:
    missing = []
    for path in [*modules(), SOURCE / "__init__.py"]:
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            public = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
            name = getattr(node, "name", path.stem)
            if public and not name.startswith("_") and ast.get_docstring(node) is None:
                nested = isinstance(node, ast.FunctionDef) and not _reachable(tree, node)
                if not nested:
                    missing.append(f"{path.relative_to(SOURCE)}:{name}")
    assert not missing, missing


def test_every_public_object_has_an_example_that_runs() -> None:
    """Interfaces (protocols, abstract classes) and commands have nothing of their own to run.

    The recipes of a paper are the inside of a command, ``unweave reproduce``, which is their example.
    """
    missing = []
    for path in modules():
        room, *inside = path.relative_to(SOURCE).with_suffix("").parts
        if room == "recipes" and inside[0] in PAPERS:
            continue
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            bases = {ast.unparse(base) for base in getattr(node, "bases", [])}
            if path.parent.name == "cli" or bases & {"Protocol", "ABC"}:
                continue
            if ">>>" not in (ast.get_docstring(node) or ""):
                missing.append(f"{path.relative_to(SOURCE)}:{node.name}")
    assert not missing, missing


def _reachable(tree: ast.Module, function: ast.FunctionDef) -> bool:
    """Whether a function stands in a module or in a public class, not inside another function."""
    owners = [
        tree,
        *(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and not n.name.startswith("_")),
    ]
    return any(function in owner.body for owner in owners)
