"""FAC: the paper's protocol as it is printed, and what only its recipes compute."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

from unweave.data.dataset import Batch
from unweave.errors import UnweaveError
from unweave.metrics.beta_vae import mean_differences
from unweave.metrics.interventions import plan_pairs
from unweave.recipes.catalogue import RECIPES
from unweave.recipes.fac import digit_codes, figure_3, figure_7, figure_18, gans, models
from unweave.recipes.fac.digit_noise import noise_changes
from unweave.recipes.fac.methods import (
    AAE,
    BETA_VAE,
    FACTOR_VAE,
    INFO_WGAN_GP,
    TOWARDS_PRIOR,
    stages_of,
    variants_of,
    whole_variants,
)
from unweave.recipes.fac.metric_settings import adagrad_scores
from unweave.runs.run import Codes
from unweave.runs.study import Study

FIGURES = [*range(3, 19), 23, *range(24, 38), 40]


def paper(plan: Any) -> dict[str, Any]:
    study: dict[str, Any] = plan("paper")
    return study


def test_every_figure_of_the_specification_has_an_id() -> None:
    assert {f"fac-fig{k}" for k in FIGURES} | {"fac-appe"} <= set(RECIPES)


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
def test_every_plan_is_a_study(scale: Any) -> None:
    for name, recipe in RECIPES.items():
        if name.startswith("fac-") and recipe.runs is not None:
            assert len(Study.of(recipe.runs(scale), name=name).runs) >= 1


def test_2d_shapes_as_in_table_1_and_appendix_a() -> None:
    study = paper(models.shapes_2d)
    base = study["base"]
    assert (base["steps"], base["batch_size"], base["learning_rate"], base["latents"]) == (
        300_000,
        64,
        1e-4,
        10,
    )
    assert base["encoder"] == {"name": "Conv", "channels": [32, 32, 64, 64], "hidden": [128]}
    assert base["decoder"] == {"name": "Deconv", "channels": [64, 64, 32, 32], "hidden": [128]}
    assert study["seeds"] == 10
    assert {"beta=1", "beta=4", "beta=16", "beta=64", "gamma=35", "gamma=40", "gamma=80"} <= set(
        study["variants"]
    )
    assert study["variants"]["gamma=40"]["objective"] == {
        "name": "FactorVAE",
        "gamma": 40,
        "critic_layers": 6,
        "critic_width": 1000,
        "critic_learning_rate": 1e-4,
    }


def test_3d_shapes_and_the_others_as_in_tables_2_and_3() -> None:
    study = paper(models.shapes_3d)
    base = study["base"]
    assert (base["steps"], base["latents"], base["encoder"]["hidden"]) == (500_000, 6, [256])
    assert study["variants"]["gamma=36"]["objective"]["critic_learning_rate"] == 1e-5
    for name, rate in (("fac-fig12", 1e-4), ("fac-fig13", 1e-5), ("fac-fig15", 1e-5)):
        study = paper(RECIPES[name].runs)
        assert (study["base"]["steps"], study["base"]["latents"], study["seeds"]) == (1_000_000, 10, 5)
        assert study["variants"]["gamma=10"]["objective"]["critic_learning_rate"] == rate


def test_infogan_as_in_tables_4_to_6() -> None:
    study = paper(gans.gans_2d())
    weights = [each["model"]["lambda_mi"] for each in study["variants"].values() if "model" in each]
    assert sorted(set(weights)) == [k / 10 for k in range(11)]
    five = study["variants"]["lambda=0.2, noise 5, rates 0.001 and 0.0001"]["model"]
    assert (five["continuous"], five["categorical"], five["noise"], five["hidden"]) == (4, [3], 5, 128)
    assert five["channels"] == [32, 32, 64, 64]
    six = paper(gans.gans_2d(bigger=True))["variants"]["lambda=0.6, noise 128, rates 0.001 and 0.0001"][
        "model"
    ]
    assert (six["noise"], six["hidden"], six["channels"]) == (128, 1024, [64, 128, 256, 256, 256])
    four = paper(gans.gans_on_digits(gans.TEN_CATEGORIES))["variants"]["2 codes, 10 categories"]["model"]
    assert (four["noise"], four["hidden"], four["channels"]) == (62, 1024, [64, 128])


def test_earlier_stages_are_the_same_runs_with_fewer_steps() -> None:
    study = Study.of(models.stages_2d(models.factor_vaes_2d)("paper"), name="s")
    assert not [variant for variant in study.variants if variant.startswith("beta")]
    whole = study.variants["gamma=10"][0].config.to_mapping()
    for steps in models.earlier("paper"):
        part = study.variants[f"gamma=10 at {steps}"][0].config.to_mapping()
        assert part == {**whole, "steps": steps} and steps < whole["steps"]


class FakeJob:
    """The planned runs of a recipe as if they had finished, under names that say nothing."""

    def __init__(self, name: str, scale: Any) -> None:
        self.recipe = RECIPES[name]
        study = self.recipe.study(scale)
        assert study is not None
        self.planned = {f"model {k}": each for k, each in enumerate(study.variants.values())}
        self.variants = list(self.planned)

    def runs(self, variant: str) -> list[Any]:
        return [SimpleNamespace(config=planned.config) for planned in self.planned[variant]]


def test_methods_and_weights_are_read_from_runs_whatever_their_variants_are_called() -> None:
    job: Any = FakeJob("fac-fig5", "paper")
    assert [v.weight for v in variants_of(job, BETA_VAE)] == [1, 4, 16, 64]
    job = FakeJob("fac-fig23", "paper")
    for method in (FACTOR_VAE, TOWARDS_PRIOR, AAE):
        found = variants_of(job, method)
        assert [v.label for v in found] == [f"gamma={gamma}" for gamma in (10, 20, 35, 40, 80)]
        assert {job.runs(v.name)[0].config.objective.name for v in found} == {method.choice}
    job = FakeJob("fac-fig8", "paper")
    assert {v.weight for v in variants_of(job, INFO_WGAN_GP)} == {k / 10 for k in range(11)}
    assert len(variants_of(job, FACTOR_VAE)) == 1
    job = FakeJob("fac-appe", "paper")
    assert [v.weight for v in variants_of(job, FACTOR_VAE, "Shapes3D")] == [6, 7, 36]
    with pytest.raises(UnweaveError, match="fac-appe compares beta-VAE on MNIST"):
        variants_of(job, BETA_VAE, "MNIST")


def test_runs_that_stop_early_are_stages_of_the_whole_run() -> None:
    job: Any = FakeJob("fac-fig4", "paper")
    assert whole_variants(job) == [f"model {k}" for k in range(9)]
    stages = stages_of(job, "model 2")
    assert list(stages) == [*models.earlier("paper"), 300_000]
    for steps, variant in stages.items():
        config = job.runs(variant)[0].config
        assert (config.steps, config.objective.options["beta"]) == (steps, 16)


def test_adagrad_is_that_of_torch() -> None:
    rng = np.random.default_rng(5)
    factors = np.stack([rng.integers(0, size, 400) for size in (4, 5, 6)], axis=1)
    codes = factors @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(400, 4))
    found = adagrad_scores(
        codes, factors, np.random.default_rng(1), samples=20, iterations=[30, 80], tested=300
    )

    draws = np.random.default_rng(1)

    def draw(points: int) -> tuple[torch.Tensor, torch.Tensor]:
        plan = plan_pairs(factors, (4, 5, 6), points, 20, draws)
        return torch.tensor(mean_differences(codes, plan)), torch.tensor(plan.asked)

    test, answer = draw(300)
    linear = torch.nn.Linear(4, 3, dtype=torch.float64)
    with torch.no_grad():
        for parameter in linear.parameters():
            parameter.zero_()
    optimizer = torch.optim.Adagrad(linear.parameters(), lr=0.01, initial_accumulator_value=0.1, eps=0.0)
    scores = []
    for steps in (30, 50):
        features, asked = draw(10 * steps)
        for k in range(steps):
            optimizer.zero_grad()
            part = slice(10 * k, 10 * k + 10)
            torch.nn.functional.cross_entropy(linear(features[part]), asked[part]).backward()
            optimizer.step()
        scores.append(float((linear(test).argmax(1) == answer).double().mean()))
    assert found == scores


class _Model:
    """Posteriors whose parameters are the images themselves."""

    latents = 2

    def codes(self, images: Any) -> tuple[Any, Any]:
        return images[:, :2], images[:, 2:]


class _Data:
    def __init__(self, table: Any) -> None:
        self.table, self.count = table, len(table)

    def at(self, rows: Any) -> Any:
        return self.table[rows]

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        return Batch(self.table[rng.integers(0, self.count, n)], None)


def _run(table: Any) -> Any:
    return SimpleNamespace(
        model=lambda: _Model(), dataset=lambda: _Data(table), config=SimpleNamespace(seed=3), folder="nowhere"
    )


def test_true_total_correlation_of_a_gaussian() -> None:
    rng = np.random.default_rng(0)
    spread, sd = np.array([[0.75, 0.6], [0.6, 0.75]]), 0.5
    means = rng.multivariate_normal([0, 0], spread, 6000)
    run = _run(np.hstack([means, np.full((6000, 2), sd)]))
    for images in (6000, 4000):  # all of them, or some
        found = figure_7.true_total_correlation(run, images, samples=2000)
        # q(z) is N(0, spread + sd^2), whose correlation is 0.6
        assert found == pytest.approx(-0.5 * np.log(1 - 0.6**2), abs=0.04)


def test_a_code_is_part_of_its_own_mixture() -> None:
    # Posteriors far apart: log q(z) = log q(z|x) - log N, however few of the others are looked at.
    means = np.arange(200.0)[:, None] * [100, 100]
    found = figure_7.true_total_correlation(_run(np.hstack([means, np.ones((200, 2))])), 50, samples=100)
    assert found == pytest.approx(np.log(200), abs=1e-6)


def test_batch_densities_are_those_of_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    mu, sd = rng.normal(size=(50, 2)), rng.uniform(0.2, 0.6, (50, 2))
    zeros = np.zeros((50, 2))
    encoded = Codes(means=mu, scales=sd, kl=zeros, factors=None, nll=np.zeros(0), step=1)
    monkeypatch.setattr(figure_18, "codes_of", lambda run: encoded)
    table = np.hstack([rng.normal(size=(30, 2)), np.full((30, 2), 0.3)])
    joint, product = figure_18.batch_densities(_run(table), 40)

    draws = np.random.default_rng(3)
    shown = _Data(table).sample(40, draws).images
    z = shown[:, :2] + shown[:, 2:] * draws.normal(size=(40, 2))
    logs = norm.logpdf(z[:, None], mu, sd)
    np.testing.assert_allclose(joint, logsumexp(logs.sum(2), axis=1) - np.log(50), rtol=1e-6)
    np.testing.assert_allclose(product, (logsumexp(logs, axis=1) - np.log(50)).sum(1), atol=2e-3)


def test_one_factor_of_four_missing() -> None:
    scores = np.array([figure_3.one_factor_missing(seed) for seed in range(4)])
    assert (scores[:, 0] == 1).all()
    # Right for the three factors that are there, never for the fourth.
    assert scores[:, 1].mean() == pytest.approx(0.75, abs=0.02)


def test_orientation_that_is_not_there_is_not_known() -> None:
    rng = np.random.default_rng(0)
    k = rng.integers(0, 40, 4000)
    angle = 4 * np.pi * k / 39
    clean = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert figure_3.orientation_known(rng.normal(size=(4000, 2)), k) < 0.05
    # Noise of the signal's own variance, 1/2 a coordinate: about half is told, less what noise costs.
    assert 0.3 < figure_3.orientation_known(clean + np.sqrt(0.5) * rng.normal(size=(4000, 2)), k) < 0.6


def test_noise_that_is_not_there_changes_no_class() -> None:
    from unweave.data import Glyphs
    from unweave.gan import InfoGAN

    torch.manual_seed(0)
    gan = InfoGAN((1, 32, 32), noise=0, channels=(2, 2), hidden=4).eval()
    run: Any = SimpleNamespace(model=lambda: gan, dataset=lambda: Glyphs(size=32))
    changed, wrong, images = noise_changes(run, 5, noises=3)
    assert changed == 0 < wrong < 1
    assert images.shape == (5, 4, 1, 32, 32)


def test_class_information_is_one_for_a_code_that_is_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    from unweave.gan import InfoGAN

    letter = np.arange(2000) % 10
    zeros = np.zeros((2000, 1))
    encoded = Codes(
        means=np.stack([letter, letter % 2, zeros[:, 0]], 1).astype(float),
        scales=zeros,
        kl=zeros,
        factors=np.stack([0 * letter, letter], 1),
        nll=np.zeros(0),
        step=1,
    )
    monkeypatch.setattr(digit_codes, "codes_of", lambda run: encoded)
    gan = InfoGAN((1, 16, 16), channels=(2, 2), hidden=4)
    space = SimpleNamespace(names=("typeface", "letter"))
    run: Any = SimpleNamespace(model=lambda: gan, dataset=lambda: SimpleNamespace(space=space))
    held, shuffled = digit_codes.class_information(run)
    assert held == pytest.approx(1 + np.log(2) / np.log(10))  # all of it, and whether it is even
    assert shuffled < 0.05
