"""New images from a model's prior."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.errors import UnweaveError
from unweave.gan import GAN
from unweave.vae import VAE

if TYPE_CHECKING:
    from unweave.models.trained import TrainedModel


@torch.no_grad()
def sample(model: "TrainedModel", n: int, *, seed: int = 0) -> NDArray[np.float32]:
    """``n`` images in [0, 1]: of a VAE the expected images ``E[x|z]`` of ``z ~ p(z)``, of a GAN ``G(c, e)``.

    Args:
        model: of which.
        n: how many.
        seed: of the draw.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> sample(model, 5).shape
        (5, 3, 32, 32)
    """
    if n < 1:
        raise UnweaveError(f"the number of samples must be at least 1, got {n}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(model.model, VAE):
            return model.decode(model.model.prior().sample(torch.Size([n])).cpu().numpy())
        if isinstance(model.model, GAN):
            parts = [model.model.generate(model.model.draw(min(64, n - i))).cpu() for i in range(0, n, 64)]
            return torch.cat(parts).numpy()
    raise UnweaveError(
        f"{model.config.model.label} has no prior to draw codes from: decode codes of your own"
    )
