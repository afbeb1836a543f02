"""Every objective x every prior with parameters x estimator: the gradient of each term in each learned tensor.

The terms are written out a second time in numpy, from the features of the networks on. The gradient that autograd gives
for the library's terms must be the difference quotient of those, for fixed noise, along a random direction of every
tensor, in double precision. Where a gradient is not that of a value with fixed noise (a sampler of the prior, a ratio
that a critic holds), a comment says what it is instead. That fails if a term is detached, doubled or has the wrong
sign, which the last test shows.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import gammaln, hyp1f1, logsumexp
from torch import Tensor, nn

from unweave.errors import UnweaveError
from unweave.likelihoods import Gaussian
from unweave.objectives import OBJECTIVES, Loss, Objective, Progress
from unweave.priors import PRIORS, AnisotropicNormal, GeneralizedNormal, StandardNormal
from unweave.slots import accepted, options_of, type_hints
from unweave.vae import VAE

Floats = NDArray[np.float64]
LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Draws:
    """What one step draws: the noise of the posterior, standardised samples of the prior, and the present ``z``."""

    noise: Floats
    prior: Floats
    z: Tensor
    log_prior: float
    """The mean of ``log p(z)`` at the present weights."""


def draws(vae: VAE, images: Tensor, seed: int) -> Draws:
    """Those of an objective that is called after ``torch.manual_seed(seed)``."""
    torch.manual_seed(seed)
    with torch.no_grad():
        q = vae.infer(images)
        z = q.rsample()
        samples = vae.prior().sample((len(z),)) / prior_scale(vae)
        log_prior = vae.prior().log_prob(z).mean().item()
    noise = ((z - q.mean) / q.stddev).numpy()
    return Draws(noise, samples.numpy(), z, log_prior)


def prior_scale(vae: VAE) -> Tensor:
    """What a sample of a Gaussian prior is divided by so that it no longer depends on the prior; 1 for others."""
    return vae.prior().stddev if isinstance(vae.prior, AnisotropicNormal) else torch.ones(vae.latents)


@torch.no_grad()
def terms_by_hand(vae: VAE, objective: Objective, images: Tensor, drawn: Draws) -> dict[str, Any]:
    """Every term that an objective may name, and the reconstruction, at the present weights and the given noise."""
    given = images.chunk(objective.batches)[0]
    mean, log_variance = (part.numpy() for part in vae.encoder(given).chunk(2, 1))
    scale = np.exp(log_variance / 2)
    noise = drawn.noise[: len(given)]
    z = mean + scale * noise
    codes = torch.from_numpy(z)
    features = vae.decoder(codes)
    found: dict[str, Any] = {"reconstruction": -vae.likelihood(features).log_prob(given).mean().item()}
    if isinstance(vae.likelihood, Gaussian):
        v = math.exp(vae.likelihood.log_variance.item())
        squares = ((given - features) ** 2).flatten(1).sum(1).mean().item()
        found["reconstruction"] = squares / (2 * v) + given[0].numel() / 2 * math.log(2 * math.pi * v)
    found |= rate(vae, mean, scale, z, noise)
    found |= of_aggregate(vae, objective, mean, scale, z)
    found |= of_moments(objective, mean, scale)
    found |= of_prior_samples(vae, objective, mean, scale, z, drawn.prior[: len(given)])
    found |= of_critic(vae, objective, codes, drawn)
    return found


def rate(vae: VAE, mean: Floats, scale: Floats, z: Floats, noise: Floats) -> dict[str, Any]:
    """``KL(q(z|x) || p(z))``: closed forms for (generalised) Gaussian priors, else the one-sample estimate."""
    if isinstance(vae.prior, AnisotropicNormal | StandardNormal):
        s = vae.prior().stddev.numpy()
        each = np.log(s / scale) + (scale**2 + mean**2) / (2 * s**2) - 0.5
    elif isinstance(vae.prior, GeneralizedNormal):
        p = vae.prior.exponents().numpy()
        moment = scale**p * 2 ** (p / 2) / math.sqrt(math.pi) * np.exp(gammaln((1 + p) / 2))
        moment = moment * hyp1f1(-p / 2, 0.5, -((mean / scale) ** 2) / 2)
        normaliser = math.log(2) + gammaln(1 / p) - np.log(p) + np.log(p) / p  # tau = 1 / p
        each = moment / p + normaliser - 0.5 * (LOG_2PI + 1) - np.log(scale)
    else:
        log_q = (-0.5 * noise**2 - np.log(scale) - 0.5 * LOG_2PI).sum(1)
        return {"kl": float(np.mean(log_q - vae.prior().log_prob(torch.from_numpy(z)).numpy()))}
    return {"kl": float(each.sum(1).mean()), "kl_per_latent": each.mean(0)}


def mixture(estimator: str, n: int, size: int) -> Floats:
    """Chen et al. 2018, appendix C; DEC Eq. 10b; FAC Eq. 5-6."""
    m = n - 1
    own, others = {
        "mws": (1 / (n * size), 1 / (n * size)),
        "mss": (1 / size, 1 / m),
        "split": (1 / size, (size - 1) / (size * m)),
        "batch": (0.0, 1 / m),
        "mixture": (1 / n, 1 / n),
    }[estimator]
    weights = np.full((n, n), others)
    np.fill_diagonal(weights, own)
    if estimator == "mss":
        for i in range(n):
            weights[i, (i + 1) % n] = (size - m) / (size * m)
    return weights


def log_components(mean: Floats, scale: Floats, z: Floats) -> Floats:
    """``log q(z_ij | x_k)``, (i, k, j)."""
    standard = (z[:, None] - mean) / scale
    return -0.5 * standard**2 - np.log(scale) - 0.5 * LOG_2PI


def of_aggregate(vae: VAE, objective: Objective, mean: Floats, scale: Floats, z: Floats) -> dict[str, Any]:
    """Information, total correlation and dimension-wise KL by the objective's estimate of ``q(z)``."""
    if not hasattr(objective, "estimator"):
        return {}
    each = log_components(mean, scale, z)
    weights = mixture(str(objective.estimator), len(z), objective.dataset_size)  # type: ignore[arg-type]
    joint = logsumexp(each.sum(2), axis=1, b=weights)
    marginals = logsumexp(each, axis=1, b=weights[:, :, None])
    own = np.array([each[i, i].sum() for i in range(len(z))])
    log_prior = vae.prior().log_prob(torch.from_numpy(z)).numpy()
    return {
        "mutual_information": float(np.mean(own - joint)),
        "total_correlation": float(np.mean(joint - marginals.sum(1))),
        "dimension_wise_kl": float(np.mean(marginals.sum(1) - log_prior)),
    }


