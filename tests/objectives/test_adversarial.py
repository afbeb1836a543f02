import copy
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unweave.data import XYSquares
from unweave.gan import InfoGAN, InfoWGANGP
from unweave.objectives import AAE, Annealed, Averaged, FactorVAE, Loss, Objective, Progress
from unweave.training import train
from unweave.training.checkpoints import Checkpoints
from unweave.training.randomness import generator, seed_torch
from unweave.vae import VAE

LATENTS = 3
SHAPE = (3, 64, 64)
TINY = {"encoder": {"name": "MLP", "hidden": [8]}, "decoder": {"name": "MLP", "hidden": [8]}}
SMALL = {"critic_layers": 2, "critic_width": 16}


def pair(name: str) -> tuple[Any, Objective]:
    torch.manual_seed(0)
    if name == "InfoGAN":
        gan: Any = InfoGAN(SHAPE, channels=(4, 4), hidden=8, noise=2, critic_steps=2)
    elif name == "InfoWGANGP":
        gan = InfoWGANGP(SHAPE, channels=(4, 4), hidden=8, noise=2, critic_steps=2)
    else:
        vae = VAE.assemble(SHAPE, LATENTS, **TINY)
        objectives = {
            "FactorVAE": FactorVAE(LATENTS, **SMALL),
            "FactorVAE to the prior": FactorVAE(LATENTS, target="prior", **SMALL),
            "AAE": AAE(LATENTS, **SMALL),
            "averaged, annealed FactorVAE": Averaged(Annealed(FactorVAE(LATENTS, **SMALL), capacity=5.0)),
        }
        return vae, objectives[name]
    return gan, gan.game()


ADVERSARIAL = [
    "FactorVAE",
    "FactorVAE to the prior",
    "AAE",
    "averaged, annealed FactorVAE",
    "InfoGAN",
    "InfoWGANGP",
]


def snapshot(parameters: list[nn.Parameter]) -> list[tuple[Tensor, Tensor | None]]:
    return [(p.detach().clone(), None if p.grad is None else p.grad.clone()) for p in parameters]


def assert_untouched(parameters: list[nn.Parameter], before: list[tuple[Tensor, Tensor | None]]) -> None:
    for parameter, (value, gradient) in zip(parameters, before, strict=True):
        assert torch.equal(parameter, value)
        assert (parameter.grad is None) == (gradient is None)
        assert gradient is None or torch.equal(parameter.grad, gradient)


@pytest.mark.parametrize("name", ADVERSARIAL)
@pytest.mark.parametrize("already", [False, True])
def test_no_step_touches_a_weight_or_a_gradient_of_the_other_player(name: str, already: bool) -> None:
    """Bit for bit, whether gradients of an earlier step are still there or not."""
    model, objective = pair(name)
    critic = objective.critic_parameters(model)
    own = [p for p in model.parameters() if all(p is not c for c in critic)]
    assert critic
    assert own
    optimizer, critic_optimizer = torch.optim.Adam(own, 0.1), torch.optim.Adam(critic, 0.1)
    if already:
        for parameter in (*own, *critic):
            parameter.grad = torch.randn_like(parameter)
    images = torch.rand(4 * objective.batches, *SHAPE)

    before = snapshot(critic)
    loss = objective(model, images, Progress(0, 1))
    optimizer.zero_grad()
    loss.total.backward()
    optimizer.step()
    assert_untouched(critic, before)
    assert all(p.requires_grad for p in critic)

    for turn in range(objective.critic_turns):
        before, of_critic = snapshot(own), snapshot(critic)
        judged = objective.critic_loss(model, images, loss, turn)
        critic_optimizer.zero_grad()
        judged.total.backward()
        critic_optimizer.step()
        assert_untouched(own, before)
        assert all(
            not torch.equal(p, value)
            for p, (value, _) in zip(critic, of_critic, strict=True)
            if value.dim() > 1
        )


def test_factor_vae_is_algorithm_2_to_the_letter() -> None:
    """Three steps of a literal re-implementation: the same VAE and the same discriminator."""
    model, objective = pair("FactorVAE")
    assert isinstance(objective, FactorVAE)
    vae, critic = copy.deepcopy(model), copy.deepcopy(objective.critic)
    data = XYSquares()
    train(model, objective, data, steps=3, batch_size=5, learning_rate=1e-2, seed=4)

    g = torch.optim.Adam(vae.parameters(), 1e-2, betas=(0.9, 0.999))
    g_d = torch.optim.Adam(critic.parameters(), 1e-4, betas=(0.5, 0.9))
    with torch.random.fork_rng():
        for step in range(3):
            seed_torch(4, "noise", step)
            rng = generator(4, "data", step)
            x, x_other = (torch.from_numpy(data.sample(5, rng).images).float() / 255 for _ in range(2))
            mean, log_variance = vae.encoder(x).chunk(2, 1)
            z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
            p = vae.decoder(z)
            bernoulli = nn.functional.binary_cross_entropy_with_logits(p, x, reduction="none").sum((1, 2, 3))
            kl = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1)
            d = critic(z).softmax(1)[:, 0]
            theta = (bernoulli + kl + 35.0 * (d / (1 - d)).log()).mean()
            vae.zero_grad()
            theta.backward()
            g.step()

            with torch.no_grad():
                z = z.detach()
                mean, log_variance = vae.encoder(x_other).chunk(2, 1)  # with the parameters after the step
                z_other = torch.normal(mean, (0.5 * log_variance).exp())
                keys = torch.rand(z_other.shape)
                permuted = torch.stack([z_other[keys[:, j].argsort(), j] for j in range(LATENTS)], 1)
            psi = (
                -(critic(z).softmax(1)[:, 0].log().sum() + critic(permuted).softmax(1)[:, 1].log().sum()) / 10
            )
            critic.zero_grad()
            psi.backward()
            g_d.step()
    for ours, literal in zip(model.parameters(), vae.parameters(), strict=True):
        torch.testing.assert_close(ours, literal, rtol=1e-3, atol=2e-4)
    for ours, literal in zip(objective.critic.parameters(), critic.parameters(), strict=True):
        torch.testing.assert_close(ours, literal, rtol=1e-4, atol=2e-5)


