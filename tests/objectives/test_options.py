"""Options of objectives: the documented defaults, every documented value accepted, and the limits of every number."""

from typing import Any

import pytest
import torch

from unweave.errors import UnweaveError
from unweave.objectives import OBJECTIVES, Annealed, BetaVAE, Objective, Progress
from unweave.priors import Prior
from unweave.runs import Config
from unweave.slots import accepted, options_of
from unweave.vae import VAE

DEFAULTS: dict[str, dict[str, Any]] = {
    "BetaVAE": {"beta": 1.0},
    "AnnealedVAE": {"gamma": 1000.0, "capacity": 25.0, "anneal_steps": None},
    "FactorVAE": {"gamma": 35.0, "target": "marginals", "critic_layers": 6, "critic_width": 1000},
    "AAE": {"gamma": 1.0, "critic_layers": 6, "critic_width": 1000},
    "BetaTCVAE": {"beta": 6.0, "alpha": 1.0, "gamma": 1.0, "estimator": "mws", "dataset_size": None},
    "DIPVAE": {"kind": "i", "lambda_od": 10.0, "lambda_d": 100.0},
    "InformationDropout": {"beta": 1.0, "gamma": 0.0, "estimator": "mss", "dataset_size": None},
    "DecompositionVAE": {"alpha": 1.0, "beta": 1.0, "divergence": "inclusive_kl", "aggregate": "batch"},
    "MaxEntropyVAE": {"beta": 4.0},
}
CHOICES = [
    *[("BetaTCVAE", "estimator", value) for value in ("mws", "mss", "split", "batch", "mixture")],
    *[("InformationDropout", "estimator", value) for value in ("mws", "mss", "split", "batch", "mixture")],
    *[("DIPVAE", "kind", value) for value in ("i", "ii")],
    *[("FactorVAE", "target", value) for value in ("marginals", "prior")],
    *[("DecompositionVAE", "divergence", value) for value in ("inclusive_kl", "exclusive_kl", "mmd")],
    *[("DecompositionVAE", "aggregate", value) for value in ("batch", "data")],
    *[("DecompositionVAE", "kernel", value) for value in ("imq", "gaussian")],
    *[("DecompositionVAE", "norm", value) for value in ("squared", "plain")],
]
NUMBERS = [
    *[
        ("BetaVAE", "beta"),
        ("AnnealedVAE", "gamma"),
        ("AnnealedVAE", "capacity"),
        ("AnnealedVAE", "anneal_steps"),
    ],
    *[("FactorVAE", "gamma"), ("AAE", "gamma"), ("MaxEntropyVAE", "beta")],
    *[("BetaTCVAE", "alpha"), ("BetaTCVAE", "beta"), ("BetaTCVAE", "gamma")],
    *[
        ("DIPVAE", "lambda_od"),
        ("DIPVAE", "lambda_d"),
        ("InformationDropout", "beta"),
        ("InformationDropout", "gamma"),
    ],
    *[("DecompositionVAE", "alpha"), ("DecompositionVAE", "beta")],
]


def made(name: str, **options: Any) -> Objective:
    part = OBJECTIVES[name]
    small = {"critic_layers": 1, "critic_width": 4} if "critic_layers" in options_of(part) else {}
    return part(**accepted(part, latents=3), **{**small, **options})


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_of_the_papers(name: str) -> None:
    options = Config.of({"data": "circles", "objective": name}).objective.options
    assert {key: options[key] for key in DEFAULTS[name]} == DEFAULTS[name]


@pytest.mark.parametrize(("name", "option", "value"), CHOICES)
def test_every_documented_value_can_be_chosen(name: str, option: str, value: str) -> None:
    chosen = Config.of({"data": "circles", "objective": {"name": name, option: value}}).objective
    assert chosen.options[option] == value
    made(name, **{option: value})


@pytest.mark.parametrize(("name", "option"), NUMBERS)
def test_weights_start_at_zero(name: str, option: str) -> None:
    made(name, **{option: 0})
    with pytest.raises(UnweaveError, match=f"objective.{option} must be at least 0"):
        made(name, **{option: -1})


