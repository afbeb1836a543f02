"""Recipes of DEC: the paper's protocol, and what only its recipes compute."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from unweave.metrics import factor_vae_score
from unweave.priors import AnisotropicNormal, GaussianMixture, SparseMixture, StandardNormal, StudentT
from unweave.recipes.architecture import layers_of
from unweave.recipes.dec import figure_3, models, scores, table_1
from unweave.recipes.recipe import RECIPES, Job
from unweave.runs.config import Config
from unweave.runs.run import Codes, Run
from unweave.theory.prior_pictures import density
from unweave.vae import VAE

IDS = (
    *("dec-fig2-top", "dec-fig2-bottom", "dec-fig3", "dec-fig4", "dec-fig5", "dec-fig6"),
    *("dec-theorem1", "dec-corollary1", "dec-theorem2", "dec-appc", "dec-fig1", "dec-table1"),
)


def test_every_result_of_the_paper_is_there() -> None:
    assert {name for name in RECIPES if name.startswith("dec-")} == set(IDS)


def test_figure_2_top_has_the_protocol_of_the_paper() -> None:
    study = RECIPES["dec-fig2-top"].study("paper")
    assert study is not None and study.seeds == tuple(range(100))
    for planned in study.runs[:: len(study.runs) // 7]:
        config = planned.config
        assert (config.batch_size, config.learning_rate, config.latents) == (64, 1e-4, 10)
        assert config.steps == 20 * 11_520  # epochs of 737,280 / 64 batches
        assert config.encoder.options["channels"] == (32, 32, 64, 64)
        assert config.decoder.options["channels"] == (64, 64, 64, 32)  # that enter: outputs 64, 64, 32, 1
        assert config.encoder.options["hidden_activation"] == "none"
        assert config.optimizer.name == "Adam" and config.optimizer.options["amsgrad"]
        assert config.optimizer.options["betas"] == (0.9, 0.999)
        assert config.encoder.options["hidden"] == config.decoder.options["hidden"] == (128,)
        assert config.objective.name == "BetaVAE" and config.likelihood.name == "Bernoulli"
    priors = {(p.config.prior.name, p.config.prior.options.get("learned")) for p in study.runs}
    assert priors == {("StandardNormal", None), ("AnisotropicNormal", False), ("AnisotropicNormal", True)}
    anisotropic = [p.config.prior.options for p in study.runs if p.config.prior.name == "AnisotropicNormal"]
    assert all(each["scales"] == "shares" and each["images"] is None for each in anisotropic)


def test_figure_2_bottom_has_the_protocol_of_the_paper() -> None:
    study = RECIPES["dec-fig2-bottom"].study("paper")
    assert study is not None and study.seeds == tuple(range(100))
    config = study.runs[-1].config
    assert config.prior.name == "StudentT" and config.objective.options["beta"] == 1.0
    assert (config.batch_size, config.steps) == (256, 40 * 2880)


def test_both_halves_of_figure_2_share_the_runs_of_the_gaussian() -> None:
    for scale in ("smoke", "small"):
        top, bottom = (RECIPES[f"dec-fig2-{half}"].study(scale) for half in ("top", "bottom"))
        assert top is not None and bottom is not None
        ours = {p.config.identity for p in bottom.variants["Gaussian"]}
        assert ours == {p.config.identity for p in top.variants["isotropic, β = 1"]}


def test_figure_4_has_the_protocol_of_the_paper() -> None:
    study = RECIPES["dec-fig4"].study("paper")
    assert study is not None and study.seeds == (0, 1, 2)
    config = study.runs[-1].config
    assert (config.encoder.name, config.decoder.name) == ("DCGAN", "DCGAN")
    assert (config.latents, config.batch_size, config.learning_rate) == (50, 256, 2e-4)
    assert config.steps == int(60 * 162_770 / 256)
    assert config.objective.options["divergence"] == "mmd" and config.objective.options["kernel"] == "imq"
    assert config.prior.options == {"gamma": 0.9, "sigma0": 0.05}
    assert config.optimizer.options["betas"] == (0.5, 0.999) and not config.optimizer.options["amsgrad"]
    assert {p.config.prior.options["gamma"] for p in study.runs} == {0.0, 0.9}
    assert 0.0 in {p.config.objective.options["alpha"] for p in study.runs}


def test_table_1_is_the_printed_one() -> None:
    """The cells of the paper, typed from it (a 1 x 1 stride is not printed there, and 2 x 50 is two layers)."""
    cells = {name: _printed(words) for name, words in table_1.PUBLISHED.items()}
    assert cells["1a encoder"] == [
        *("conv 4x4 32 stride 2 & relu", "conv 4x4 32 stride 2 & relu"),
        *("conv 4x4 64 stride 2 & relu", "conv 4x4 64 stride 2 & relu", "linear 128", f"linear {2 * 10}"),
    ]
    assert cells["1a decoder"] == [
        *("linear 128 & relu", f"linear {4 * 4 * 64} & relu", "upconv 4x4 64 stride 2 & relu"),
        *("upconv 4x4 64 stride 2 & relu", "upconv 4x4 32 stride 2 & relu", "upconv 4x4 1 stride 2"),
    ]
    assert cells["1b encoder"] == cells["1b decoder"] == ["linear 100 & relu", f"linear {2 * 2}"]
    assert cells["1c encoder"] == [
        "conv 4x4 32 stride 2 & batch norm & leaky relu 0.2",
        "conv 4x4 64 stride 2 & batch norm & leaky relu 0.2",
        "conv 4x4 128 stride 2 & batch norm & leaky relu 0.2",
        "conv 4x4 256 stride 2 & batch norm & leaky relu 0.2",
        f"conv 4x4 {2 * 50} stride 1",
    ]
    assert cells["1c decoder"] == [
        "upconv 4x4 256 stride 1 & batch norm & relu",
        "upconv 4x4 128 stride 2 & batch norm & relu",
        "upconv 4x4 64 stride 2 & batch norm & relu",
        "upconv 4x4 32 stride 2 & batch norm & relu",
        "upconv 4x4 3 stride 2",
    ]


def _printed(words: list[str]) -> list[str]:
    """Layers as the paper prints them: what follows a layer stands on its line."""
    lines: list[str] = []
    for word in words:
        if word.split()[0] in ("conv", "upconv", "linear"):
            lines.append(word)
        else:
            lines[-1] += f" & {word}"
    return lines


def test_the_networks_of_table_1_have_the_shapes_of_their_data() -> None:
    for vae in table_1.built().values():
        images = torch.zeros(2, *vae.image_shape)
        assert vae.eval().encoder(images).shape == (2, 2 * vae.latents)
        assert vae.decoder(torch.zeros(2, vae.latents)).shape[1:] == vae.likelihood.output_shape


def test_the_model_of_figure_3_is_a_configuration(tmp_path: Path) -> None:
    config = Config.of({**models.pinwheel(alpha=3.0, beta=0.1), "steps": 2})
    model = config.make_model((1, 1, 2))
    assert isinstance(model, VAE) and model.likelihood.output_shape == (2, 1, 2)
    assert layers_of(model.decoder, inputs=torch.zeros(2, 2)) == ["linear 100", "relu", "linear 4"]
    run = Run.create(config, tmp_path / "run")
    assert run.train().status == "finished" and "inclusive_kl" in run.history[0]
    words = ["data=Pinwheel", "encoder=MLP", "encoder.hidden=[100]", "decoder=MLP", "decoder.hidden=[100]"]
    words += ["decoder.activation=relu", "likelihood=Gaussian", "likelihood.per_output=true"]
    words += [
        "prior=GaussianMixture",
        "objective=DecompositionVAE",
        "objective.alpha=3",
        "objective.beta=0.1",
    ]
    words += ["objective.aggregate=data", "optimizer=Adam", "optimizer.amsgrad=true", "latents=2"]
    words += ["optimizer.betas=[0.9,0.999]", "batch_size=400", "learning_rate=1e-3", "steps=2"]
    assert Config.read(words=words).identity == config.identity


def test_the_least_used_mode() -> None:
    means = np.zeros((1, 1, 1, 8, 2))
    means[0, 0, 0, :4] = [[0.9, 0.1], [0.1, 0.8], [1.2, 0.9], [0.7, 0.7]]
    done: Any = SimpleNamespace(means=means)
    assert figure_3.least_share(done).tolist() == [[[1 / 8]]]
    done.means[0, 0, 0, 0] = 0.0
    assert figure_3.least_share(done).tolist() == [[[0.0]]]


def test_the_kernel_is_the_one_of_the_run() -> None:
    a, b = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])
    assert scores.kernel_of({"scales": (1.0,)}, 2)(a, b).item() == pytest.approx(4 / (4 + 25))
    assert scores.kernel_of({"scales": (1.0,), "norm": "plain"}, 2)(a, b).item() == pytest.approx(4 / (4 + 5))


CONSTRUCTED = ("dec-fig6", "dec-theorem1", "dec-corollary1")
"""Identities, which check the code and are no evidence."""


@pytest.mark.parametrize(
    "name",
    [
        *("dec-fig1", "dec-fig5", "dec-fig6", "dec-theorem1", "dec-corollary1", "dec-theorem2", "dec-appc"),
        "dec-table1",
    ],
)
def test_what_is_exact_agrees_at_any_scale(name: str) -> None:
    conclusion = RECIPES[name].conclude(Job(RECIPES[name], "smoke"))
    assert conclusion.verdict == ("by construction" if name in CONSTRUCTED else "agrees")
    assert conclusion.pictures and all(len(row) == len(conclusion.rows[0]) for row in conclusion.rows)


def test_densities_are_those_of_scipy() -> None:
    points = np.random.default_rng(0).normal(size=(50, 2))
    expected = stats.t.pdf(points, 3).prod(1)
    np.testing.assert_allclose(density(StudentT(2, nu=3.0), points), expected, rtol=1e-6)
    corners = [[a, b] for a in (0, 1) for b in (0, 1)]
    each = [stats.multivariate_normal.pdf(points, corner, 0.03 * np.eye(2)) for corner in corners]
    np.testing.assert_allclose(density(GaussianMixture(2), points), np.mean(each, 0), rtol=1e-4)


def run_of(prior: torch.nn.Module, seed: int = 0) -> Any:
    network = {"name": "MLP", "hidden": (2,)}
    model = VAE.assemble((1, 4, 4), 3, encoder=network, decoder=network)
    model.prior = prior
    objective = SimpleNamespace(options={})
    return SimpleNamespace(model=lambda: model, config=SimpleNamespace(seed=seed, objective=objective))


def test_widths_are_the_deviations_of_the_prior() -> None:
    prior = AnisotropicNormal(3, scales="ones")
    prior.log_variance = 2 * torch.log(torch.tensor([2.0, 1.0, 0.25]))
    np.testing.assert_allclose(scores.prior_deviations(run_of(prior)), [2.0, 1.0, 0.25], rtol=1e-6)
    np.testing.assert_allclose(scores.prior_deviations(run_of(StudentT(2, nu=4.0))), np.sqrt(2), rtol=1e-6)
    assert scores.prior_deviations(run_of(StudentT(2, nu=1.5))).tolist() == [1.0, 1.0]


def test_a_latent_that_is_as_wide_as_its_narrow_prior_does_not_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 5, size=(2000, 2))
    useful = 0.1 * (factors - 2) + 0.001 * rng.normal(size=(2000, 2))
    # Two latents of a prior of width 0.1 say something; the third is its prior, and its mean is noise.
    means = np.column_stack([useful[:, 0], 3 * useful[:, 1], 1e-4 * rng.normal(size=2000)])
    scales = np.tile([0.01, 0.03, 0.1], (2000, 1))
    codes = Codes(means, scales, np.zeros((2000, 3)), factors, np.zeros(1), 1)
    monkeypatch.setattr(scores, "codes_of", lambda run: codes)
    prior = AnisotropicNormal(3, scales="ones")
    prior.log_variance = 2 * torch.log(torch.tensor([0.1, 0.3, 0.1]))
    found = scores.disentanglement(run_of(prior, 4), own_prior=True)
    alone = factor_vae_score(useful, factors, np.random.default_rng([4, 2]), scales=scales[:, :2]).value
    assert found == alone == 1.0
    plain = factor_vae_score(means, factors, np.random.default_rng([4, 2]), scales=scales).value
    without_model: Any = SimpleNamespace(
        config=SimpleNamespace(seed=4)
    )  # Kim and Mnih: whatever the prior is
    assert scores.disentanglement(without_model) == plain


def test_the_divergence_is_the_u_statistic_of_codes_and_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(40, 3)).astype(np.float32)
    codes = Codes(means, np.zeros_like(means), np.zeros((40, 3)), None, np.zeros(1), 1)
    monkeypatch.setattr(scores, "codes_of", lambda run: codes)
    prior = SparseMixture(3)
    found = scores.divergence(run_of(prior, 5), n=40)
    torch.manual_seed(5)
    y = prior().sample((40,)).double().numpy()

    def kernel(a: Any, b: Any) -> Any:
        distance = ((a[:, None] - b) ** 2).sum(-1)
        return sum(6 * s / (6 * s + distance) for s in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0))

    def among(a: Any) -> float:
        values = kernel(a, a)
        return float((values.sum() - np.trace(values)) / (40 * 39))

    x = means.astype(np.float64)
    assert found == pytest.approx(among(x) + among(y) - 2 * kernel(x, y).mean(), abs=1e-6)


def test_the_divergence_tells_the_right_prior_from_a_wrong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    means = np.random.default_rng(0).normal(size=(1000, 5)).astype(np.float32)
    codes = Codes(means, np.zeros_like(means), np.zeros((1000, 5)), None, np.zeros(1), 1)
    monkeypatch.setattr(scores, "codes_of", lambda run: codes)
    right, wrong = (scores.divergence(run_of(prior)) for prior in (StandardNormal(5), SparseMixture(5)))
    assert abs(right) < 0.005 < 0.3 < wrong
