"""Your own trainer: a VAE, an objective and a data set of unweave in a LightningModule.

    pip install "lightning!=2.6.2,!=2.6.3"      # those two carried malware; unweave does not need lightning
    python examples/lightning_module.py

Objectives with a critic (FactorVAE, AAE) need two optimisers and are left out here.
"""

import numpy as np
import torch
from torch.utils.data import DataLoader

from unweave import VAE, data, metrics, objectives

try:
    from lightning import LightningModule
except ImportError:  # any trainer that calls these methods will do
    LightningModule = torch.nn.Module


class Disentangler(LightningModule):
    """A VAE with its objective, for a trainer that asks for a loss and an optimiser."""

    def __init__(self, vae: VAE, objective: objectives.Objective, steps: int) -> None:
        super().__init__()
        self.vae, self.objective, self.steps, self.taken = vae, objective, steps, 0

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        """The loss of a batch of images in [0, 1], in nats per image."""
        loss = self.objective(self.vae, batch, objectives.Progress(self.taken, self.steps))
        self.taken += 1
        if hasattr(self, "log_dict"):
            self.log_dict({name: value for name, value in loss.logged().items() if isinstance(value, float)})
        return loss.total

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam, as in the papers."""
        return torch.optim.Adam(self.vae.parameters(), lr=1e-3)


def loader(dataset: data.Dataset, batch_size: int = 16, seed: int = 0) -> DataLoader[torch.Tensor]:
    """Shuffled batches; any data set with a count is a PyTorch data set."""
    return DataLoader(dataset, batch_size, shuffle=True, generator=torch.Generator().manual_seed(seed))


def mig(vae: VAE, dataset: data.Dataset, images: int = 2000) -> float:
    """The mutual information gap, from codes of images and their factors."""
    rows = dataset.evaluation_rows(images, np.random.default_rng(0))
    codes, _ = vae.codes(dataset.at(rows))
    return float(metrics.mig(codes, dataset.factors_at(rows)).value)


if __name__ == "__main__":
    from lightning import Trainer

    images = data.load("xysquares")
    vae = VAE.assemble(images.image_shape, latents=10)
    trainer = Trainer(max_steps=500, accelerator="cpu", logger=False, enable_checkpointing=False)
    trainer.fit(Disentangler(vae, objectives.BetaVAE(beta=4.0), steps=500), loader(images))
    print(f"MIG {mig(vae.eval(), images):.3f}")
