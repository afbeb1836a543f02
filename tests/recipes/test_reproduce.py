import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure
from PIL import Image

from unweave.cli import cli
from unweave.errors import UnweaveError
from unweave.recipes import published_results, result_pages
from unweave.recipes.catalogue import RECIPES, find
from unweave.recipes.claims import higher
from unweave.recipes.recipe import SCALES, Conclusion, Job, Recipe, Scale, recipe
from unweave.recipes.reproduce import conclude, expected_cost, left_to_do, plan, train
from unweave.runs.executors import Event, Inline

pytestmark = pytest.mark.usefixtures("few_images")


def tiny(scale: Scale) -> dict[str, Any]:
    base = {
        "data": {"name": "Circles", "size": 32},
        "latents": 2,
        "batch_size": 4,
        "steps": {"smoke": 2, "small": 3, "paper": 4}[scale],
        "encoder": {"channels": [4, 4], "hidden": [8]},
        "decoder": {"channels": [4, 4], "hidden": [8]},
    }
    return {"base": base, "grid": {"objective.beta": [1, 4]}, "seeds": 2}


@pytest.fixture
def example() -> Iterator[Recipe]:
    """A recipe that trains four tiny models."""

    @recipe("test-fig1", title="KL", claim="A larger beta costs KL.", published="none", runs=tiny)
    def figure(job: Job) -> Conclusion:
        one, four = (job.scores(variant, "kl") for variant in job.variants)
        drawn = Figure()
        drawn.add_subplot().plot(one, four)
        job.note("Tiny.")
        return Conclusion(
            [["beta", "KL"], ["1", f"{one.mean():.3f}"]], [higher("KL", one, four)], {"kl": drawn}
        )

    yield RECIPES["test-fig1"]
    del RECIPES["test-fig1"]


def run_it(
    example: Recipe, root: Path, changes: dict[str, Any] | None = None
) -> tuple[list[str], dict[str, Any]]:
    """The runs that were trained, and the result as it is on the disk."""
    trained: list[str] = []

    def tell(event: Event) -> None:
        if event.kind == "ended" and event.folder is not None:
            trained.append(event.folder.name)

    sweeps = plan([example], "smoke", root, changes)
    train(sweeps.values(), Inline(), tell)
    folder, _, _ = conclude(example, "smoke", root, sweeps[example.id], changes)
    return trained, json.loads((folder / "result.json").read_text())


def test_two_runs_of_a_recipe_are_identical_and_a_second_start_trains_nothing(
    example: Recipe, tmp_path: Path
) -> None:
    trained, first = run_it(example, tmp_path / "one")
    assert len(trained) == 4
    again, second = run_it(example, tmp_path / "one")
    elsewhere, third = run_it(example, tmp_path / "two")
    assert again == []
    assert len(elsewhere) == 4
    assert first == second == third
    assert first["notes"] == ["Tiny."]
    by_beta: dict[bool, list[float]] = {True: [], False: []}
    for folder in (tmp_path / "one" / "pool").iterdir():
        score = json.loads((folder / "scores.json").read_text())["kl"]["value"]
        by_beta["beta: 4.0" in (folder / "config.yaml").read_text()].append(score)
    expected = np.mean(by_beta[False]) - np.mean(by_beta[True])
    assert first["findings"][0]["value"] == pytest.approx(expected, rel=1e-9)


def test_runs_are_shared_between_recipes(example: Recipe, tmp_path: Path) -> None:
    other = Recipe("test-fig2", "", "", "", lambda scale: {**tiny(scale), "seeds": 1}, example.conclude)
    sweeps = plan([example, other], "smoke", tmp_path)
    assert sum(len(members) for members in left_to_do(sweeps.values()).values()) == 4


def test_recipes_that_share_runs_may_ask_for_different_scores(example: Recipe, tmp_path: Path) -> None:
    def asking(name: str, metric: str) -> Recipe:
        return Recipe(
            name, "", "", "", lambda scale: {**tiny(scale), "seeds": 1, "metrics": [metric]}, example.conclude
        )

    recipes = [asking("test-fig2", "sap"), asking("test-fig3", "modularity")]
    sweeps = plan(recipes, "smoke", tmp_path)
    train(sweeps.values(), Inline())
    assert (
        left_to_do(plan(recipes, "smoke", tmp_path).values()) == {}
    )  # the second has not made the first forget
    for file in (tmp_path / "pool").glob("*/scores.json"):
        assert {"sap", "modularity", "mig"} <= set(json.loads(file.read_text()))
    logs = [file.read_text() for file in (tmp_path / "pool").glob("*/log.txt")]
    assert len(logs) == 2
    assert all(text.count(" finished: ") == 2 for text in logs)  # once trained and scored, once scored


def test_a_change_is_in_every_run(example: Recipe, tmp_path: Path) -> None:
    _, result = run_it(example, tmp_path, {"prior": {"name": "student-t"}})
    configs = [p.read_text() for p in (tmp_path / "pool").glob("*/config.yaml")]
    assert len(configs) == 4
    assert all("StudentT" in text for text in configs)
    assert any("Not the paper's protocol" in note for note in result["notes"])
    assert result["command"] == "unweave reproduce test-fig1 prior=student-t --scale smoke"


