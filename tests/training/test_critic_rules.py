"""The critic's optimiser and schedule, clipped gradients and averaged weights, each against what it must do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from unweave.data import Circles
from unweave.objectives import BetaVAE, FactorVAE, Progress
from unweave.optimizers import Adam, Muon
from unweave.runs import Config, Run
from unweave.schedules import Linear, Stage, Unfolding
from unweave.training.checkpoints import Checkpoints
from unweave.training.trainer import Settings, Trainer
from unweave.vae import VAE

TINY: dict[str, Any] = {key: {"name": "MLP", "hidden": [8]} for key in ("encoder", "decoder")}
STEPS = 6


def trainer(objective: Any = None, prior: str = "StandardNormal", **settings: Any) -> Trainer:
    torch.manual_seed(0)
    vae = VAE.assemble((3, 32, 32), 3, **TINY, prior=prior)
    objective = FactorVAE(3, critic_layers=2, critic_width=24) if objective is None else objective
    given = {"batch_size": 4, "learning_rate": 1e-3, **settings}
    return Trainer(vae, objective, Circles(size=32), Settings(STEPS, **given))


def rates(optimizer: torch.optim.Optimizer | None) -> list[float]:
    assert optimizer is not None
    return [group["lr"] for group in optimizer.param_groups]


def test_the_critic_follows_its_own_schedule() -> None:
    there = trainer(critic_schedule=Linear(final=0.0), schedule=Linear(hold=0.5, final=0.1))
    expected = [(1e-3 * (1 if s <= 3 else 0.1 + 0.9 * (6 - s) / 3), 1e-4 * (6 - s) / 6) for s in range(STEPS)]
    for model, critic in expected:
        there.step()
        assert rates(there.state.optimizer) == pytest.approx([model])
        assert rates(there.state.critic_optimizer) == pytest.approx([critic])


def test_muon_trains_a_critic_and_takes_over_when_its_time_has_come() -> None:
    there = trainer(critic_optimizer=Muon(begins=0.5))
    optimizer: Any = there.state.critic_optimizer
    [matrix] = [p for p in there.state.critic_parameters if p.ndim == 2 and min(p.shape) > 16]
    kept = []
    for _ in range(STEPS):
        there.step()
        kept.append(set(optimizer.state[matrix]))
    assert kept == [{"step", "exp_avg", "exp_avg_sq"}] * 3 + [{"momentum"}] * 3


@pytest.mark.parametrize("of", ["model", "critic"])
def test_longer_gradients_are_cut_to_the_norm_and_shorter_ones_left_alone(of: str) -> None:
    def gradients(clip_norm: float | None) -> torch.Tensor:
        there = trainer(clip_norm=clip_norm)
        there.step()
        state = there.state
        weights = state.parameters if of == "model" else state.critic_parameters
        return torch.cat([p.grad.flatten() for p in weights if p.grad is not None])

    whole = gradients(None)
    norm = whole.norm().item()
    # The critic sees codes that are drawn after the model's step, which is cut too: hence its tolerance.
    tolerance = {"rtol": 1e-5, "atol": 0.0} if of == "model" else {"rtol": 1e-2, "atol": 1e-2 * norm}
    torch.testing.assert_close(gradients(2 * norm), whole, **tolerance)
    cut = gradients(0.5 * norm)
    torch.testing.assert_close(cut, 0.5 * whole, **tolerance)
    assert cut.norm().item() == pytest.approx(0.5 * norm, rel=1e-4)


@pytest.mark.parametrize("decay", [0.6, 0.999])
def test_the_average_is_that_of_the_weights_after_each_step(decay: float) -> None:
    there = trainer(BetaVAE(), weight_average=decay)
    seen: list[dict[str, torch.Tensor]] = []
    step = there.state.update_model

    def watched(*given: Any) -> None:
        step(*given)
        seen.append({name: w.double().clone() for name, w in there.state.model.state_dict().items()})

    there.state.update_model = watched  # type: ignore[method-assign]
    assert there.run().status == "finished"
    shares = [1.0]
    for t in range(1, STEPS):
        new = max(1 - decay, 1 / (t + 1))
        shares = [share * (1 - new) for share in shares] + [new]
    assert sum(shares) == pytest.approx(1.0)
    for name, weight in there.state.model.state_dict().items():
        expected = sum(share * weights[name] for share, weights in zip(shares, seen, strict=True))
        torch.testing.assert_close(weight.double(), expected, rtol=1e-5, atol=1e-7)


def test_training_itself_is_the_same_with_an_average() -> None:
    totals = []
    for decay in (None, 0.9):
        there = trainer(BetaVAE(), weight_average=decay, optimizer=Adam())
        totals.append([there.step().model.total.item() for _ in range(STEPS)])
    assert totals[0] == totals[1]


def test_a_turned_code_turns_the_average_along() -> None:
    """The average of weights before and after a turn would compute other images than either."""
    there = trainer(
        BetaVAE(), weight_average=0.999, schedule=Unfolding(turns=(0.5,), least_gain=-1.0, opens=((0.0, 3),))
    )
    there.resume()
    for _ in range(3):
        there.step()
    state = there.state
    assert state.average is not None
    images = there._draw(8)
    codes = [model.encode(images).mean.detach() for model in (state.model, state.average.model)]
    stage = Stage(state.model, state.optimizer, there._draw, Progress(3, STEPS), state.average.model)
    there.settings.schedule.before_step(stage)
    turned = [model.encode(images).mean.detach() for model in (state.model, state.average.model)]
    rotation = torch.linalg.lstsq(codes[0].double(), turned[0].double()).solution
    assert (rotation - torch.eye(3)).abs().max() > 0.01, "no turn"
    torch.testing.assert_close(codes[1].double() @ rotation, turned[1].double(), rtol=1e-3, atol=1e-4)


def test_a_finished_run_and_its_checkpoints_hold_the_average(tmp_path: Path) -> None:
    words = ["data=circles", "data.size=32", "steps=6", "batch_size=4", "latents=2", "learning_rate=1e-2"]
    words += ["encoder=MLP", "encoder.hidden=[8]", "decoder=MLP", "decoder.hidden=[8]"]
    averaged = Run.create(Config.read(words=[*words, "weight_average=0.9"]), tmp_path / "averaged")
    plain = Run.create(Config.read(words=words), tmp_path / "plain")
    taken = 0

    def stop() -> bool:
        nonlocal taken
        taken += 1
        return taken == 4

    assert averaged.train(stop=stop).status == "interrupted"
    saved = Checkpoints(averaged.folder / "checkpoints").latest()
    assert saved is not None
    opened = averaged.model().state_dict()
    for name, weight in saved["average"].items():
        assert torch.equal(opened[name], weight)
    assert any(not torch.equal(saved["average"][name], weight) for name, weight in saved["vae"].items())
    averaged.train()
    plain.train()
    one, two = (load_file(run.folder / "model.safetensors") for run in (averaged, plain))
    assert set(one) == set(two)
    assert any(not np.array_equal(one[name], two[name]) for name in one)
    totals = [[record["total"] for record in run.history] for run in (averaged, plain)]
    assert totals[0] == totals[1]
