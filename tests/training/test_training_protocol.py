"""What training promises beside its numbers: streams of randomness, when states are saved, when a run has diverged."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from unweave import train
from unweave.data import Circles, XYSquares
from unweave.objectives import BetaVAE, CriticLoss, Loss, Objective, Progress
from unweave.pairing import AdaGVAE
from unweave.training.checkpoints import Checkpoints
from unweave.training.randomness import generator, seed_torch
from unweave.vae import VAE

STREAMS = {"weights": 0, "data": 1, "noise": 2, "evaluation": 3, "scores": 4, "prior": 5}


def small(**parts: Any) -> VAE:
    torch.manual_seed(0)
    tiny = {"encoder": {"name": "MLP", "hidden": [8]}, "decoder": {"name": "MLP", "hidden": [8]}}
    return VAE.assemble((3, 32, 32), 2, **{**tiny, **parts})


def trained(objective: Objective, vae: VAE | None = None, **options: Any) -> Any:
    settings: dict[str, Any] = {"steps": 4, "batch_size": 4, **options}
    return train(vae or small(), objective, Circles(size=32), **settings)


@pytest.mark.parametrize("stream", STREAMS)
def test_a_stream_is_a_counter_of_numpy(stream: Any) -> None:
    """The numbers decide every result of every run: another number of a stream would be another run."""
    for seed, step in ((0, 0), (0, 3), (5, 2)):
        sequence = np.random.SeedSequence([seed, STREAMS[stream], step])
        expected = np.random.Generator(np.random.Philox(sequence)).integers(2**62, size=3)
        assert generator(seed, stream, step).integers(2**62, size=3).tolist() == expected.tolist()
        seed_torch(seed, stream, step)
        drawn = torch.rand(3)
        torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0]))
        assert torch.equal(drawn, torch.rand(3))
    assert generator(4, stream).random() == generator(4, stream, 0).random()
    seed_torch(4, stream)
    without = torch.rand(())
    seed_torch(4, stream, 0)
    assert torch.equal(without, torch.rand(()))


@pytest.mark.parametrize("seed", [0, 3])
def test_the_prior_sees_images_of_its_own_stream(seed: int) -> None:
    vae = small(prior={"name": "AnisotropicNormal", "images": 30, "scales": "pca"})
    trained(BetaVAE(), vae, steps=1, seed=seed)
    images = Circles(size=32).sample(30, generator(seed, "prior")).images
    flat = torch.from_numpy(np.ascontiguousarray(images)).double().flatten(1) / 255
    scales = 2 * torch.softmax(torch.linalg.svdvals(flat - flat.mean(0))[:2] / 30**0.5, 0)
    torch.testing.assert_close(vae.prior().stddev.double(), scales, rtol=1e-4, atol=1e-5)


class Notes(Objective):
    """The VAE's bound, which notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.prepared: list[int] = []
        self.seen: list[tuple[int, int, int]] = []

    def prepare(self, source: Any, batch: int) -> None:
        self.prepared.append(batch)

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        self.seen.append((progress.step, progress.steps, len(images)))
        return BetaVAE()(vae, images, progress)


def test_an_objective_is_told_the_size_of_its_batches() -> None:
    plain, paired = Notes(), Notes()
    trained(plain, steps=2)
    vae = small(pairing=AdaGVAE())
    train(vae, paired, Circles(size=32), steps=2, batch_size=4)
    assert (plain.prepared, plain.seen) == ([4], [(0, 2, 4), (1, 2, 4)])
    assert (paired.prepared, paired.seen) == ([8], [(0, 2, 8), (1, 2, 8)])