def of_moments(objective: Objective, mean: Floats, scale: Floats) -> dict[str, Any]:
    """The covariance penalties (FAC Eq. 10, 11) and the log-determinant (DEC Eq. 5)."""
    matrix = np.cov(mean.T, ddof=0)
    if getattr(objective, "kind", "i") == "ii":
        matrix = matrix + np.diag((scale**2).mean(0))
    diagonal = np.diag(matrix)
    return {
        "covariance_off_diagonal": float((matrix**2).sum() - (diagonal**2).sum()),
        "covariance_diagonal": float(((diagonal - 1) ** 2).sum()),
        "half_log_determinant": float(np.log(scale).sum(1).mean()),
    }


def of_prior_samples(
    vae: VAE, objective: Objective, mean: Floats, scale: Floats, z: Floats, standard: Floats
) -> dict[str, Any]:
    """The divergences of DEC Eq. 7 at samples of the prior, which for a Gaussian prior grow with its deviation."""
    if not hasattr(objective, "divergence"):
        return {}
    samples, weights = standard * prior_scale(vae).numpy(), mixture("split", len(z), SIZE)
    data = getattr(objective, "data", None)
    if data is not None:  # q(z) is the mixture of all data, with equal weights
        mean, log_variance = (part.numpy() for part in vae.encoder(data).chunk(2, 1))
        scale, weights = np.exp(log_variance / 2), np.full((len(z), len(data)), 1 / len(data))
    log_q = logsumexp(log_components(mean, scale, samples).sum(2), axis=1) - math.log(len(mean))
    log_p = vae.prior().log_prob(torch.from_numpy(samples)).numpy()
    kernel = kernel_of(objective, z.shape[1])
    n = len(z)
    off = ~np.eye(n, dtype=bool)
    among = kernel(z, z)[off].mean() + kernel(samples, samples)[off].mean()
    at_codes = log_components(mean, scale, z).sum(2)
    log_q_codes = logsumexp(at_codes, axis=1, b=weights)
    log_p_codes = vae.prior().log_prob(torch.from_numpy(z)).numpy()
    return {
        "exclusive_kl": float(np.mean(log_q_codes - log_p_codes)),
        "inclusive_kl": float(np.mean(log_p - log_q)),
        "mmd": float(among - 2 * kernel(z, samples).mean()),
    }


