"""What `make matrix` decides, and what the package says of itself."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "packaging"))

import matrix  # noqa: E402


def test_torch_is_installed_unasked_only_where_its_wheel_lies_here(tmp_path: Path) -> None:
    """From a registry it would be the CUDA build, of several GB."""
    assert not matrix.torch_is_here("3.12", [str(tmp_path), str(tmp_path / "missing")])
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl").touch()
    assert matrix.torch_is_here("3.11", [str(tmp_path)])
    assert not matrix.torch_is_here("3.12", [str(tmp_path)])
    assert not matrix.torch_is_here("3.1", [str(tmp_path)])
    assert not matrix.torch_is_here("3.11", [])


def test_kinds_of_files() -> None:
    assert matrix.kind("unweave/data/circles.py") == "unweave/data/*.py"
    assert matrix.kind("unweave-0.1.0.dist-info/RECORD") == "metadata"


def test_the_classifiers_name_pythons_of_the_matrix() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    assert set(named) <= set(matrix.PYTHONS)
    assert project["requires-python"] == f">={matrix.PYTHONS[0]}"
