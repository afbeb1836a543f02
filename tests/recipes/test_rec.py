"""Recipes of REC: the paper's protocol, its printed numbers, and what only its recipes compute."""

import numpy as np
import pytest

from unweave.data import XYSquares
from unweave.metrics import distance_matrices, overlap
from unweave.metrics.distances import mse
from unweave.recipes.rec import datasets, figure_7, figure_8, models
from unweave.recipes.rec.published_tables import TABLE_A1, TABLE_A2
from unweave.recipes.recipe import RECIPES, Job
from unweave.runs.config import Config

IDS = {f"rec-fig{n}" for n in (2, 3, 4, 6, 7, 8, 9, 10, 11)} | {"rec-tablea1", "rec-figa1", "rec-tablea2"}


def test_every_result_of_the_paper_has_a_recipe() -> None:
    built = {"rec-fig1", "rec-fig5", "rec-tablea3", "rec-tablea4"}
    assert {name for name in RECIPES if name.startswith("rec-")} == IDS | built


@pytest.mark.parametrize(
    ("name", "runs", "steps"),
    [("rec-fig6", 160, 115_200), ("rec-fig9", 160, 57_600), ("rec-fig11", 40, 57_600)],
)
def test_grids_have_the_size_and_steps_of_table_a4(name: str, runs: int, steps: int) -> None:
    study = RECIPES[name].study("paper")
    assert study is not None and len(study.runs) == runs
    for planned in study.runs:
        config = planned.config
        assert (config.steps, config.batch_size, config.learning_rate) == (steps, 256, 1e-3)
        assert config.standardise and config.averaged and config.likelihood.name == "MSE"
        assert config.encoder.options["channels"] == (32, 32, 64, 64)
        assert config.encoder.options["hidden"] == (256,)
        assert config.decoder.options["channels"] == (64, 64, 32, 32)


def grid(name: str, *keys: str) -> dict[str, set[object]]:
    study = RECIPES[name].study("paper")
    assert study is not None
    found: dict[str, set[object]] = {key: set() for key in keys}
    for planned in study.runs:
        for key in keys:
            slot, _, option = key.partition(".")
            value = getattr(planned.config, slot)
            found[key].add(value.options[option] if option else getattr(value, "name", value))
    return found


def test_grid_values_are_those_of_table_a4() -> None:
    betas = {0.000316, 0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1.0}
    assert grid("rec-fig6", "objective.beta", "latents", "pairing") == {
        "objective.beta": betas,
        "latents": {9, 25},
        "pairing": {"none", "AdaGVAE"},
    }
    assert grid("rec-fig9", "objective.beta", "latents", "pairing", "data.spacing", "data.size", "seed") == {
        "objective.beta": {0.001, 0.00316},
        "latents": {9},
        "pairing": {"none", "AdaGVAE"},
        "data.spacing": set(range(1, 9)),
        "data.size": {64},
        "seed": set(range(5)),
    }
    assert grid(
        "rec-fig11", "objective.beta", "latents", "likelihood.blur", "likelihood.blur_weight", "data.spacing"
    ) == {
        "objective.beta": {0.0001, 0.0316},
        "latents": {25},
        "likelihood.blur": {"none", "box"},
        "likelihood.blur_weight": {None, 3969.0},
        "data.spacing": {8},
    }
    assert models.blurred(64)["blur_radius"] == 31


def test_figures_7_and_10_add_no_runs_to_figure_11() -> None:
    def identities(name: str) -> set[str]:
        study = RECIPES[name].study("small")
        assert study is not None
        return {planned.config.identity for planned in study.runs}

    assert identities("rec-fig7") == identities("rec-fig10") < identities("rec-fig11")


def test_smoke_is_small() -> None:
    studies = [RECIPES[name].study("smoke") for name in IDS]
    runs = {planned.config.identity: planned.config for study in studies if study for planned in study.runs}
    assert len(runs) <= 12 and all(config.steps == 2 for config in runs.values())


def test_another_decoder_is_one_option_away() -> None:
    study = RECIPES["rec-fig11"].study("small", {"decoder": {"name": "spatial-broadcast"}})
    assert study is not None and {run.config.decoder.name for run in study.runs} == {"SpatialBroadcast"}


