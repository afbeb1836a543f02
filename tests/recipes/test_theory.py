"""Studies from the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from unweave.cli import cli
from unweave.errors import UnweaveError
from unweave.recipes.theory import STUDIES, named, read_parameters


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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["annealing", "beta=2", "betas=[1,2]", "nu=3", "nodes=201"], "equation, beta = 2"),
        (["rotation", "beta=4", "latents=4", "count=3", "images=2", "samples=4", "seed=1"], "StandardNormal"),
        (["entropy", "n=60", "latents=2", "deviation=0.5", "batch_sizes=[5,60]", "batches=3"], "60"),
        (
            ["factor-analysis", "n=50", "angle=30", "alpha=0.4", "rho=1", "noise=0.2", "betas=[1,3]"],
            "30 degrees",
        ),
        (
            ["ica", "beta=3", "n=20", "noise=0.2", "nu=4", "steps=1", "more_steps=2"],
            "angle of the two longest",
        ),
        (["pinwheel", "alphas=[0,2]", "betas=[0.2]", "seeds=1", "steps=2", "learning_rate=0.01"], "beta 0.2"),
        (["densities", "nus=[2]", "exponents=[1.5]", "norms=[1,3]", "gamma=0.5", "angles=10"], "p = 1.5"),
    ],
)
def test_every_parameter_is_set_by_a_word(words: list[str], told: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["theory", *words, "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0 and told in result.output


def test_a_parameter_changes_what_is_computed() -> None:
    """The first equation at another beta has another left side; B.3 by another angle another free energy."""
    left = [named("annealing")(beta=beta, betas=(1.0,)).rows[1][1] for beta in (1.0, 4.0)]
    assert left[0] != left[1]
    quarter, turned = (named("factor-analysis")(angle=angle).rows[2][2] for angle in (90.0, 45.0))
    assert quarter == "-17.82" and turned == "-57.16"


def test_an_unknown_parameter_is_told() -> None:
    with pytest.raises(UnweaveError, match="did you mean betas"):
        read_parameters(named("pinwheel"), ["beta=1"])
    with pytest.raises(UnweaveError, match="seeds must be a whole number"):
        read_parameters(named("pinwheel"), ["seeds=many"])


def test_without_a_name_they_are_listed() -> None:
    output = CliRunner().invoke(cli, ["theory"], catch_exceptions=False).output
    assert all(name in output for name in STUDIES)
    assert "batches=100" in output and "betas=[1,2,5,10]" in output


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
