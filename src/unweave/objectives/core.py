"""What all objectives share: the call, its result, and the unit in which beta is quoted."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from torch import Tensor, nn

from unweave.vae import VAE


@dataclass(frozen=True)
class Progress:
    """Where training stands: ``step`` of ``steps``, counted from 0. Schedules depend on nothing else.

    Example:
        >>> Progress(step=50, steps=200).ramp(100)
        0.5
    """

    step: int
    steps: int

    def ramp(self, length: int) -> float:
        """A line from 0 at the first step to 1 at step ``length``, and 1 from there on."""
        return min(1.0, self.step / length) if length > 0 else 1.0


@dataclass(frozen=True)
class Loss:
    """What an objective says of a batch: the number to minimise, and the terms it is made of.

    All are means over the batch, in nats per image. ``total`` and ``reconstruction`` carry gradients; ``terms`` are
    for people: they are logged by name (``kl``, ``total_correlation``, ...), scalars or one value per latent.

    Example:
        >>> import torch
        >>> Loss(torch.tensor(3.0), torch.tensor(2.0), {"kl": torch.tensor(1.0)}).logged()
        {'total': 3.0, 'reconstruction': 2.0, 'kl': 1.0}
    """

    total: Tensor
    reconstruction: Tensor
    terms: dict[str, Tensor] = field(default_factory=dict)

    def logged(self) -> dict[str, float | list[float]]:
        """All numbers as plain floats, for the history."""
        named = {"total": self.total, "reconstruction": self.reconstruction, **self.terms}
        return {name: value.detach().tolist() for name, value in named.items()}


class Objective(nn.Module, ABC):
    """An equation to minimise. Holds what the equation itself learns (a critic), if anything."""

    @abstractmethod
    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The loss of a batch of images in [0, 1], ``(n, channels, height, width)``."""

    def check(self, vae: VAE) -> None:
        """Refuse, before step 0, a VAE that this objective cannot be computed for."""


class Averaged(Objective):
    """Another objective in the units of paper REC: means over image elements and over latents.

    ``total = reconstruction / D + (total' - reconstruction) / L`` for an image of ``D`` elements and ``L`` latents,
    where ``total'`` is the summed loss. A beta quoted in these units is converted to the summed convention by
    :func:`unweave.functional.averaged_to_summed`.

    Args:
        objective: any objective in the summed convention.

    Reference: REC appendix B.1.

    Example:
        >>> import torch
        >>> from unweave.objectives import BetaVAE
        >>> vae = VAE.assemble((1, 32, 32), 4, likelihood="MSE")
        >>> loss = Averaged(BetaVAE(beta=0.001))(vae, torch.rand(2, 1, 32, 32), Progress(0, 1))
        >>> bool(torch.isclose(loss.total, loss.reconstruction / 1024 + 0.001 * loss.terms["kl"] / 4))
        True
    """

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The averaged loss; the named terms stay in nats per image."""
        loss: Loss = self.objective(vae, images, progress)
        regularisation = (loss.total - loss.reconstruction) / vae.latents
        return Loss(
            loss.reconstruction / math.prod(vae.image_shape) + regularisation, loss.reconstruction, loss.terms
        )

    def check(self, vae: VAE) -> None:
        """As the objective inside."""
        self.objective.check(vae)
