"""unweave: learn, measure and look at disentangled representations with variational auto-encoders.

>>> import unweave
>>> vae = unweave.VAE.assemble((3, 32, 32), latents=2, decoder="SpatialBroadcast")
>>> unweave.train(vae, unweave.objectives.BetaVAE(), unweave.data.Circles(size=32), steps=1, batch_size=4).status
'finished'
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unweave import (
        data,
        functional,
        gan,
        likelihoods,
        metrics,
        models,
        networks,
        objectives,
        pairing,
        plots,
        posteriors,
        priors,
        runs,
    )
    from unweave.errors import UnweaveError
    from unweave.estimator import Disentangler
    from unweave.models import TrainedModel, load
    from unweave.runs import Config, Run
    from unweave.training import train
    from unweave.vae import VAE

__version__ = "0.1.0"

_OBJECTS = {
    "Config": "unweave.runs",
    "Disentangler": "unweave.estimator",
    "Run": "unweave.runs",
    "TrainedModel": "unweave.models",
    "UnweaveError": "unweave.errors",
    "VAE": "unweave.vae",
    "load": "unweave.models",
    "train": "unweave.training",
}
__all__ = [
    "VAE",
    "Config",
    "Disentangler",
    "Run",
    "TrainedModel",
    "UnweaveError",
    "data",
    "functional",
    "gan",
    "likelihoods",
    "load",
    "metrics",
    "models",
    "networks",
    "objectives",
    "pairing",
    "plots",
    "posteriors",
    "priors",
    "runs",
    "train",
]


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: `import unweave.metrics` must not pay for torch.
    if name in _OBJECTS:
        return getattr(importlib.import_module(_OBJECTS[name]), name)
    if name in __all__:
        return importlib.import_module(f"unweave.{name}")
    raise AttributeError(f"module 'unweave' has no attribute {name!r}")
