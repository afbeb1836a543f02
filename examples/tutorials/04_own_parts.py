# %% [markdown]
# # Your own objective, prior and decoder
#
# Every part of a model is open. The constructor *is* the schema: each keyword with a type and a default becomes an option of the command line and of config files.

# %%
from pathlib import Path

_ = Path("my_parts.py").write_text('''\
"""Parts of our own."""

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Independent, Laplace

from unweave.objectives import Loss, Objective, Progress
from unweave.objectives.core import bound
from unweave.priors import Prior
from unweave.vae import VAE


class LaplacePrior(Prior):
    """``p(z) = prod_j exp(-|z_j| / scale) / (2 scale)``."""

    def __init__(self, latents: int, *, scale: float = 1.0) -> None:
        super().__init__(latents)
        self.register_buffer("scale", torch.full((latents,), scale))

    def forward(self) -> Distribution:
        return Independent(Laplace(torch.zeros_like(self.scale), self.scale), 1)


class TinyDecoder(nn.Module):
    """One hidden layer, for tiny images."""

    def __init__(self, latents: int, output_shape: tuple[int, int, int], *, width: int = 64) -> None:
        super().__init__()
        channels, height, columns = output_shape
        self.layers = nn.Sequential(nn.Linear(latents, width), nn.ReLU(), nn.Linear(width, channels * height * columns))
        self.output_shape = output_shape

    def forward(self, codes: Tensor) -> Tensor:
        return self.layers(codes).view(-1, *self.output_shape)


class SlowBeta(Objective):
    """The KL weighs ``beta`` in the end, and grows to it over the first half of the steps."""

    def __init__(self, *, beta: float = 4.0) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        _, _, _, reconstruction, kl, terms = bound(vae, images)
        weight = self.beta * progress.ramp(progress.steps // 2)
        return Loss(reconstruction + weight * progress.hold(kl), reconstruction, terms)
''')

# %% [markdown]
# A file is named by its path, a class by its name behind a colon. Everything else is as with the parts that are built in: options, resuming, sweeps, pages.

# %%
import shlex

from unweave.cli import main


def terminal(command: str) -> None:
    """Run a command of unweave as typed in a terminal."""
    main(shlex.split(command)[1:])


terminal(
    "unweave train circles data.size=16 encoder=MLP encoder.hidden=[64] latents=3 steps=150 batch_size=32 "
    "objective=./my_parts.py:SlowBeta objective.beta=2 prior=./my_parts.py:LaplacePrior prior.scale=0.5 "
    "decoder=./my_parts.py:TinyDecoder decoder.width=48 learning_rate=1e-3 --out tutorial/own --quiet"
)

# %%
import unweave

run = unweave.Run("tutorial/own")
print(run.config.decoder, run.config.prior, run.config.objective, sep="\n")
print({name: round(score["value"], 2) for name, score in run.scores.items()})

# %% [markdown]
# A misspelt option is refused before the first step, with the nearest one:

# %%
from unweave import UnweaveError
from unweave.runs import Config

try:
    Config.read(words=["data=circles", "decoder=./my_parts.py:TinyDecoder", "decoder.widht=8"])
except UnweaveError as error:
    print(error)

# %% [markdown]
# ## From Python
#
# Classes, instances and options all work, no file needed. What each part must provide is in `unweave.priors.Prior`, `unweave.objectives.Objective` and `docs/extending.md`.

# %%
import sys

sys.path.insert(0, ".")
from my_parts import LaplacePrior, SlowBeta, TinyDecoder

vae = unweave.VAE.assemble(
    (3, 16, 16), latents=3, encoder="MLP", decoder=TinyDecoder, prior=LaplacePrior(3, scale=0.5)
)
outcome = unweave.train(
    vae, SlowBeta(beta=2.0), unweave.data.Circles(size=16), steps=20, batch_size=8, quiet=True
)
print(outcome.status)