def kernel_of(objective: Any, latents: int) -> Callable[[Floats, Floats], Floats]:
    """The kernel of an MMD between all pairs of rows, summed over its widths."""
    widths = 2 * latents * np.array(objective.scales)

    def kernel(a: Floats, b: Floats) -> Floats:
        squared = ((a[:, None] - b) ** 2).sum(2)[..., None]
        if objective.kernel == "gaussian":
            return np.asarray(np.exp(-squared / widths).sum(2))
        distance = squared if objective.norm == "squared" else np.sqrt(squared)
        return np.asarray((widths / (widths + distance)).sum(2))

    return kernel


def of_critic(vae: VAE, objective: Any, codes: Tensor, drawn: Draws) -> dict[str, Any]:
    """The discriminator's log-ratio at the codes.

    It holds the target at the present prior; the divergence itself falls with the mean of ``log p(z)``, ``z`` fixed.
    """
    if not hasattr(objective, "critic"):
        return {}
    logits = objective.critic(codes).numpy()
    ratio = float((logits[:, 0] - logits[:, 1]).mean())
    fixed = drawn.z[: len(codes)]
    moved = vae.prior().log_prob(fixed).mean().item() - drawn.log_prior
    return (
        {"total_correlation": ratio} if objective.target == "marginals" else {"aggregate_kl": ratio - moved}
    )


def total_by_hand(name: str, options: Any, of: dict[str, Any]) -> float:
    """The loss as the papers write it, from its terms."""
    kl = of["kl"]
    parts: dict[str, Callable[[], float]] = {
        "BetaVAE": lambda: options.beta * kl,
        "AnnealedVAE": lambda: options.gamma * abs(kl - options.capacity / 2),
        "FactorVAE": lambda: (
            kl + options.gamma * of["total_correlation" if options.target == "marginals" else "aggregate_kl"]
        ),
        "AAE": lambda: options.gamma * of["aggregate_kl"],
        "BetaTCVAE": lambda: (
            kl
            + (options.alpha - 1) * of["mutual_information"]
            + (options.beta - 1) * of["total_correlation"]
            + ((options.gamma - 1) * of["dimension_wise_kl"] if options.gamma != 1 else 0.0)
        ),
        "DIPVAE": lambda: (
            kl
            + options.lambda_od * of["covariance_off_diagonal"]
            + options.lambda_d * of["covariance_diagonal"]
        ),
        "InformationDropout": lambda: (
            options.beta * of["mutual_information"] + options.gamma * of["total_correlation"]
        ),
        "DecompositionVAE": lambda: options.beta * kl + options.alpha * of[options.divergence],
        "MaxEntropyVAE": lambda: kl - (options.beta - 1) * of["half_log_determinant"],
    }
    return float(of["reconstruction"] + parts[name]())


SHAPE, LATENTS, IMAGES, SIZE, STEP = (1, 4, 4), 3, 6, 50, 1e-5
CRITIC = {"critic_layers": 1, "critic_width": 8}
ESTIMATORS = ("mws", "mss", "split", "batch", "mixture")
MIDWAY = Progress(5, 10)

