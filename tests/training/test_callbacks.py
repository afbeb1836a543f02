"""What a caller hooks into training: callbacks, an early end, precision, any kind of images."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from unweave.errors import UnweaveError
from unweave.objectives import BetaVAE, Loss, Objective
from unweave.training import Trainer, train
from unweave.training.checkpoints import Checkpoints
from unweave.training.display import TerminalDisplay
from unweave.vae import VAE

IMAGES = np.random.default_rng(0).integers(256, size=(20, 8, 8), dtype=np.uint8)


def vae() -> VAE:
    torch.manual_seed(0)
    return VAE.assemble((1, 8, 8), 2, encoder="MLP", decoder="MLP")


def weights(model: VAE) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


class Scripted(Objective):
    """Losses from a list, whatever the model does."""

    def __init__(self, totals: list[float]) -> None:
        super().__init__()
        self.totals = totals

    def forward(self, vae: Any, images: torch.Tensor, progress: Any) -> Loss:
        anchor = 0 * sum(weight.sum() for weight in vae.parameters())
        return Loss(anchor + self.totals[progress.step], None)


def test_callbacks_see_every_step_and_every_saved_state(tmp_path: Path) -> None:
    seen, saved = [], []

    def on_step(trainer: Trainer) -> None:
        assert trainer.losses is not None
        seen.append((trainer.state.step, trainer.losses.model.total.item()))

    train(
        vae(),
        Scripted([5.0, 4.0, 3.0]),
        IMAGES,
        steps=3,
        batch_size=4,
        checkpoints=Checkpoints(tmp_path, "x"),
        checkpoint_seconds=1e9,
        on_step=on_step,
        on_checkpoint=lambda trainer: saved.append(trainer.state.step),
    )
    assert seen == [(1, 5.0), (2, 4.0), (3, 3.0)]
    assert saved == [3]


@pytest.mark.parametrize(
    ("totals", "end"),
    [
        ([9, 9, 8, 9, 8, 8, 7, 9, 1, 1], 8),  # means 9, 8.5, 8, 8: as high as before
        ([9, 9, 8, 8, 8, 9, 1, 1, 1, 1], 6),
        ([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 10),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 4),
    ],
)
def test_training_ends_when_the_loss_falls_no_further(totals: list[float], end: int) -> None:
    outcome = train(vae(), Scripted(totals), IMAGES, steps=10, batch_size=4, patience=2)
    assert (outcome.status, outcome.step) == ("finished", end)
    assert outcome.reason == (None if end == 10 else "the loss fell no further for 2 steps")


@pytest.mark.parametrize("at", [1, 3])
def test_an_early_end_is_the_same_after_a_stop(tmp_path: Path, at: int) -> None:
    totals, taken = [9.0, 9, 8, 9, 8, 8, 7, 9, 1, 1], []
    how: dict[str, Any] = {
        "steps": 10,
        "batch_size": 4,
        "patience": 2,
        "checkpoints": Checkpoints(tmp_path, "x"),
    }
    model = vae()
    train(
        model,
        Scripted(totals),
        IMAGES,
        **how,
        on_step=lambda trainer: taken.append(trainer.state.step),
        stop=lambda: len(taken) == at,
    )
    assert taken[-1] == at
    for _ in range(2):  # the second time it has ended already
        assert train(model, Scripted(totals), IMAGES, **how).step == 8


def test_patience_must_be_a_number_of_steps() -> None:
    with pytest.raises(UnweaveError, match="patience must be at least 1 step, got 0"):
        train(vae(), BetaVAE(), IMAGES, steps=1, patience=0)


def test_mixed_precision_multiplies_in_bfloat16_and_keeps_the_weights() -> None:
    losses: dict[str, list[float]] = {"float32": [], "bfloat16": []}
    kinds: dict[str, set[torch.dtype]] = {"float32": set(), "bfloat16": set()}
    for precision, record in losses.items():
        model = vae()
        linear = next(m for m in model.modules() if isinstance(m, torch.nn.Linear))
        linear.register_forward_hook(lambda _m, _i, out, p=precision: kinds[p].add(out.dtype))
        train(
            model,
            BetaVAE(),
            IMAGES,
            steps=5,
            batch_size=8,
            precision=precision,  # type: ignore[arg-type]
            on_step=lambda t, to=record: to.append(t.losses.model.total.item()),  # type: ignore[misc]
        )
        assert all(weight.dtype == torch.float32 for weight in model.parameters())
    assert kinds == {"float32": {torch.float32}, "bfloat16": {torch.bfloat16}}
    assert losses["bfloat16"] != losses["float32"]
    np.testing.assert_allclose(losses["bfloat16"], losses["float32"], rtol=2e-2)
    with pytest.raises(UnweaveError, match="precision"):
        train(vae(), BetaVAE(), IMAGES, steps=1, precision="float8")  # type: ignore[arg-type]


def test_images_of_any_kind_train_the_same_weights() -> None:
    trained = []
    for source in (
        IMAGES,
        torch.from_numpy(IMAGES),
        DataLoader(TensorDataset(torch.from_numpy(IMAGES)[:, None]), 6),
    ):
        model = vae()
        train(model, BetaVAE(), source, steps=3, batch_size=4, quiet=True)
        trained.append(weights(model))
    assert torch.equal(trained[0], trained[1])
    assert torch.equal(trained[0], trained[2])


def test_progress_is_shown_unless_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    monkeypatch.setattr(TerminalDisplay, "show", lambda self, step, record: shown.append(step))
    train(vae(), BetaVAE(), IMAGES, steps=3, batch_size=4)
    assert shown == [1, 2, 3]
    train(vae(), BetaVAE(), IMAGES, steps=3, batch_size=4, quiet=True)
    assert shown == [1, 2, 3]
