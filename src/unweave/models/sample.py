"""New images from a model's prior."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from unweave.errors import UnweaveError
from unweave.gan import GAN
from unweave.vae import VAE

if TYPE_CHECKING:
    from unweave.models.encode import Tell
    from unweave.models.trained import TrainedModel


def sample(
    model: "TrainedModel", n: int, *, seed: int = 0, tell: "Tell | None" = None
) -> Iterator[NDArray[np.float32]]:
    """Blocks of ``n`` images in [0, 1]: of a VAE the expected images ``E[x|z]`` of ``z ~ p(z)``, of a GAN ``G(c, e)``.

    Args:
        model: of which.
        n: how many.
        seed: of the draw.
        tell: called with how many are done, and of how many.

    Example:
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> [len(block) for block in sample(model, 100)]
        [64, 36]
    """
    if n < 1:
        raise UnweaveError(f"the number of samples must be at least 1, got {n}")
    network = model.model
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        if isinstance(network, VAE):
            return model.decode_blocks(network.prior().sample(torch.Size([n])).cpu().numpy(), tell=tell)
        if isinstance(network, GAN):
            draws = [network.draw(min(64, n - i)) for i in range(0, n, 64)]
            return _generated(network, draws, n, tell)
    raise UnweaveError(
        f"{model.config.model.label} has no prior to draw codes from: decode codes of your own"
    )


@torch.no_grad()
def _generated(gan: GAN, draws: list[Any], n: int, tell: "Tell | None") -> Iterator[NDArray[np.float32]]:
    done = 0
    for draw in draws:
        images = gan.generate(draw).cpu().numpy()
        done += len(images)
        yield images
        if tell is not None:
            tell(done, n)
