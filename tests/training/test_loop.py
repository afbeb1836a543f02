import copy
import dataclasses
import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from unweave.data import Circles
from unweave.errors import UnweaveError
from unweave.objectives import BetaVAE, FactorVAE, Loss, Objective, Progress
from unweave.optimizers import Adam, Optimizer, Trained
from unweave.runs import Config
from unweave.schedules import Schedule, Stage
from unweave.training import Outcome, Trainer, train
from unweave.training.checkpoints import Checkpoints
from unweave.training.data_parallel import ALONE
from unweave.training.loop import HOOKS, KEPT, PARTS
from unweave.training.randomness import generator, seed_torch
from unweave.training.state import TrainingState
from unweave.training.trainer import Settings
from unweave.vae import VAE


def fresh(seed: int = 0) -> VAE:
    torch.manual_seed(seed)
    small = {"channels": (4, 4), "hidden": (8,)}
    return VAE.assemble(
        (3, 32, 32), 2, encoder={"name": "Conv", **small}, decoder={"name": "Deconv", **small}
    )


def trained(steps: int = 6, **options: object) -> tuple[VAE, Outcome]:
    vae = fresh()
    outcome = train(
        vae, BetaVAE(), Circles(size=32), steps=steps, batch_size=4, learning_rate=1e-3, **options
    )
    return vae, outcome


def assert_same_weights(one: VAE, two: VAE) -> None:
    for (name, a), b in zip(one.state_dict().items(), two.state_dict().values(), strict=True):
        assert torch.equal(a, b), name


def test_one_step_is_adam_on_the_gradient_of_the_objective() -> None:
    vae, _ = trained(steps=1, seed=3)
    reference = fresh()
    seed_torch(3, "noise", 0)
    images = torch.from_numpy(Circles(size=32).sample(4, generator(3, "data", 0)).images).float() / 255
    BetaVAE()(reference, images, Progress(0, 1)).total.backward()
    for ours, theirs in zip(vae.parameters(), reference.parameters(), strict=True):
        # Adam's first step is the learning rate times g / (|g| + eps)
        gradient = theirs.grad
        expected = theirs - 1e-3 * gradient / (gradient.abs() + 1e-8)
        solid = gradient.abs() > 1e-4
        torch.testing.assert_close(ours[solid], expected[solid], rtol=0, atol=2e-6)


def test_one_seed_gives_identical_weights_and_another_seed_others() -> None:
    assert_same_weights(trained(seed=1)[0], trained(seed=1)[0])
    different = zip(trained(seed=1)[0].parameters(), trained(seed=2)[0].parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in different)


def test_the_callers_random_numbers_are_left_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    fresh_vae = fresh()
    torch.manual_seed(7)
    train(fresh_vae, BetaVAE(), Circles(size=32), steps=1, batch_size=2)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("at", [1, 3, 5])
def test_stopped_and_resumed_is_the_same_as_never_stopped(tmp_path: Path, at: int) -> None:
    whole, _ = trained()
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) == at

    checkpoints = Checkpoints(tmp_path)
    _, outcome = trained(checkpoints=checkpoints, stop=stop)
    assert outcome == Outcome("interrupted", at, "stopped by the user")
    starts: list[int] = []
    resumed, outcome = trained(checkpoints=checkpoints, resumed=starts.append)
    assert outcome == Outcome("finished", 6)
    assert starts == [at]
    assert_same_weights(whole, resumed)