FORMS: dict[str, list[dict[str, Any]]] = {
    "BetaVAE": [{"beta": 4.0}],
    "AnnealedVAE": [{"gamma": 3.0, "capacity": 1.0}, {"gamma": 3.0, "capacity": 100.0}],
    "FactorVAE": [{"gamma": 6.0, "target": target, **CRITIC} for target in ("marginals", "prior")],
    "AAE": [{"gamma": 3.0, **CRITIC}],
    "BetaTCVAE": [
        {"alpha": 2.0, "beta": 6.0, "gamma": gamma, "estimator": estimator, "dataset_size": SIZE}
        for estimator, gamma in itertools.product(ESTIMATORS, (3.0, 1.0))
    ],
    "DIPVAE": [{"kind": kind, "lambda_od": 5.0, "lambda_d": 7.0} for kind in ("i", "ii")],
    "InformationDropout": [
        {"beta": 2.0, "gamma": 3.0, "estimator": estimator, "dataset_size": SIZE} for estimator in ESTIMATORS
    ],
    "DecompositionVAE": [
        {"alpha": 5.0, "beta": 2.0, "divergence": "inclusive_kl"},
        {"alpha": 5.0, "beta": 2.0, "divergence": "exclusive_kl", "dataset_size": SIZE},
        {"alpha": 5.0, "beta": 2.0, "divergence": "inclusive_kl", "aggregate": "data"},
        {"alpha": 5.0, "beta": 2.0, "divergence": "exclusive_kl", "aggregate": "data"},
        {"alpha": 5.0, "beta": 2.0, "divergence": "mmd"},
        {"alpha": 5.0, "beta": 2.0, "divergence": "mmd", "norm": "plain"},
        {"alpha": 5.0, "beta": 2.0, "divergence": "mmd", "kernel": "gaussian"},
    ],
    "MaxEntropyVAE": [{"beta": 4.0}],
}
LEARNED: dict[str, dict[str, Any]] = {
    "AnisotropicNormal": {"scales": "ones", "learned": True},
    "GeneralizedNormal": {"p": 1.5, "learned": True},
    "LpNested": {"tree": [[1, 1], 1], "learned": True, "learned_root": True},
    "ISA": {"learned": True},
}
FIXED = "StandardNormal"
LIKELIHOODS = [
    {"name": "Gaussian", "learned": True},
    {"name": "Bernoulli", "blur": "box", "blur_radius": 1, "blur_weight": 2.0},
    {"name": "MSE", "blur": "gaussian", "blur_radius": 1},
]
Cell = tuple[str, dict[str, Any], str]


def cells() -> list[Cell]:
    return [
        (name, options, prior) for name in FORMS for options in FORMS[name] for prior in (FIXED, *LEARNED)
    ]


def build(cell: Cell, likelihood: int = 0) -> tuple[VAE, Objective, Tensor]:
    """A VAE in double precision with codes that differ, its objective, and images."""
    name, options, prior = cell
    torch.manual_seed(0)
    vae = VAE.assemble(
        SHAPE,
        LATENTS,
        encoder={"name": "MLP", "hidden": [8]},
        decoder={"name": "MLP", "hidden": [8]},
        prior={"name": prior, **LEARNED.get(prior, {})},
        likelihood=LIKELIHOODS[likelihood],
    ).double()
    part = OBJECTIVES[name]
    objective = part(**accepted(part, latents=LATENTS), **options).double()
    with torch.no_grad():
        vae.encoder.linear[-1].weight.mul_(5)  # type: ignore[index, union-attr]
        for parameter in vae.prior.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    images = torch.rand(IMAGES * objective.batches, *SHAPE, dtype=torch.float64)
    if options.get("aggregate") == "data":
        objective.data = torch.cat([images, torch.rand(3, *SHAPE, dtype=torch.float64)])
    return vae, objective, images


def named_tensors(vae: VAE, objective: Objective) -> Iterator[tuple[str, nn.Parameter]]:
    yield from vae.named_parameters()
    yield from objective.named_parameters()


