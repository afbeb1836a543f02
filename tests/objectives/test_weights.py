"""Every weight multiplies its own term and nothing else: L(weight = 3) - L(weight = 1) = 2 x the term."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from unweave.errors import UnweaveError
from unweave.gan import GANS, InfoGAN, InfoWGANGP
from unweave.likelihoods import LIKELIHOODS
from unweave.objectives import OBJECTIVES, Annealed, Averaged, BetaVAE, Loss, Objective, Progress
from unweave.slots import accepted, options_of, type_hints
from unweave.vae import VAE

LATENTS = 3
SHAPE = (1, 8, 8)
TINY = {"encoder": {"name": "MLP", "hidden": [8]}, "decoder": {"name": "MLP", "hidden": [8]}}
SMALL = {"critic_layers": 2, "critic_width": 16}

WEIGHTS = [
    ("BetaVAE", {}, "beta", "kl", 1.0),
    ("FactorVAE", SMALL, "gamma", "total_correlation", 1.0),
    ("FactorVAE", {**SMALL, "target": "prior"}, "gamma", "aggregate_kl", 1.0),
    ("AAE", SMALL, "gamma", "aggregate_kl", 1.0),
    *[
        ("BetaTCVAE", {"estimator": estimator, "dataset_size": 50}, weight, term, 1.0)
        for estimator in ("mws", "mss", "split", "batch", "mixture")
        for weight, term in (
            ("alpha", "mutual_information"),
            ("beta", "total_correlation"),
            ("gamma", "dimension_wise_kl"),
        )
    ],
    *[
        ("DIPVAE", {"kind": kind}, weight, term, 1.0)
        for kind in ("i", "ii")
        for weight, term in (("lambda_od", "covariance_off_diagonal"), ("lambda_d", "covariance_diagonal"))
    ],
    ("InformationDropout", {"dataset_size": 50}, "beta", "mutual_information", 1.0),
    ("InformationDropout", {"dataset_size": 50}, "gamma", "total_correlation", 1.0),
    ("DecompositionVAE", {"divergence": "inclusive_kl"}, "alpha", "inclusive_kl", 1.0),
    ("DecompositionVAE", {"divergence": "mmd"}, "alpha", "mmd", 1.0),
    ("DecompositionVAE", {"divergence": "mmd", "kernel": "gaussian"}, "alpha", "mmd", 1.0),
    ("DecompositionVAE", {}, "beta", "kl", 1.0),
    ("MaxEntropyVAE", {}, "beta", "half_log_determinant", -1.0),
]


def made(name: str, **options: Any) -> Objective:
    part = OBJECTIVES[name]
    return part(**accepted(part, latents=LATENTS), **options)


def evaluated(make: Callable[[], Objective], progress: Progress = Progress(0, 10), **parts: Any) -> Loss:
    """The loss of the same objective, VAE, images and noise, in double precision."""
    torch.manual_seed(0)
    vae, objective = VAE.assemble(SHAPE, LATENTS, **TINY, **parts).double(), make().double()
    with torch.no_grad():
        vae.encoder.linear[-1].weight.mul_(30)  # type: ignore[index, union-attr]  # so that the codes differ
    images = torch.rand(12, *SHAPE, dtype=torch.float64)
    torch.manual_seed(1)
    return objective(vae, images, progress)


def numbers(make: Callable[[], Objective], **parts: Any) -> tuple[float, dict[str, Any]]:
    loss = evaluated(make, **parts)
    return loss.total.item(), loss.logged()


@pytest.mark.parametrize(("name", "options", "weight", "term", "sign"), WEIGHTS)
def test_two_weights_differ_by_twice_the_term(
    name: str, options: dict[str, Any], weight: str, term: str, sign: float
) -> None:
    three, terms = numbers(lambda: made(name, **options, **{weight: 3.0}))
    one, _ = numbers(lambda: made(name, **options, **{weight: 1.0}))
    assert abs(terms[term]) > 1e-6
    assert three - one == pytest.approx(2 * sign * terms[term], rel=1e-9, abs=1e-11)


def test_no_weight_is_forgotten() -> None:
    tested = {(name, weight) for name, _, weight, _, _ in WEIGHTS} | {("AnnealedVAE", "gamma")}
    for name, part in OBJECTIVES.items():
        hints = type_hints(part)
        for option in options_of(part):
            if hints[option] is float and option not in ("critic_learning_rate", "critic_slope", "capacity"):
                assert (name, option) in tested, f"{option} of {name}"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("BetaTCVAE", {"beta": 1.0, "dataset_size": 50}),
        ("FactorVAE", {**SMALL, "gamma": 0.0}),
        ("DIPVAE", {"lambda_od": 0.0, "lambda_d": 0.0}),
        ("DecompositionVAE", {"alpha": 0.0}),
        ("MaxEntropyVAE", {"beta": 1.0}),
    ],
)
def test_without_its_own_term_it_is_the_vae(name: str, options: dict[str, Any]) -> None:
    """Each adds to the bound; none weighs the KL a second time."""
    plain, terms = numbers(lambda: made(name, **options))
    assert plain == pytest.approx(terms["reconstruction"] + terms["kl"], rel=1e-12)


def test_a_positive_beta_penalises_total_correlation() -> None:
    """A beta-TCVAE that rewards it would have a lower loss with more of it."""
    three, terms = numbers(lambda: made("BetaTCVAE", beta=3.0, estimator="mixture"))
    assert terms["total_correlation"] > 0
    assert three > numbers(lambda: made("BetaTCVAE", beta=1.0, estimator="mixture"))[0]


def test_information_dropout_and_aae_have_no_kl_to_the_prior() -> None:
    total, terms = numbers(lambda: made("InformationDropout", beta=2.0, gamma=3.0, estimator="mixture"))
    parts = terms["reconstruction"] + 2 * terms["mutual_information"] + 3 * terms["total_correlation"]
    assert total == pytest.approx(parts, rel=1e-12)
    total, terms = numbers(lambda: made("AAE", **SMALL, gamma=5.0))
    assert total == pytest.approx(terms["reconstruction"] + 5 * terms["aggregate_kl"], rel=1e-12)


@pytest.mark.parametrize("name", [name for name, part in OBJECTIVES.items() if part.held is not None])
def test_any_rate_can_be_held_at_a_capacity(name: str) -> None:
    """``w KL`` becomes ``w |KL - C|``, with the objective's own weight w of its KL, at C halfway to 4 x the KL."""
    options: dict[str, Any] = {"dataset_size": 50} if "dataset_size" in options_of(OBJECTIVES[name]) else {}
    options |= SMALL if "critic_layers" in options_of(OBJECTIVES[name]) else {}
    weight = 3.0 if name in ("BetaVAE", "InformationDropout", "DecompositionVAE") else 1.0
    options |= {"beta": weight} if weight == 3.0 else {}
    plain = evaluated(lambda: made(name, **options))
    held = plain.terms[OBJECTIVES[name].held or ""].item()
    halfway = evaluated(
        lambda: Annealed(made(name, **options), capacity=4 * abs(held), steps=20), Progress(10, 100)
    )
    assert halfway.terms["capacity"].item() == pytest.approx(2 * abs(held), rel=1e-6)
    expected = plain.total.item() + weight * (abs(held - 2 * abs(held)) - held)
    assert halfway.total.item() == pytest.approx(expected, rel=1e-6)


