"""Every recipe runs from its training to its pictures, at a size that shows nothing but that."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from unweave.metrics.sampled_mig import sampled_mig
from unweave.recipes.catalogue import PAPERS, RECIPES
from unweave.recipes.claims import VERDICTS, worst
from unweave.recipes.recipe import SCALES
from unweave.recipes.reproduce import conclude, plan, summary, train
from unweave.runs.executors import Inline

pytestmark = pytest.mark.usefixtures("few_images")


def numbered(paper: str, kind: str, *numbers: int) -> list[str]:
    return [f"{paper}-{kind}{n}" for n in numbers]


# Section 8 of the specification, written out.
WANTED = [
    *numbered("sbd", "fig", *range(2, 21)),
    *numbered("sbd", "table", *range(1, 11)),
    *numbered("fac", "fig", *range(3, 41)),
    *numbered("fac", "table", *range(1, 7)),
    *["fac-appe", "fac-sec6", "fac-appa"],
    *numbered("rec", "fig", *range(1, 12)),
    *["rec-tablea1", "rec-figa1", "rec-tablea2", "rec-tablea3", "rec-tablea4"],
    *["dec-fig2-top", "dec-fig2-bottom", *numbered("dec", "fig", 1, 3, 4, 5, 6), "dec-table1"],
    *["dec-theorem1", "dec-corollary1", "dec-theorem2", "dec-appc"],
    *numbered("isa", "fig", 1, 2, 3, 4, 6, 7, *range(8, 17)),
    *["isa-fig5a", "isa-fig5b", "isa-fig5c", "isa-b3", "isa-b4", "isa-b5", "isa-b8", "isa-fig3-trained"],
    *["isa-table1", "isa-table2", "isa-a4"],
]


def test_no_published_result_is_missing() -> None:
    assert sorted(set(WANTED) - set(RECIPES)) == []
    assert {recipe.paper for recipe in RECIPES.values()} == set(PAPERS)


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_scale_is_planned_and_the_paper_is_the_largest(name: str) -> None:
    recipe = RECIPES[name]
    studies = [recipe.study(scale) for scale in SCALES]
    if recipe.runs is None:
        assert studies == [None, None, None]
        return
    work = [sum(p.config.steps for p in study.runs) for study in studies if study is not None]
    assert work == sorted(work)
    assert work[0] < 400


@pytest.fixture(scope="module", autouse=True)
def few_draws() -> Iterator[None]:
    """MIG from samples of q(z) takes 10,000 draws for each value of each factor, most of the time of these tests."""
    defaults = sampled_mig.__kwdefaults__
    assert defaults is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(defaults, "samples", 200)
        yield


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all of them: what several figures show is trained once."""
    return tmp_path_factory.mktemp("reproduced")


def one_of_a_family() -> list[Any]:
    """Every id in the order of the papers (neighbours share runs); of those that one function concludes, such as the
    same figure on other data, the first alone is not slow."""
    seen: set[Any] = set()
    made = []
    for name, recipe in RECIPES.items():
        code = getattr(recipe.conclude, "__func__", recipe.conclude).__code__
        made.append(pytest.param(name, marks=[pytest.mark.slow] if code in seen else []))
        seen.add(code)
    return made


@pytest.mark.parametrize("name", one_of_a_family())
def test_every_recipe_runs(name: str, reproduced: Path) -> None:
    recipe = RECIPES[name]
    sweep = plan([recipe], "smoke", reproduced)[name]
    train([sweep], Inline())
    folder, result, cost = conclude(recipe, "smoke", reproduced, sweep)
    assert result.id == name
    assert json.loads((folder / "result.json").read_text())["verdict"] == result.verdict
    assert len(result.rows) >= 2
    assert len({len(row) for row in result.rows}) == 1, "rows of different lengths"
    assert result.findings, "it claims nothing"
    for found in result.findings:
        assert found["value"] is not None and math.isfinite(found["value"]), found
        assert found["p"] is None or 0 <= found["p"] <= 1, found
        assert found["verdict"] in VERDICTS
    assert result.verdict == worst([found["verdict"] for found in result.findings])
    assert len(summary(result)) == 1 + len(result.findings)
    assert result.pictures, "it draws nothing"
    for picture in result.pictures:
        with Image.open(folder / f"{picture}.png") as image:
            assert len(image.convert("L").getcolors(256) or ()) > 8, f"{picture} is empty"
    assert cost.runs == (0 if sweep is None else len(sweep.members))