def gradients(value: Tensor, tensors: dict[str, nn.Parameter]) -> dict[str, Tensor]:
    """Zero where autograd has no path."""
    if not value.requires_grad:
        return {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    found = torch.autograd.grad(value, list(tensors.values()), retain_graph=True, allow_unused=True)
    return {
        name: torch.zeros_like(tensor) if gradient is None else gradient
        for (name, tensor), gradient in zip(tensors.items(), found, strict=True)
    }


def difference(
    value: Callable[[], dict[str, Any]], tensor: nn.Parameter, direction: Tensor
) -> dict[str, Any]:
    """Central differences of several values along a direction of one tensor."""
    ends, at = [], tensor.detach().clone()
    with torch.no_grad():
        for sign in (1, -1):
            tensor.copy_(at + sign * STEP * direction)
            ends.append(value())
        tensor.copy_(at)
    return {name: (np.asarray(ends[0][name]) - np.asarray(ends[1][name])) / (2 * STEP) for name in ends[0]}


def through_samples(objective: Objective, prior: str, tensor: str, term: str) -> bool:
    """Whether a gradient goes through a sampler without fixed noise; tests/priors/test_sampled_gradients.py has it."""
    divergence = getattr(objective, "divergence", None)
    sampled = divergence in ("inclusive_kl", "mmd") and term in ("total", divergence)
    return sampled and prior in ("GeneralizedNormal", "LpNested", "ISA") and tensor.startswith("prior.")


def check(cell: Cell, likelihood: int = 0, change: Callable[[Loss], Loss] = lambda loss: loss) -> str:
    """Compare all gradients of a cell, or "refused"; ``change`` seeds a fault."""
    vae, objective, images = build(cell, likelihood)
    try:
        objective.check(vae)
    except UnweaveError:
        return "refused"
    first = images.chunk(objective.batches)[0]
    drawn = draws(vae, first, seed=1)
    torch.manual_seed(1)
    loss = change(objective(vae, images, MIDWAY))
    assert loss.reconstruction is not None
    values = {"total": loss.total, "reconstruction": loss.reconstruction, **loss.terms}
    values.pop("capacity", None)
    tensors = dict(named_tensors(vae, objective))

    def reference() -> dict[str, Any]:
        found = terms_by_hand(vae, objective, images, drawn)
        found["total"] = total_by_hand(cell[0], objective, found)
        return {name: found[name] for name in values}

    generator = torch.Generator().manual_seed(2)
    for name, value in reference().items():
        np.testing.assert_allclose(values[name].detach().numpy(), value, rtol=1e-6, atol=1e-7, err_msg=name)
    found = {term: [gradients(part, tensors) for part in value.reshape(-1)] for term, value in values.items()}
    directions = {
        name: torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        for name, tensor in tensors.items()
    }
    expected = {name: difference(reference, tensor, directions[name]) for name, tensor in tensors.items()}
    for term, value in values.items():
        for place, name in itertools.product(range(value.numel()), tensors):
            if not through_samples(objective, cell[2], name, term):
                ours = float((found[term][place][name] * directions[name]).sum())
                theirs = float(expected[name][term].reshape(-1)[place])
                if name.startswith("critic."):  # in a step of the model the critic is fixed
                    assert ours == 0.0, f"{cell}: {term} trains {name}"
                else:
                    assert ours == pytest.approx(theirs, rel=2e-5, abs=2e-6), f"{cell}: {term} in {name}"
    return "compared"


def sample() -> list[tuple[Cell, int]]:
    """Every form of every objective with the priors in turn, and the likelihoods in turn."""
    priors = itertools.cycle((*LEARNED, FIXED))
    forms = [(name, options) for name in FORMS for options in FORMS[name]]
    return [((*form, next(priors)), i % len(LIKELIHOODS)) for i, form in enumerate(forms)]


def test_nothing_is_forgotten() -> None:
    """Every objective, every value of its named choices, and every prior with parameters."""
    assert set(FORMS) == set(OBJECTIVES)
    for name, part in OBJECTIVES.items():
        defaults = {option: parameter.default for option, parameter in options_of(part).items()}
        for option, hint in type_hints(part).items():
            if get_origin(hint) is Literal and not option.startswith("critic_"):  # those choose no term
                assert {form.get(option, defaults[option]) for form in FORMS[name]} == set(get_args(hint)), (
                    option
                )
    assert set(LEARNED) == {name for name, part in PRIORS.items() if "learned" in options_of(part)}


def test_gradients_of_a_sample_of_cells() -> None:
    outcomes = [check(cell, likelihood) for cell, likelihood in sample()]
    assert outcomes.count("compared") > 3 * outcomes.count("refused")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(FORMS))
def test_gradients_of_every_cell(name: str) -> None:
    outcomes = [
        check(cell, likelihood)
        for cell in cells()
        for likelihood in range(len(LIKELIHOODS))
        if cell[0] == name
    ]
    assert "compared" in outcomes
    refused = {
        "BetaTCVAE": 2 * 5,
        "InformationDropout": 4 * 5,
    }  # gamma != 1 with ISA, LpNested; learned priors
    assert outcomes.count("refused") == len(LIKELIHOODS) * refused.get(name, 0)


