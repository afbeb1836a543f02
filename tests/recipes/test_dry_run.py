"""A dry run says what reproducing would take, and neither writes, reads, draws nor times anything."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unweave.cli import cli
from unweave.data.catalogue import MADE
from unweave.data.files import OriginalFile
from unweave.data.registry import DATASETS
from unweave.recipes.catalogue import RECIPES
from unweave.recipes.dry_run import counted_seconds, dry_run, operations
from unweave.recipes.published_results import published_result
from unweave.recipes.recipe import SCALES, Scale, StandIn, data_or_stand_in
from unweave.recipes.reproduce import conclude, deviates
from unweave.runs import Config, sweep


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("a dry run must not do this")


@pytest.fixture
def nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder that is also the cache, and data sets that give no image."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNWEAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sweep, "_pace", refuse)
    for part in DATASETS.parts.values():
        for method in ("images", "sample", "at", "_take"):
            if method in vars(part):
                monkeypatch.setattr(part, method, refuse)
        if part.originals and part.__name__ not in MADE:
            monkeypatch.setattr(part, "__init__", refuse)
    return tmp_path


@pytest.mark.parametrize("scale", SCALES)
def test_every_id_says_runs_data_stand_ins_and_cost(nothing_is_done: Path, scale: Scale) -> None:
    result = CliRunner().invoke(cli, ["reproduce", "all", "--scale", scale, "--dry-run"])
    assert result.exit_code == 0, result.output
    told = result.output.split("\n")
    for name, recipe in RECIPES.items():
        start = next(k for k, line in enumerate(told) if line.startswith(f"{name}: "))
        study = recipe.study(scale)
        expected = "nothing to train" if study is None else f"{name}: {len(study.runs)} runs"
        assert expected in told[start]
        own = [line.split()[0] for line in told[start + 1 : start + 20] if line.startswith("    ")]
        assert own[0] == "data"
        assert {"stand-in", "cost"} <= set(own)
    assert list(nothing_is_done.iterdir()) == []


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_what_no_paper_has_is_named_as_a_stand_in(scale: Scale) -> None:
    for recipe in RECIPES.values():
        study = recipe.study(scale)
        used = {run.config.data.name for run in study.runs} if study is not None else set()
        used |= {str(each["name"]) for each in recipe.data()} if recipe.data is not None else set()
        named = {stand_in["name"] for stand_in in recipe.stand_ins(scale)}
        assert used & {"Objects3D", "Glyphs", "Shapes3D"} <= named, recipe.id
        assert named <= used, recipe.id


def test_the_user_s_own_data_stand_in_for_nothing() -> None:
    assert RECIPES["rec-fig4"].stand_ins("paper", {"data": {"name": "DSprites"}}) == []
    assert [s.label for s in RECIPES["rec-fig4"].stand_ins("paper")] == ["Objects3D for Cars3D"]


def test_rows_name_what_stands_for_what() -> None:
    study = RECIPES["rec-fig6"].study("paper")
    assert study is not None
    for variant, runs in study.variants.items():
        if runs[0].config.data.name == "Objects3D":
            assert "Objects3D for" in variant
    assert any("Objects3D for Cars3D" in variant for variant in study.variants)


def test_counted_costs_are_near_the_timed_ones() -> None:
    ratios = []
    for recipe in RECIPES.values():
        study, recorded = recipe.study("paper"), published_result(recipe.id).costs.get("paper")
        if study is not None and recorded is not None and recorded.runs == len(study.runs):
            ratios.append(counted_seconds(study) / recorded.seconds)
    assert len(ratios) > 40
    assert min(ratios) > 0.4
    assert max(ratios) < 2.5


def test_more_images_cost_more(tmp_path: Path) -> None:
    recipe = RECIPES["sbd-fig4"]
    one, two = (dry_run(recipe, "paper", tmp_path, {"batch_size": size}).cost.seconds for size in (16, 32))
    assert two == pytest.approx(2 * one)


def test_the_original_file_is_used_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(data_or_stand_in("Shapes3D")[0], StandIn)
    monkeypatch.setattr(OriginalFile, "find", lambda self: Path(self.name))
    assert data_or_stand_in("Shapes3D") == ({"name": "Shapes3D", "source": "file"}, "")
    assert data_or_stand_in("Cars3D", "Objects3D") == ({"name": "Cars3D"}, "")
    for name in ("fac-fig10", "sbd-table9", "sbd-fig10", "rec-fig6"):
        study = RECIPES[name].study("paper")
        assert study is not None
        sources = {
            run.config.data.options.get("source") for run in study.runs if run.config.data.name == "Shapes3D"
        }
        assert sources == {"file"}
        assert RECIPES[name].stand_ins("paper") == []


def test_reading_the_original_file_is_no_deviation(tmp_path: Path) -> None:
    recipe = RECIPES["isa-b3"]
    job_notes = conclude(recipe, "smoke", tmp_path, None)[1].notes
    assert not any("Not the paper's protocol" in note for note in job_notes)
    assert not deviates({"data": {"source": "file"}})
    assert deviates({"data": {"source": "file", "name": "DSprites"}})


SLOW_TO_IMPORT = (
    *("matplotlib", "PIL", "pandas", "sklearn", "jinja2", "sympy", "optuna", "ray", "lightgbm", "h5py"),
    *("scipy.special", "scipy.linalg", "scipy.stats", "scipy.spatial", "scipy.ndimage", "scipy.optimize"),
    *("torch._dynamo", "torch._inductor", "torch.onnx", "omegaconf", "duckdb", "safetensors"),
)
"""What a dry run has no use for: together these took longer to import than everything that it needs."""


def test_a_dry_run_imports_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom unweave.cli import main\n"
        "main(['reproduce', 'all', '--scale', 'paper', '--dry-run'])\n"
        f"print('imported:', *[name for name in {SLOW_TO_IMPORT!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("    cost ") == len(RECIPES)
    assert done.stdout.splitlines()[-1] == "imported:"
    assert list(tmp_path.iterdir()) == []


def test_operations_are_those_of_the_layers() -> None:
    """Two for each weight, forwards and twice backwards: layers of 4,096, 7, 2 x 3 and of 3, 5, 4,096 units."""
    words = [
        "data=dsprites",
        "latents=3",
        "encoder=MLP",
        "encoder.hidden=[7]",
        "decoder=MLP",
        "decoder.hidden=[5]",
    ]
    weights = 4096 * 7 + 7 * 6 + 3 * 5 + 5 * 4096
    assert operations(Config.read(words=words)) == 6 * weights
