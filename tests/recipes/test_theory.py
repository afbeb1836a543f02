"""Studies from the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from unweave.cli import cli
from unweave.errors import UnweaveError
from unweave.recipes.theory import STUDIES, named


@pytest.mark.parametrize(
    ("name", "pictures", "told"),
    [
        ("factor-analysis", {"factor-analysis", "factor-analysis-beta", "over-complete"}, "-57.16"),
        ("annealing", {"theorem-1"}, "theorem 1, StudentT"),
        ("densities", {"student-t", "mixtures", "iso-surfaces", "orientation", "tree"}, "45 degrees"),
    ],
)
def test_a_study_prints_and_draws(name: str, pictures: set[str], told: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["theory", name, "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0 and told in result.output
    assert {path.stem for path in tmp_path.glob("*.png")} == pictures


def test_without_a_name_they_are_listed() -> None:
    output = CliRunner().invoke(cli, ["theory"], catch_exceptions=False).output
    assert all(name in output for name in STUDIES)


def test_an_unknown_study_is_told() -> None:
    with pytest.raises(UnweaveError, match="did you mean rotation"):
        named("rotations")


def test_a_prior_is_shown(tmp_path: Path) -> None:
    words = [
        "prior",
        "show",
        "lp-nested",
        "prior.tree=[1,[1,1]]",
        "prior.p=[2,1]",
        "latents=3",
        "--out",
        str(tmp_path),
    ]
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert "z3" in result.output
    assert {path.name for path in tmp_path.glob("*.png")} == {"LpNested-density.png", "LpNested-tree.png"}
    listed = CliRunner().invoke(cli, ["prior", "list"], catch_exceptions=False).output
    assert "ISA" in listed and "StudentT" in listed
    with pytest.raises(UnweaveError, match="at least 2 latents"):
        CliRunner().invoke(cli, ["prior", "show", "ISA", "latents=1"], catch_exceptions=False)