def test_blur_has_the_same_share_of_the_loss_at_every_size() -> None:
    """Displacing a square by the same share of the image costs the same, blurred or not, to a tenth."""

    def ratio(size: int) -> float:
        options = models.blurred(size)
        images = XYSquares(size=size).images([[0] * 6, [1, 0, 0, 0, 0, 0]]) / 255
        a, b = images[:1], images[1:]
        both = overlap(mse, radius=options["blur_radius"], weight=options["blur_weight"])
        return float(both(a, b)[0] / mse(a, b)[0])

    assert ratio(64) == pytest.approx(ratio(32), rel=0.1)
    assert ratio(64) == pytest.approx(ratio(16), rel=0.1)


def test_figure_8_is_the_closed_form() -> None:
    """Two squares k steps of s pixels apart differ in 2 * 8 * min(8, s k) of 3 * 4096 values."""
    for spacing in (8, 5, 1):
        found = distance_matrices(XYSquares(spacing=spacing), "x_r", np.random.default_rng(0), traversals=1)
        apart = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
        exact = 16 * np.minimum(8, spacing * apart) / (3 * 4096)
        np.testing.assert_allclose(found.levels["observations"], exact, atol=1e-8)
    conclusion = figure_8.figure_8(Job(RECIPES["rec-fig8"], "smoke"))
    assert [row[1] for row in conclusion.rows[1:]] == ["1", "2", "2", "2", "2", "3", "4", "7"]
    assert conclusion.findings[0].value < -0.9 and conclusion.findings[1].verdict == "by construction"


def test_printed_numbers_of_xysquares_are_their_closed_forms() -> None:
    table = TABLE_A1["XYSquares"]
    assert table["x_r"][0] == round(2 * 64 / (3 * 4096), 4)
    moved = 63 / 64 * 8**6 / (8**6 - 1)  # chance that a square is elsewhere, given that the images differ
    assert table["random"][0] == round(3 * moved * 2 * 64 / (3 * 4096), 4)
    assert TABLE_A2["XYSquares"][1][0] == pytest.approx(np.sqrt(1 / 64 * 63 / 64 * 4096 / 4095), abs=1e-14)


def test_printed_tables_are_whole() -> None:
    lines = sum(len(factors) for name, factors in TABLE_A1.items() if name != "XYSquares") + 3
    assert lines == 26
    assert all(next(iter(f)) == "random" for f in TABLE_A1.values())
    below = [f[name][0] < f["random"][0] for f in TABLE_A1.values() for name in f if name != "random"]
    assert all(below)
    assert sum(len(means) + len(deviations) for means, deviations in TABLE_A2.values()) == 22


def test_matrices_are_compared_off_the_diagonal() -> None:
    a = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    assert datasets.matrix_correlation(a, -a) == pytest.approx(-1)
    assert datasets.matrix_correlation(a, np.ones((5, 5)) - np.eye(5)) == 0.0


def test_best_beta_is_that_of_the_highest_mean() -> None:
    class Scores:
        def scores(self, variant: str, name: str) -> np.ndarray:
            return np.array({"β-VAE, MSE, β 0.1": [0.1, 0.9], "β-VAE, MSE, β 0.2": [0.6, 0.6]}[variant])

    cells = [models.Cell("β-VAE", "MSE", beta, {}) for beta in (0.1, 0.2)]
    assert models.scores_of_best_beta(Scores(), cells, "mig").tolist() == [0.6, 0.6]  # type: ignore[arg-type]


def test_share_of_one_square() -> None:
    def painted(weights: list[list[float]]) -> float:
        return figure_7.one_square(
            lambda z: np.repeat((z @ np.array(weights))[:, :, None, None], 4, axis=2), np.zeros((2, 3))
        )

    assert painted([[1, 0, 0], [0, 1, 0], [0, 0, 1]]) == pytest.approx(1.0)
    assert painted([[1, 1, 1]] * 3) == pytest.approx(1 / 3)
    # A latent that does nothing does not count; the others' shares are 9/10 and 1/2, their effects 10 and 2.
    assert painted([[3, 1, 0], [1, 0, 1], [0, 0, 0]]) == pytest.approx((9 + 1) / 12)


def test_distances_are_those_of_the_loss_trained_with() -> None:
    images = XYSquares(size=16).images([[0] * 6, [3, 0, 0, 0, 0, 0]]) / 255
    a, b = images[:1], images[1:]
    for likelihood, exact in (
        ("MSE", mse),
        (models.blurred(16), overlap(mse, radius=7, weight=models.blurred(16)["blur_weight"])),
    ):
        config = Config.of({"data": "XYSquares", "likelihood": likelihood})
        assert models.loss_of(config.likelihood)(a, b)[0] == pytest.approx(exact(a, b)[0])