class Breaks(Objective):
    """A loss that turns bad at the third step."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        loss = BetaVAE()(vae, images, progress)
        bad = loss.total * self.value
        return Loss(bad if progress.step == 2 else loss.total, loss.reconstruction, loss.terms)


@pytest.mark.parametrize(("value", "told"), [(float("nan"), "nan"), (float("inf"), "inf"), (1e6, "e+09")])
def test_a_bad_loss_ends_the_run_and_the_last_good_state_stays(
    tmp_path: Path, value: float, told: str
) -> None:
    vae = fresh()
    checkpoints = Checkpoints(tmp_path)
    outcome = train(
        vae,
        Breaks(value),
        Circles(size=32),
        steps=6,
        batch_size=4,
        checkpoints=checkpoints,
        checkpoint_seconds=0,
    )
    assert outcome.status == "diverged"
    assert outcome.step == 2
    assert outcome.reason is not None
    assert told in outcome.reason
    assert "at step 3" in outcome.reason
    state = checkpoints.latest()
    assert state["step"] == 2
    assert all(torch.isfinite(tensor).all() for tensor in state["vae"].values())


class Poisons(Objective):
    """A finite loss whose gradient is not."""

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        loss = BetaVAE()(vae, images, progress)
        poison = (loss.reconstruction - loss.reconstruction).sqrt() if progress.step == 1 else 0.0
        return Loss(loss.total + poison, loss.reconstruction, loss.terms)


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    outcome = train(
        fresh(),
        Poisons(),
        Circles(size=32),
        steps=4,
        batch_size=4,
        checkpoints=checkpoints,
        checkpoint_seconds=0,
    )
    assert outcome == Outcome("diverged", 2, "a weight is not finite after step 2")
    assert checkpoints.latest()["step"] == 1


def test_records_hold_the_terms_of_the_logged_steps() -> None:
    records: list[dict[str, object]] = []
    trained(steps=7, log_every=3, record=records.append)
    assert [record["step"] for record in records] == [1, 3, 6, 7]
    for record in records:
        assert record["total"] == pytest.approx(record["reconstruction"] + record["kl"], rel=1e-5)
        assert sum(record["kl_per_latent"]) == pytest.approx(record["kl"], rel=1e-5)


def test_objective_and_data_are_instances_classes_names_or_mappings() -> None:
    whole, _ = trained(steps=2)
    for objective, data in (
        (BetaVAE, {"name": "circles", "size": 32}),
        ("beta-vae", {"name": Circles, "size": 32}),
        ({"name": "BetaVAE", "beta": 1}, Circles(size=32)),
    ):
        vae = fresh()
        assert train(vae, objective, data, steps=2, batch_size=4, learning_rate=1e-3).status == "finished"
        assert_same_weights(vae, whole)
    with pytest.raises(UnweaveError, match="did you mean BetaVAE"):
        train(fresh(), "beta-vaee", Circles(size=32), steps=1)


def test_a_state_with_more_in_it_than_today_still_restores() -> None:
    """A later version may save more; what this one saves is what it reads."""
    vae, _ = trained(steps=2)
    state = TrainingState(vae, BetaVAE(), learning_rate=1e-3)
    saved = state.to_checkpoint()
    assert list(saved) == ["step", "first_total", "vae", "objective", "optimizer", "critic_optimizer"]
    other = TrainingState(fresh(seed=1), BetaVAE(), learning_rate=1e-3)
    other.restore({**saved, "step": 7, "schedule": {"factor": 0.5}})
    assert other.step == 7
    assert_same_weights(other.model, vae)


def test_steps_by_hand_are_the_steps_of_the_loop() -> None:
    whole, _ = trained(steps=3)
    vae = fresh()
    trainer = Trainer(vae, BetaVAE(), Circles(size=32), Settings(3, batch_size=4, learning_rate=1e-3))
    totals = [trainer.step().to_record(trainer.state.step)["total"] for _ in range(3)]
    assert trainer.state.step == 3
    assert totals[0] == trainer.state.first_total
    assert_same_weights(vae, whole)


class Sgd(Optimizer):
    """A stranger's optimiser that remembers what it was given."""

    def __init__(self) -> None:
        self.built: list[tuple[int, float, tuple[float, float]]] = []

    def build(self, trained: Trained, learning_rate: float) -> torch.optim.Optimizer:
        self.built.append((sum(p.numel() for p in trained.parameters), learning_rate, trained.betas))
        return torch.optim.SGD(trained.parameters, lr=learning_rate)


def test_another_optimizer_gets_the_parameters_of_model_and_critic_apart() -> None:
    vae, objective, sgd = fresh(), FactorVAE(2, critic_width=4, critic_layers=1), Sgd()
    state = TrainingState(vae, objective, 0.5, sgd, sgd)
    sizes = [sum(p.numel() for p in part.parameters()) for part in (vae, objective)]
    assert sgd.built == [
        (sizes[0], 0.5, objective.betas),
        (sizes[1], objective.critic_learning_rate, objective.critic_betas),
    ]
    before = [p.clone() for p in vae.parameters()]
    state.update_model(sum(p.sum() for p in vae.parameters()))
    for old, new in zip(before, vae.parameters(), strict=True):
        torch.testing.assert_close(new, old - 0.5)


