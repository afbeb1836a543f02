"""examples/lightning_module.py, executed by the protocol that Lightning's trainer follows, without Lightning."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from unweave import VAE, data, metrics, objectives
from unweave.data.space import FactorSpace

PATH = Path(__file__).parent.parent / "examples" / "lightning_module.py"


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lightning_module", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Bars(data.Dataset):
    """One column of eight, in one of four shades."""

    image_shape, space, count = (1, 8, 8), FactorSpace(("column", "shade"), (8, 4)), 32

    def images(self, factors: object) -> np.ndarray:
        column, shade = self.space.check(factors).astype(np.int64).T
        lit = (np.arange(8) == column[:, None]) * (63 * (shade[:, None] + 1))
        return np.repeat(lit[:, None, None].astype(np.uint8), 8, axis=2)

    def sample(self, n: int, rng: np.random.Generator) -> data.Batch:
        factors = self.space.sample(n, rng)
        return data.Batch(self.images(factors), factors)


def small_vae() -> VAE:
    torch.manual_seed(0)
    return VAE.assemble((1, 8, 8), latents=2, encoder="MLP", decoder="MLP")


def fit(module: torch.nn.Module, batches: object, epochs: int) -> list[float]:
    """What a trainer does with a LightningModule, and nothing more."""
    optimizer, losses = module.configure_optimizers(), []
    for _ in range(epochs):
        for number, batch in enumerate(batches):
            optimizer.zero_grad()
            loss = module.training_step(batch, number)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def test_the_example_is_short_and_trains_as_a_plain_loop() -> None:
    assert len(PATH.read_text().splitlines()) <= 60
    module, bars, objective = example(), Bars(), objectives.BetaVAE(beta=2.0)
    wrapped = module.Disentangler(small_vae(), objective, steps=80)
    torch.manual_seed(1)
    losses = fit(wrapped, module.loader(bars, batch_size=4), epochs=10)
    assert len(losses) == 80
    assert np.mean(losses[-10:]) < 0.7 * losses[0]

    plain = small_vae()
    optimizer = torch.optim.Adam(plain.parameters(), lr=1e-3)
    torch.manual_seed(1)
    order = module.loader(bars, batch_size=4)
    for epoch in range(10):
        for number, batch in enumerate(order):
            progress = objectives.Progress(8 * epoch + number, 80)
            optimizer.zero_grad()
            objective(plain, batch, progress).total.backward()
            optimizer.step()
    for ours, theirs in zip(wrapped.vae.state_dict().values(), plain.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs)
    codes, _ = plain.codes(bars.at(np.arange(32)))
    assert module.mig(wrapped.vae, bars) == metrics.mig(codes, bars.factors_at(np.arange(32))).value