def test_a_held_beta_vae_is_the_annealed_vae() -> None:
    progress = Progress(5, 10)
    ours = evaluated(lambda: Annealed(BetaVAE(beta=7.0), capacity=2.0), progress).total
    theirs = evaluated(lambda: made("AnnealedVAE", gamma=7.0, capacity=2.0), progress).total
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", ["AAE", "AnnealedVAE"])
def test_without_a_rate_a_capacity_is_refused(name: str) -> None:
    options = SMALL if name == "AAE" else {}
    with pytest.raises(UnweaveError, match=f"{name} has no KL that a capacity could hold"):
        Annealed(made(name, **options), capacity=5.0)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_averaged_units_divide_the_two_halves(name: str) -> None:
    options: dict[str, Any] = {"dataset_size": 50} if "dataset_size" in options_of(OBJECTIVES[name]) else {}
    options |= SMALL if "critic_layers" in options_of(OBJECTIVES[name]) else {}
    plain = evaluated(lambda: made(name, **options))
    averaged = evaluated(lambda: Averaged(made(name, **options)))
    rest = (plain.total - plain.reconstruction) / LATENTS
    torch.testing.assert_close(averaged.total, plain.reconstruction / math.prod(SHAPE) + rest)


@pytest.mark.parametrize("name", LIKELIHOODS)
@pytest.mark.parametrize("blur", ["box", "gaussian"])
def test_the_weight_of_the_blurred_term(name: str, blur: str) -> None:
    def total(weight: float) -> float:
        likelihood = {"name": name, "blur": blur, "blur_radius": 2, "blur_weight": weight}
        return numbers(BetaVAE, likelihood=likelihood)[0]

    plain = numbers(BetaVAE, likelihood=name)[0]
    assert total(0.0) == pytest.approx(plain, rel=1e-12)
    assert total(3.0) - total(1.0) == pytest.approx(2 * (total(1.0) - plain), rel=1e-7)