@pytest.mark.parametrize("prior", [FIXED, *LEARNED])
@pytest.mark.parametrize("index", range(3), ids=["FactorVAE", "FactorVAE to the prior", "AAE"])
def test_the_critic_follows_its_cross_entropy_and_nothing_else_does(index: int, prior: str) -> None:
    name, options = [*(("FactorVAE", form) for form in FORMS["FactorVAE"]), ("AAE", FORMS["AAE"][0])][index]
    vae, objective, images = build((name, options, prior))
    torch.manual_seed(1)
    loss = objective(vae, images, MIDWAY)
    torch.manual_seed(3)
    judged = objective.critic_loss(vae, images, loss, 0)
    assert loss.codes is not None
    torch.manual_seed(3)
    with torch.no_grad():
        if options.get("target") == "marginals":
            other = vae.infer(images.chunk(2)[1]).sample()
            order = torch.rand_like(other).argsort(0)
            other = torch.stack([other[order[:, j], j] for j in range(LATENTS)], 1)
        else:
            other = vae.prior().sample((IMAGES,))

    def cross_entropy() -> dict[str, Any]:
        with torch.no_grad():
            of_q, of_target = (objective.critic(codes).numpy() for codes in (loss.codes, other))  # type: ignore[operator]
        right = np.log1p(np.exp(of_q[:, 1] - of_q[:, 0])).mean()
        wrong = np.log1p(np.exp(of_target[:, 0] - of_target[:, 1])).mean()
        return {"loss": (right + wrong) / 2}

    assert judged.total.item() == pytest.approx(cross_entropy()["loss"], rel=1e-12)
    tensors = dict(objective.named_parameters())
    found = gradients(judged.total, tensors)
    generator = torch.Generator().manual_seed(2)
    for name, tensor in tensors.items():
        direction = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        theirs = difference(cross_entropy, tensor, direction)["loss"]
        assert float((found[name] * direction).sum()) == pytest.approx(theirs, rel=1e-6, abs=1e-9), name
    of_model = gradients(judged.total, dict(vae.named_parameters()))
    assert all(not gradient.any() for gradient in of_model.values())


def faulty(term: str, kind: str) -> Callable[[Loss], Loss]:
    """A loss in which one term is detached, doubled or of the other sign, in itself or in the total alone."""
    factor = {"detached": 0.0, "doubled": 2.0, "flipped": -1.0}[kind.split()[0]]

    def change(loss: Loss) -> Loss:
        value = loss.terms[term]
        other = factor * value
        if kind not in ("doubled", "flipped"):  # as a wrong backward pass would: the value stays
            other = other + (1 - factor) * value.detach()
        named = loss.terms if kind.endswith("in the total alone") else {**loss.terms, term: other}
        return replace(loss, total=loss.total - value + other, terms=named)

    return change


FAULTS = [
    (cell, term)
    for cell, term in (
        (("BetaVAE", FORMS["BetaVAE"][0], "ISA"), "kl"),
        (("FactorVAE", FORMS["FactorVAE"][0], "AnisotropicNormal"), "total_correlation"),
        (("FactorVAE", FORMS["FactorVAE"][1], "ISA"), "aggregate_kl"),
        (("AAE", FORMS["AAE"][0], "AnisotropicNormal"), "aggregate_kl"),
        (("BetaTCVAE", FORMS["BetaTCVAE"][0], "GeneralizedNormal"), "dimension_wise_kl"),
        (("BetaTCVAE", FORMS["BetaTCVAE"][3], "LpNested"), "mutual_information"),
        (("DIPVAE", FORMS["DIPVAE"][1], FIXED), "covariance_diagonal"),
        (("DecompositionVAE", FORMS["DecompositionVAE"][0], "AnisotropicNormal"), "inclusive_kl"),
        (("DecompositionVAE", FORMS["DecompositionVAE"][1], "LpNested"), "exclusive_kl"),
        (("DecompositionVAE", FORMS["DecompositionVAE"][4], "ISA"), "mmd"),
        (("MaxEntropyVAE", FORMS["MaxEntropyVAE"][0], FIXED), "half_log_determinant"),
    )
]


@pytest.mark.parametrize(
    "kind",
    [
        *("detached in the gradient", "doubled in the gradient", "flipped in the gradient"),
        *("detached in the total alone", "doubled", "flipped"),
    ],
)
@pytest.mark.parametrize(("cell", "term"), FAULTS, ids=[f"{cell[0]}-{term}" for cell, term in FAULTS])
def test_a_seeded_fault_is_noticed(cell: Cell, term: str, kind: str) -> None:
    with pytest.raises(AssertionError):
        check(cell, change=faulty(term, kind))