def test_the_discriminators_codes_are_those_of_the_first_batch_and_the_permuted_second() -> None:
    seen: list[Tensor] = []

    class Spy(nn.Module):
        latents = 2

        def forward(self, codes: Tensor) -> Tensor:
            seen.append(codes)
            return torch.zeros(len(codes), 2)

    objective = FactorVAE(2, **SMALL)
    objective.critic = Spy()  # type: ignore[assignment]
    second = torch.arange(100.0, 108.0).view(4, 2)
    vae = SimpleNamespace(infer=lambda images: SimpleNamespace(sample=lambda: images))
    codes = torch.arange(8.0).view(4, 2)
    objective.critic_loss(vae, torch.cat([torch.zeros(4, 2), second]), Loss(torch.zeros(()), codes=codes), 0)  # type: ignore[arg-type]
    assert torch.equal(seen[0], codes)
    assert torch.equal(seen[1].sort(0).values, second)


@pytest.mark.parametrize("covariance", [0.8, 0.5])
def test_a_trained_discriminator_reports_the_total_correlation_of_gaussians(covariance: float) -> None:
    """Within 10 % of -1/2 log det of the correlations of three tied codes, trained by FactorVAE's own critic loss."""
    torch.manual_seed(0)
    matrix = torch.full((3, 3), covariance) + (1 - covariance) * torch.eye(3)
    q = torch.distributions.MultivariateNormal(torch.zeros(3), matrix)
    objective = FactorVAE(3, critic_layers=2, critic_width=64)
    optimizer = torch.optim.Adam(objective.critic.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 900)
    vae: Any = SimpleNamespace(infer=lambda codes: SimpleNamespace(sample=lambda: codes))
    for _ in range(900):
        loss = Loss(torch.zeros(()), codes=q.sample((512,)))
        images = torch.cat([torch.zeros(512, 3), q.sample((512,))])
        judged = objective.critic_loss(vae, images, loss, 0)
        optimizer.zero_grad()
        judged.total.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        logits = objective.critic(q.sample((40_000,)))
    found = (logits[:, 0] - logits[:, 1]).mean().item()
    truth = -0.5 * math.log(torch.det(matrix).item())
    assert abs(found - truth) < 0.1 * truth
    assert judged.terms["discriminator_accuracy"].item() > 0.55


@pytest.mark.parametrize("name", ["FactorVAE", "AAE", "InfoWGANGP"])
@pytest.mark.parametrize("at", [1, 3])
def test_a_run_with_a_critic_resumes_bit_for_bit(tmp_path: Path, name: str, at: int) -> None:
    def trained(**options: Any) -> tuple[Any, Objective]:
        model, objective = pair(name)
        train(model, objective, XYSquares(), steps=5, batch_size=4, seed=2, **options)
        return model, objective

    whole = trained()
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) == at

    checkpoints = Checkpoints(tmp_path)
    trained(checkpoints=checkpoints, stop=stop)
    assert checkpoints.latest()["step"] == at
    resumed = trained(checkpoints=checkpoints)
    for ours, expected in zip(resumed, whole, strict=True):
        for key, value in expected.state_dict().items():
            assert torch.equal(ours.state_dict()[key], value), key


def test_the_history_holds_what_matters() -> None:
    wanted = {
        "FactorVAE": {"total_correlation", "discriminator_accuracy", "critic_loss", "kl_per_latent"},
        "AAE": {"aggregate_kl", "discriminator_accuracy"},
        "InfoGAN": {"discriminator_accuracy", "code_log_likelihood", "kl_per_latent"},
        "InfoWGANGP": {"critic_gap", "gradient_penalty", "code_log_likelihood"},
    }
    for name, keys in wanted.items():
        records: list[dict[str, Any]] = []
        model, objective = pair(name)
        train(model, objective, XYSquares(), steps=1, batch_size=4, record=records.append)
        assert keys <= set(records[0]), name


def test_a_critic_that_breaks_ends_the_run() -> None:
    model, objective = pair("FactorVAE")
    with torch.no_grad():
        next(iter(objective.critic.parameters())).mul_(0).add_(1e38)  # type: ignore[union-attr]
    outcome = train(model, objective, XYSquares(), steps=3, batch_size=4)
    assert outcome.status == "diverged"


@pytest.mark.parametrize("kind", [FactorVAE, AAE])
def test_layers_and_slope_of_the_discriminator_are_options(kind: type) -> None:
    critic = kind(3, critic_layers=2, critic_width=5, critic_slope=0.01).critic
    slopes = [module.negative_slope for module in critic.modules() if isinstance(module, torch.nn.LeakyReLU)]
    assert slopes == [0.01, 0.01]
    assert [m.out_features for m in critic.modules() if isinstance(m, torch.nn.Linear)] == [5, 5, 2]
    usual = [m for m in kind(3).critic.modules() if isinstance(m, torch.nn.LeakyReLU)]
    assert [m.negative_slope for m in usual] == [0.2] * 6
