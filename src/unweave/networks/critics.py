"""Networks that classify codes: the discriminator of FactorVAE (FAC appendix A, ISA appendix A.4)."""

from typing import final

from torch import Tensor, nn

from unweave.errors import UnweaveError
from unweave.networks.layers import Initialisation, initialise
from unweave.networks.shapes import require_positive


@final
class Discriminator(nn.Module):
    """Two logits for "the code comes from q(z)" and "from the product of its marginals" (FAC appendix A).

    (n, latents) -> (n, 2). Hidden layers of equal width with leaky ReLU. FAC speaks of "up to 6 hidden
    layers and 1000 hidden units per layer", the default; ISA appendix A.4 lists ``layers=5``.

    Args:
        latents: size of the code.
        layers: number of hidden layers.
        width: units in each.
        slope: slope of the leaky ReLU below zero.
        initialisation: PyTorch's "default", or "truncated_normal" weights with zero biases (SBD appendix A).

    Example:
        >>> import torch
        >>> Discriminator(10)(torch.zeros(2, 10)).shape
        torch.Size([2, 2])
    """

    def __init__(
        self,
        latents: int,
        *,
        layers: int = 6,
        width: int = 1000,
        slope: float = 0.2,
        initialisation: Initialisation = "default",
    ) -> None:
        super().__init__()
        require_positive(latents=latents, layers=layers, width=width)
        if not slope >= 0:
            raise UnweaveError(f"slope must be 0 or more, got {slope}")
        self.latents = latents
        stack: list[nn.Module] = []
        for layer in range(layers):
            inputs = width if layer else latents
            stack += [nn.Linear(inputs, width), nn.LeakyReLU(slope, inplace=True)]
        self.linear = nn.Sequential(*stack, nn.Linear(width, 2))
        initialise(self, initialisation)

    def forward(self, codes: Tensor) -> Tensor:
        """(n, latents) -> (n, 2)."""
        logits: Tensor = self.linear(codes)
        return logits