class Counted(Checkpoints):
    """Checkpoints that note the steps of which a state is saved."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.saved: list[int] = []

    def save(self, state: dict[str, Any]) -> None:
        self.saved.append(state["step"])
        super().save(state)


@pytest.mark.parametrize(("seconds", "steps"), [(1e9, [0, 4]), (0.0, [0, 1, 2, 3, 4])])
def test_states_are_saved_first_last_and_when_time_has_passed(
    tmp_path: Path, seconds: float, steps: list[int]
) -> None:
    checkpoints = Counted(tmp_path)
    trained(BetaVAE(), checkpoints=checkpoints, checkpoint_seconds=seconds)
    assert checkpoints.saved == steps
    assert [path.name for path in checkpoints.paths()] == [f"step-{step:08d}.pt" for step in steps[-2:]]
    again = Counted(tmp_path)
    trained(BetaVAE(), checkpoints=again, steps=6, checkpoint_seconds=1e9)
    assert again.saved == [6]


def test_about_a_thousand_records_by_default() -> None:
    records: list[int] = []
    trained(
        BetaVAE(),
        steps=2999,
        record=lambda record: records.append(record["step"]),
        stop=lambda: len(records) == 4,
    )
    assert records == [1, 2, 4, 6]


class Grows(Objective):
    """A loss that is larger by a factor at the third step."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        loss = BetaVAE()(vae, images, progress)
        total = loss.total * self.factor if progress.step == 2 else loss.total
        return Loss(total, loss.reconstruction, loss.terms)


def test_a_loss_may_grow_a_hundredfold_but_not_a_million_times() -> None:
    assert trained(Grows(100.0)).status == "finished"
    assert trained(Grows(-100.0)).status == "finished"
    assert trained(Grows(1e6)).status == "diverged"
    assert trained(Grows(-1e6)).status == "diverged"


class OneBadWeight(Objective):
    """A finite loss whose gradient is infinite for a single weight."""

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        loss = BetaVAE()(vae, images, progress)
        weight = next(vae.parameters()).flatten()[0]
        return Loss(
            loss.total + (weight - weight.detach()).abs().add(0).sqrt(), loss.reconstruction, loss.terms
        )


def test_a_single_weight_that_is_not_finite_ends_the_run(tmp_path: Path) -> None:
    checkpoints = Counted(tmp_path)
    outcome = trained(OneBadWeight(), checkpoints=checkpoints, steps=1)
    assert outcome.status == "diverged"
    assert checkpoints.saved == [0]


class Judged(Objective):
    """The bound, and a critic whose loss is what it is told."""

    critic_turns = 2

    def __init__(self, value: float) -> None:
        super().__init__()
        self.critic, self.value, self.turns = nn.Linear(2, 1), value, list[int]()

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        return BetaVAE()(vae, images, progress)

    def critic_parameters(self, vae: VAE) -> list[nn.Parameter]:
        return list(self.critic.parameters())

    def critic_loss(self, vae: VAE, images: Tensor, loss: Loss, turn: int) -> CriticLoss:
        self.turns.append(turn)
        return CriticLoss(self.critic(torch.ones(1, 2)).sum() * 0 + self.value)


@pytest.mark.parametrize(
    ("value", "status"),
    [(1.0, "finished"), (1e9, "finished"), (float("nan"), "diverged"), (float("inf"), "diverged")],
)
def test_the_loss_of_a_critic_must_be_finite(value: float, status: str) -> None:
    objective, records = Judged(value), list[dict[str, Any]]()
    outcome = trained(objective, steps=2, record=records.append)
    assert outcome.status == status
    if status == "finished":
        assert objective.turns == [0, 1, 0, 1]
        assert [record["critic_loss"] for record in records] == [value, value]
    else:
        assert outcome.step == 0


def test_pairs_go_first_and_second_half() -> None:
    """With a pairing the first half of a batch holds the first images of the pairs, the second half the others."""
    found: list[Tensor] = []

    class Keeps(Notes):
        def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
            found.append(images.detach().clone())
            return super().forward(vae, images, progress)

    data = XYSquares()
    torch.manual_seed(0)
    tiny = {"encoder": {"name": "MLP", "hidden": [4]}, "decoder": {"name": "MLP", "hidden": [4]}}
    vae = VAE.assemble(data.image_shape, 2, **tiny, pairing=AdaGVAE(k=1))
    train(vae, Keeps(), data, steps=1, batch_size=3, seed=2)
    first, second = data.pairs(3, generator(2, "data", 0), 1)
    expected = np.concatenate([first.images, second.images])
    np.testing.assert_allclose(found[0].numpy(), expected.astype(np.float32) / 255, atol=1e-6)


def test_with_an_accelerator_the_noise_of_the_processor_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seed_torch(4, "noise", 7)
    without = torch.randn(5)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    seed_torch(4, "noise", 7)
    torch.testing.assert_close(torch.randn(5), without, rtol=0, atol=0)