def test_data_of_another_shape_is_refused() -> None:
    with pytest.raises(UnweaveError, match=r"the VAE takes images \(3, 32, 32\), Circles has \(3, 64, 64\)"):
        train(fresh(), BetaVAE(), Circles(), steps=1)


def test_streams_and_steps_draw_different_numbers() -> None:
    draws = {
        generator(s, name, t).integers(2**62) for s in (0, 1) for name in ("data", "noise") for t in (0, 1, 2)
    }
    assert len(draws) == 12


def test_a_display_is_told_every_step_and_the_losses_of_those_that_are_logged() -> None:
    class Noted:
        def __init__(self) -> None:
            self.told: list[tuple[int, int | None]] = []

        def show(self, step: int, record: dict[str, object] | None) -> None:
            self.told.append((step, None if record is None else record["step"]))

    display = Noted()
    trained(steps=6, log_every=3, display=display)
    assert display.told == [(1, 1), (2, None), (3, 3), (4, None), (5, None), (6, 6)]


def test_a_schedule_is_given_images_of_the_seed_and_the_step() -> None:
    class Looks(Schedule):
        def __init__(self) -> None:
            self.seen: list[Tensor] = []

        def rate(self, progress: Progress) -> float:
            return 1.0

        def before_step(self, stage: Stage) -> None:
            assert torch.equal(stage.draw(3), stage.draw(3))
            self.seen.append(stage.draw(3))

    looks = Looks()
    trained(steps=2, seed=5, schedule=looks)
    for step, seen in enumerate(looks.seen):
        expected = Circles(size=32).sample(3, generator(5, "schedule", step)).images
        torch.testing.assert_close(seen, torch.from_numpy(expected).float() / 255)


def test_states_are_saved_once_in_so_many_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[int] = []

    class Noted(Checkpoints):
        def save(self, state: dict[str, object]) -> None:
            saved.append(state["step"])
            super().save(state)

    settings = Settings(steps=8, batch_size=4, checkpoint_seconds=3.0)
    trainer = Trainer(fresh(), BetaVAE(), Circles(size=32), settings, checkpoints=Noted(tmp_path))
    clock = SimpleNamespace(monotonic=lambda: 1000.0 + trainer.state.step)  # a step takes a second
    monkeypatch.setattr("unweave.training.trainer.time", clock)
    trainer.run()
    assert saved == [0, 3, 6, 8]


def test_a_state_with_a_critic_goes_on_where_it_was() -> None:
    images = torch.from_numpy(Circles(size=32).sample(8, generator(0, "data")).images).float() / 255
    states = [
        TrainingState(fresh(), FactorVAE(2, critic_layers=1, critic_width=8), 1e-3, Adam(), Adam())
        for _ in range(2)
    ]
    first, second = states

    def step(state: TrainingState) -> None:
        torch.manual_seed(state.step)
        loss = state.objective(state.model, images, Progress(state.step, 9))
        state.update_model(loss.total, ALONE)
        state.update_critic(state.objective.critic_loss(state.model, images, loss, 0).total, ALONE)
        state.step += 1

    step(first)
    second.restore(copy.deepcopy(first.to_checkpoint()))
    for state in states:
        step(state)
    assert_same_weights(first.model, second.model)
    assert_same_weights(first.objective, second.objective)


def test_an_objective_by_name_is_given_the_size_of_the_code() -> None:
    assert train(fresh(), "FactorVAE", Circles(size=32), steps=1, batch_size=4).status == "finished"


@pytest.mark.parametrize("key", ["batch_size", "learning_rate", "seed"])
def test_the_defaults_of_a_call_are_those_of_a_config(key: str) -> None:
    default = inspect.signature(train).parameters[key].default
    assert default == getattr(Config.of({"data": "circles"}), key) == getattr(Settings(steps=1), key)


def test_every_argument_of_train_is_handed_on() -> None:
    """It is by name: a misspelt one would be lost without a word."""
    given = set(inspect.signature(train).parameters)
    own = {"vae", "objective", "dataset", "quiet", "stop"}
    settings = {field.name for field in dataclasses.fields(Settings)}
    assert given == own | settings | set(HOOKS)
    trainer = inspect.signature(Trainer).parameters.values()
    assert set(HOOKS) == {each.name for each in trainer if each.kind == each.KEYWORD_ONLY}
    assert set(KEPT) <= settings and set(PARTS) <= settings