@pytest.mark.parametrize("name", GANS)
def test_the_weight_of_the_information_term(name: str) -> None:
    def losses(**options: float) -> tuple[Tensor, Tensor, Tensor]:
        torch.manual_seed(0)
        gan = GANS[name](SHAPE, channels=(4, 8), hidden=16, noise=3, **options).double()
        game = gan.game()
        images = torch.rand(6, *SHAPE, dtype=torch.float64)
        torch.manual_seed(1)
        loss = game(gan, images, Progress(0, 1))
        torch.manual_seed(1)
        judged = game.critic_loss(gan, images, loss, 0)
        return loss.total, judged.total, loss.terms["code_log_likelihood"]

    three, one = losses(lambda_mi=3.0), losses(lambda_mi=1.0)
    torch.testing.assert_close(three[0] - one[0], -2 * one[2])
    torch.testing.assert_close(three[1] - one[1], -2 * one[2], rtol=1e-5, atol=1e-6)


def test_the_weight_of_the_gradient_penalty() -> None:
    def judged(eta: float) -> Any:
        torch.manual_seed(0)
        gan = InfoWGANGP(SHAPE, channels=(4, 8), hidden=16, noise=3, eta=eta).double()
        images = torch.rand(6, *SHAPE, dtype=torch.float64)
        torch.manual_seed(1)
        return gan.game().critic_loss(gan, images, Loss(torch.zeros(())), 0)

    three, one = judged(3.0), judged(1.0)
    torch.testing.assert_close(three.total - one.total, 2 * one.terms["gradient_penalty"])
    rest = one.terms["gradient_penalty"] - one.terms["critic_gap"] - one.total  # = lambda_mi * log-likelihood
    assert rest.item() < 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: made("FactorVAE", gamma=-1.0), "objective.gamma must be at least 0, got -1"),
        (lambda: made("FactorVAE", critic_learning_rate=0.0), "critic_learning_rate must be greater than 0"),
        (lambda: made("BetaTCVAE", alpha=-1.0), "objective.alpha must be at least 0"),
        (lambda: made("BetaTCVAE", dataset_size=0), "objective.dataset_size must be at least 1, got 0"),
        (lambda: made("DIPVAE", lambda_od=-0.5), "objective.lambda_od must be at least 0"),
        (lambda: made("DecompositionVAE", scales=()), "objective.scales must be numbers greater than 0"),
        (lambda: Annealed(BetaVAE(), capacity=-1.0), "capacity and capacity_steps must be at least 0"),
        (lambda: InfoGAN(SHAPE, continuous=0, categorical=()), "model needs at least one code"),
        (lambda: InfoGAN(SHAPE, critic_steps=0), "model.critic_steps at least 1"),
        (lambda: InfoWGANGP(SHAPE, eta=-1.0), "model.eta must be at least 0"),
        (lambda: InfoWGANGP(SHAPE, halvings=(2,)), "halvings must be 2 numbers, 1 or 2"),
    ],
)
def test_wrong_options_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        make()