@pytest.mark.parametrize("name", ["FactorVAE", "AAE"])
def test_a_critic_of_the_given_size_and_rate(name: str) -> None:
    objective: Any = made(name, critic_layers=2, critic_width=7, critic_learning_rate=3e-3)
    linear = [module for module in objective.critic.modules() if isinstance(module, torch.nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linear] == [(3, 7), (7, 7), (7, 2)]
    assert objective.critic_learning_rate == 3e-3
    assert objective.critic_betas == (0.5, 0.9)
    assert objective.betas == (0.9, 0.999)
    for rate in (0.0, -1e-4):
        with pytest.raises(UnweaveError, match="critic_learning_rate must be greater than 0"):
            made(name, critic_learning_rate=rate)
    with pytest.raises(UnweaveError, match="codes of 3 latents, the VAE has 4"):
        objective.check(VAE.assemble((1, 8, 8), 4, encoder="MLP", decoder="MLP"))
    objective.check(VAE.assemble((1, 8, 8), 3, encoder="MLP", decoder="MLP"))


def test_two_batches_only_for_the_marginals() -> None:
    assert made("FactorVAE").batches == 2
    assert made("FactorVAE", target="prior").batches == 1
    assert made("AAE").batches == 1
    assert Annealed(made("FactorVAE"), capacity=1.0).batches == 2


@pytest.mark.parametrize(
    ("capacity", "steps", "right"),
    [(0.0, None, True), (5.0, 0, True), (-1.0, 5, False), (5.0, -1, False), (-1.0, None, False)],
)
def test_limits_of_a_capacity(capacity: float, steps: int | None, right: bool) -> None:
    if right:
        Annealed(BetaVAE(), capacity=capacity, steps=steps)
        return
    with pytest.raises(UnweaveError, match="capacity and capacity_steps must be at least 0"):
        Annealed(BetaVAE(), capacity=capacity, steps=steps)


@pytest.mark.parametrize(("size", "right"), [(1, True), (0, False), (-3, False), (None, True)])
def test_limits_of_a_data_set_size(size: int | None, right: bool) -> None:
    if right:
        made("BetaTCVAE", dataset_size=size)
        return
    with pytest.raises(UnweaveError, match="dataset_size must be at least 1"):
        made("BetaTCVAE", dataset_size=size)


@pytest.mark.parametrize(
    ("scales", "right"), [((1.0,), True), ((), False), ((1.0, 0.0), False), ((1.0, -2.0), False)]
)
def test_limits_of_the_scales(scales: tuple[float, ...], right: bool) -> None:
    if right:
        made("DecompositionVAE", scales=scales)
        return
    with pytest.raises(UnweaveError, match="scales must be numbers greater than 0"):
        made("DecompositionVAE", scales=scales)


class Source:
    """As much of a data set as an objective asks for."""

    name = "Made"

    def __init__(self, count: int | None) -> None:
        self.count = count

    def at(self, index: Any) -> Any:
        return (torch.arange(len(index)).float().view(-1, 1, 1, 1) / 20).expand(-1, 1, 8, 8).numpy()


@pytest.mark.parametrize("estimator", ["mws", "mss", "split", "batch", "mixture"])
def test_which_estimators_need_the_number_of_images(estimator: str) -> None:
    objective = made("BetaTCVAE", estimator=estimator)
    vae = VAE.assemble((1, 8, 8), 3, encoder="MLP", decoder="MLP")
    images = torch.rand(4, 1, 8, 8)
    if estimator in ("batch", "mixture"):
        objective(vae, images, Progress(0, 1))
        objective.prepare(Source(None), 4)
        return
    for ask in (lambda: objective(vae, images, Progress(0, 1)), lambda: objective.prepare(Source(None), 4)):
        with pytest.raises(UnweaveError, match="needs the number of images of the data set"):
            ask()
    objective.prepare(Source(20), 4)
    assert torch.isfinite(objective(vae, images, Progress(0, 1)).total)


def test_a_given_size_goes_before_that_of_the_data() -> None:
    """TC of mws is that of the mixture plus (latents - 1) log N: the N that was used can be read off."""
    vae = VAE.assemble((1, 8, 8), 3, encoder="MLP", decoder="MLP").double()
    images = torch.rand(4, 1, 8, 8, dtype=torch.float64)

    def correlation(objective: Objective) -> float:
        objective.prepare(Source(20), 4)
        torch.manual_seed(0)
        return objective(vae, images, Progress(0, 1)).terms["total_correlation"].item()

    mixture = correlation(made("BetaTCVAE", estimator="mixture"))
    own = correlation(made("BetaTCVAE", dataset_size=700))
    taken = correlation(made("BetaTCVAE"))
    assert own - mixture == pytest.approx(2 * torch.tensor(700.0).log().item(), rel=1e-6)
    assert taken - mixture == pytest.approx(2 * torch.tensor(20.0).log().item(), rel=1e-6)


def test_the_aggregate_of_all_data_is_used() -> None:
    """With aggregate=data, q(z) is the even mixture over all images, whatever the batch holds."""
    vae = VAE.assemble((1, 8, 8), 2, encoder="MLP", decoder="MLP").double()
    with torch.no_grad():
        vae.encoder.linear[-1].weight.mul_(20)  # type: ignore[index, union-attr]
    images = torch.rand(6, 1, 8, 8, dtype=torch.float64)
    found = {}
    for kind in ("batch", "data"):
        objective: Any = made("DecompositionVAE", aggregate=kind)
        objective.prepare(Source(20), 6)
        if objective.data is not None:
            objective.data = objective.data.double()
        torch.manual_seed(0)
        found[kind] = objective(vae, images, Progress(0, 1)).terms["inclusive_kl"].item()
        torch.manual_seed(0)
        with torch.no_grad():
            vae(images)
            z = vae.prior().rsample((6,)).double()
            of = images if kind == "batch" else torch.from_numpy(Source(20).at(range(20)).copy()).double()
            q = vae.encode(of)
            logs = q.base_dist.log_prob(z[:, None]).sum(-1)  # type: ignore[attr-defined]
            mixture = torch.logsumexp(logs, 1) - torch.tensor(float(len(of))).log()
            expected = (vae.prior().log_prob(z) - mixture).mean().item()
        assert found[kind] == pytest.approx(expected, rel=1e-5)
    assert abs(found["batch"] - found["data"]) > 1e-3
    for count in (None, 10_001):
        with pytest.raises(UnweaveError, match="at most 10,000"):
            made("DecompositionVAE", aggregate="data").prepare(Source(count), 6)
    made("DecompositionVAE", aggregate="data").prepare(Source(10_000), 6)
    made("DecompositionVAE", aggregate="data", divergence="mmd").prepare(Source(None), 6)


@pytest.mark.parametrize(
    ("length", "step", "reached"), [(10, 0, 0.0), (10, 5, 0.5), (10, 10, 1.0), (10, 11, 1.0), (0, 0, 1.0)]
)
def test_a_ramp(length: int, step: int, reached: float) -> None:
    assert Progress(step, 100).ramp(length) == reached


def test_annealed_vae_holds_the_rate_over_its_own_steps() -> None:
    vae = VAE.assemble((1, 8, 8), 3, encoder="MLP", decoder="MLP")
    for steps, expected in ((None, 2.0), (20, 4.0), (5, 8.0)):
        loss = made("AnnealedVAE", gamma=3.0, capacity=8.0, anneal_steps=steps)(
            vae, torch.rand(4, 1, 8, 8), Progress(10, 40)
        )
        assert loss.terms["capacity"].item() == expected
        assert loss.reconstruction is not None
        torch.testing.assert_close(loss.total, loss.reconstruction + 3 * (loss.terms["kl"] - expected).abs())


@pytest.mark.parametrize("name", DEFAULTS)
def test_which_objectives_train_a_prior(name: str) -> None:
    """One without a divergence to p(z) refuses a prior that learns, before step 0, and takes a fixed one."""
    tiny = {"encoder": "MLP", "decoder": "MLP"}
    objective = made(name)
    objective.check(VAE.assemble((1, 8, 8), 3, **tiny, prior={"name": "AnisotropicNormal", "scales": "ones"}))
    learned = VAE.assemble((1, 8, 8), 3, **tiny, prior={"name": "GeneralizedNormal", "learned": True})
    if name == "InformationDropout":
        with pytest.raises(UnweaveError, match=f"{name} does not train the prior"):
            objective.check(learned)
    else:
        objective.check(learned)


@pytest.mark.parametrize(
    ("prior", "gamma", "right"),
    [("StandardNormal", 1.0, True), ("StandardNormal", 2.0, True), ("ISA", 1.0, True), ("ISA", 2.0, False)],
)
def test_a_kl_of_each_latent_needs_a_prior_that_factorises(prior: str, gamma: float, right: bool) -> None:
    vae = VAE.assemble((1, 8, 8), 4, encoder="MLP", decoder="MLP", prior=prior)
    objective = made("BetaTCVAE", gamma=gamma, estimator="mixture")
    if right:
        objective.check(vae)
        terms = objective(vae, torch.rand(4, 1, 8, 8), Progress(0, 1)).terms
        assert ("dimension_wise_kl" in terms) == (prior == "StandardNormal")
        return
    with pytest.raises(UnweaveError, match="does not factorise over the latents"):
        objective.check(vae)


class TwoBumps(Prior):
    """A mixture, whose samples have no gradient, with a learned width and a fixed place."""

    def __init__(self, latents: int, *, learned: bool = True) -> None:
        super().__init__(latents)
        self.width = torch.nn.Parameter(torch.ones(latents, 2), requires_grad=learned)
        self.place = torch.nn.Parameter(torch.tensor([-1.0, 1.0]), requires_grad=False)

    def forward(self) -> torch.distributions.Distribution:
        bumps = torch.distributions.Normal(self.place.expand_as(self.width), self.width)
        chosen = torch.distributions.Categorical(torch.ones_like(self.width))
        return torch.distributions.Independent(torch.distributions.MixtureSameFamily(chosen, bumps), 1)


@pytest.mark.parametrize("divergence", ["inclusive_kl", "mmd"])
def test_a_prior_is_not_trained_through_samples_without_a_gradient(divergence: str) -> None:
    """Also if only one of its parameters is learned; one that is fixed, or a divergence without samples, is taken."""
    learned, fixed = (
        VAE.assemble((1, 8, 8), 3, encoder="MLP", decoder="MLP", prior=TwoBumps(3, learned=each))
        for each in (True, False)
    )
    objective = made("DecompositionVAE", divergence=divergence)
    with pytest.raises(UnweaveError, match="those of TwoBumps have no rsample"):
        objective.check(learned)
    objective.check(fixed)
    made("DecompositionVAE", divergence="exclusive_kl").check(learned)
