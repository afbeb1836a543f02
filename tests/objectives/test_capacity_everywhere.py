"""A capacity holds every rate: w KL becomes w |KL - C|, on both sides of C and away from |KL - C| = KL."""

from typing import Any

import pytest
import torch
from torch import Tensor

from unweave.objectives import OBJECTIVES, Annealed, Loss, Objective, Progress
from unweave.runs import Config
from unweave.slots import accepted, options_of
from unweave.vae import VAE

LATENTS, SHAPE = 3, (1, 8, 8)
TINY = {"encoder": {"name": "MLP", "hidden": [8]}, "decoder": {"name": "MLP", "hidden": [8]}}
HELD = {"InformationDropout": "mutual_information"}
OWN_WEIGHT = {"BetaVAE": 3.0, "InformationDropout": 3.0, "DecompositionVAE": 3.0}
WITH_A_RATE = [
    *(
        "BetaVAE",
        "FactorVAE",
        "BetaTCVAE",
        "DIPVAE",
        "DecompositionVAE",
        "MaxEntropyVAE",
        "InformationDropout",
    )
]


def made(name: str) -> Objective:
    part = OBJECTIVES[name]
    options: dict[str, Any] = {"dataset_size": 50, "critic_layers": 1, "critic_width": 8}
    options = {key: value for key, value in options.items() if key in options_of(part)}
    if name in OWN_WEIGHT:
        options["beta"] = OWN_WEIGHT[name]
    return part(**accepted(part, latents=LATENTS), **options)


def evaluated(name: str, capacity: float | None = None, progress: Progress = Progress(0, 1)) -> Loss:
    """The loss of the same objective, VAE, images and noise; the capacity is reached at once."""
    torch.manual_seed(0)
    vae, objective = VAE.assemble(SHAPE, LATENTS, **TINY).double(), made(name).double()
    with torch.no_grad():
        vae.encoder.linear[-1].weight.mul_(30)  # type: ignore[index, union-attr]  # so that the codes differ
    if capacity is not None:
        objective = Annealed(objective, capacity=capacity, steps=0)
    images = torch.rand(12, *SHAPE, dtype=torch.float64)
    torch.manual_seed(1)
    return objective(vae, images, progress)


def test_every_objective_with_a_rate_is_here() -> None:
    assert {name for name, part in OBJECTIVES.items() if part.held is not None} == set(WITH_A_RATE)


@pytest.mark.parametrize("name", WITH_A_RATE)
@pytest.mark.parametrize("share", [0.0, 0.25, 3.5])
def test_the_rate_is_held_at_the_capacity(name: str, share: float) -> None:
    plain = evaluated(name)
    rate = plain.terms[HELD.get(name, "kl")].item()
    capacity = share * abs(rate)
    held = evaluated(name, capacity).total.item()
    expected = plain.total.item() + OWN_WEIGHT.get(name, 1.0) * (abs(rate - capacity) - rate)
    assert abs(rate) > 1e-3
    assert held == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", WITH_A_RATE)
def test_below_the_capacity_the_rate_is_pushed_up(name: str) -> None:
    """The gradient of the held term changes sign where the rate crosses the capacity."""

    def gradient(capacity: float | None) -> Tensor:
        torch.manual_seed(0)
        vae, objective = VAE.assemble(SHAPE, LATENTS, **TINY).double(), made(name).double()
        with torch.no_grad():
            vae.encoder.linear[-1].weight.mul_(30)  # type: ignore[index, union-attr]
        wrapped = objective if capacity is None else Annealed(objective, capacity=capacity, steps=0)
        torch.manual_seed(1)
        wrapped(vae, torch.rand(12, *SHAPE, dtype=torch.float64), Progress(0, 1)).total.backward()
        return vae.encoder.linear[-1].bias.grad.clone()  # type: ignore[index, union-attr]

    plain, above, below = gradient(None), gradient(0.0), gradient(1e6)
    rate = evaluated(name).terms[HELD.get(name, "kl")].item()
    assert rate > 0
    torch.testing.assert_close(above, plain)
    assert not torch.allclose(below, plain, rtol=1e-3)


@pytest.mark.parametrize(
    ("step", "steps", "capacity_steps", "reached"),
    [(0, 100, None, 0.0), (50, 100, None, 0.5), (10, 100, 40, 0.25), (70, 100, 40, 1.0), (0, 100, 0, 1.0)],
)
def test_the_capacity_of_a_config_grows_linearly(
    step: int, steps: int, capacity_steps: int | None, reached: float
) -> None:
    settings = {"data": "circles", "latents": 3, "objective": {"name": "BetaVAE", "beta": 2.0}}
    settings |= {"capacity": 8.0, "capacity_steps": capacity_steps, **TINY}
    config = Config.of(settings)
    torch.manual_seed(0)
    model = config.make_model(SHAPE)
    loss = config.make_objective(model)(model, torch.rand(4, *SHAPE), Progress(step, steps))
    assert loss.terms["capacity"].item() == pytest.approx(8.0 * reached)
    assert loss.reconstruction is not None
    expected = loss.reconstruction + 2 * (loss.terms["kl"] - 8.0 * reached).abs()
    torch.testing.assert_close(loss.total, expected)
