"""Recipes from outside of unweave: found by reference, executed like the others."""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from unweave.errors import UnweaveError
from unweave.recipes.catalogue import RECIPES, find
from unweave.recipes.published_results import published_result
from unweave.recipes.reproduce import conclude, expected_cost, plan, train
from unweave.recipes.result_pages import listing
from unweave.runs.executors import Inline

SOURCE = """
from unweave.recipes.claims import higher
from unweave.recipes.recipe import Conclusion, Recipe, recipe


def plan(scale):
    base = {
        "data": {"name": "Circles", "size": 32},
        "latents": 2,
        "batch_size": 4,
        "steps": {"smoke": 2, "small": 3, "paper": 4}[scale],
        "encoder": {"channels": [4, 4], "hidden": [8]},
        "decoder": {"channels": [4, 4], "hidden": [8]},
    }
    return {"base": base, "grid": {"objective.beta": [1, 4]}, "seeds": 2}


@recipe("mine-fig1", "mine-fig2", title="KL", claim="A larger beta costs KL.", published="none", runs=plan)
def kl(job):
    one, four = (job.scores(variant, "kl") for variant in job.variants)
    return Conclusion([["beta", "KL"], ["1", f"{one.mean():.3f}"]], [higher("KL", one, four)])


as_object = Recipe("mine-fig3", "KL", "A larger beta costs KL.", "none", plan, kl)
taken = Recipe("sbd-fig4", "KL", "A larger beta costs KL.", "none", plan, kl)
number = 3
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A file with recipes; what it registers is removed again."""
    before = dict(RECIPES)
    path = tmp_path / "my_recipes.py"
    path.write_text(textwrap.dedent(SOURCE))
    yield path
    RECIPES.clear()
    RECIPES.update(before)


@pytest.mark.parametrize(("name", "ids"), [("kl", ["mine-fig1", "mine-fig2"]), ("as_object", ["mine-fig3"])])
def test_a_recipe_in_a_file_runs(place: Path, name: str, ids: list[str]) -> None:
    reference = f"{place}:{name}"
    recipes = find([reference])
    assert [recipe.id for recipe in recipes] == ids
    root = place.parent / "reproduced"
    sweeps = plan(recipes, "smoke", root)
    train(sweeps.values(), Inline())
    for recipe in recipes:
        folder, result, cost = conclude(recipe, "smoke", root, sweeps[recipe.id])
        assert folder == root / "smoke" / recipe.id
        assert cost.runs == 4
        assert json.loads((folder / "result.json").read_text())["command"] == result.command
        assert result.command == f"unweave reproduce {reference} --scale smoke"
        assert published_result(recipe.id).costs == {}
    status = [line for line in listing(recipes, root) if line.strip().startswith("status")]
    assert len(status) == len(ids)
    assert all("(yours)" in line for line in status)


def test_a_reference_can_be_resolved_again(place: Path) -> None:
    words = [f"{place}:kl", "isa-b3"]
    assert [recipe.id for recipe in find(words)] == [recipe.id for recipe in find(words)]


def test_an_id_of_another_recipe_is_refused(place: Path) -> None:
    with pytest.raises(UnweaveError, match=r"sbd-fig4.*already taken"):
        find([f"{place}:taken"])


@pytest.mark.parametrize("name", ["number", "plan"])
def test_what_is_no_recipe_is_refused_in_one_sentence(place: Path, name: str) -> None:
    with pytest.raises(UnweaveError, match="neither a Recipe nor a function decorated"):
        find([f"{place}:{name}"])
    with pytest.raises(UnweaveError):
        find([f"{place}:absent"])


def test_an_estimate_of_the_cost_creates_nothing(place: Path) -> None:
    recipe = find([f"{place}:as_object"])[0]
    root = place.parent / "reproduced"
    cost, source = expected_cost(recipe, "small", root)
    assert (cost.runs, source) == (4, "a few timed steps")
    assert not root.exists()