def test_a_change_of_what_is_compared_is_made_in_the_last_variant(example: Recipe, tmp_path: Path) -> None:
    changes = {"objective": {"name": "BetaVAE", "beta": 2.0}}
    sweep = plan([example], "smoke", tmp_path, changes)[example.id]
    assert sweep is not None
    betas = [{m.run.config.objective.options["beta"] for m in group} for group in sweep.variants.values()]
    assert betas == [{1.0}, {2.0}]  # the baseline stays
    assert example.where_changed("smoke", changes) == f"in the place of {list(sweep.variants)[1]}"
    assert example.where_changed("smoke", {"latents": 5}) == "in every run"


def test_a_change_that_removes_the_comparison_is_refused(example: Recipe, tmp_path: Path) -> None:
    with pytest.raises(UnweaveError, match="two models that test-fig1 compares are the same"):
        plan([example], "smoke", tmp_path, {"objective": {"name": "BetaVAE", "beta": 1.0}})


def test_ids_may_be_spelt_anyhow_and_a_wrong_one_suggests_the_nearest() -> None:
    assert find(["SBD figure 4"])[0].id == "sbd-fig4"
    assert {r.paper for r in find(["isa", "dec"])} == {"isa", "dec"}
    with pytest.raises(UnweaveError, match="sbd-fig4"):
        find(["sdb-fig4"])


def test_the_expected_cost_counts_all_runs(example: Recipe, tmp_path: Path) -> None:
    cost, source = expected_cost(example, "paper", tmp_path)
    assert cost.runs == 4
    assert cost.seconds > 0
    assert source == "a few timed steps"


@pytest.mark.parametrize("scale", SCALES)
def test_costs_are_those_of_the_runs_that_are_planned(scale: Scale) -> None:
    """Of every id; but for results that were made from an earlier plan, whose pages say so."""
    older = []
    for name, each in RECIPES.items():
        known, study = published_results.published_result(name), each.study(scale)
        cost = known.costs.get(scale)
        planned = len(study.runs) if study is not None else 0
        if known.result is not None and known.result.scale == scale:
            assert cost is not None, name
            if cost.runs != planned:
                older.append((each, cost, planned))
        elif planned or cost is not None:
            assert cost is not None, f"{name} has no cost at the {scale} scale"
            assert (cost.runs, cost.seconds > 0) == (planned, planned > 0), name
    for each, cost, planned in older:
        page = result_pages.paper_page(each.paper, "", [each], Path("docs/results"))
        assert f"made from {cost.runs} runs, {planned} are planned now" in page, each.id


def test_published_results_come_back_with_small_pictures(example: Recipe, tmp_path: Path) -> None:
    sweeps = plan([example], "small", tmp_path)
    train(sweeps.values(), Inline())
    folder, result, cost = conclude(example, "small", tmp_path, sweeps[example.id])
    (tmp_path / "docs").mkdir()
    place = tmp_path / "published"
    published_results.publish(result, cost, folder, place, tmp_path / "docs" / "results")
    published_results.publish_cost(example.id, "paper", cost, place)
    published_results.publish_cost("test-fig2", "paper", cost, place)
    found = published_results.published_result("test-fig1", place)
    assert found.result == result
    assert set(found.costs) == {"small", "paper"}
    everything = published_results.published_results(place)
    assert list(everything) == ["test-fig1", "test-fig2"]
    assert everything["test-fig1"] == found
    assert everything["test-fig2"].result is None
    with (
        Image.open(folder / "kl.png") as full,
        Image.open(tmp_path / "docs/results/pictures/test-fig1-kl.png") as small,
    ):
        difference = np.abs(np.asarray(full.convert("RGB"), int) - np.asarray(small.convert("RGB"), int))
        assert difference.max() <= 16


def test_the_command_line_prints_ours_beside_the_published(example: Recipe, tmp_path: Path) -> None:
    said = CliRunner().invoke(
        cli, ["reproduce", "test-fig1", "--scale", "smoke", "--executor", "inline", "--out", str(tmp_path)]
    )
    assert said.exit_code == 0, said.output
    for word in ("A larger beta costs KL.", "published", "verdict", "kl.png", "Tiny."):
        assert word in said.output
    listed = CliRunner().invoke(cli, ["reproduce", "list", "test-fig1", "--out", str(tmp_path)])
    assert "smoke: does not show at this scale (yours)" in listed.output


def test_a_killed_recipe_loses_no_finished_run(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "unweave",
        "reproduce",
        "sbd-fig4",
        "--scale",
        "smoke",
        "--executor",
        "inline",
    ]
    with subprocess.Popen([*command, "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any(line.startswith("1 of ") for line in process.stderr)  # a run has ended
        process.kill()
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("pool/*/model.safetensors")}
    done = [path for path in finished if (path.parent / "scores.json").exists()]
    assert subprocess.run([*command, "--out", str(tmp_path), "--quiet"], check=False).returncode == 0
    assert done
    assert all(path.stat().st_mtime_ns == finished[path] for path in done)
    assert (tmp_path / "smoke/sbd-fig4/result.json").exists()
