"""The abstract base of all priors."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor, nn
from torch.distributions import Distribution


class Prior(nn.Module, ABC):
    """A distribution p(z) over codes, which may have learned parameters.

    A prior provides three things:

    1. a constructor ``__init__(self, latents, *, options)`` that calls ``super().__init__(latents)``; every keyword
       with a type and a default is an option, ``prior.NAME=VALUE`` in a config;
    2. ``forward() -> Distribution`` with event shape ``(latents,)``, an exact ``log_prob`` and an exact ``sample``. A
       prior that factorises over the latents returns an ``Independent`` of one-dimensional distributions: then the KL
       and its parts are known for each latent;
    3. optionally, ``initialise(draw)``, if it takes something from the data.

    Args:
        latents: size of the code.

    Example:
        >>> import torch
        >>> from torch.distributions import Independent, Laplace
        >>> class LaplacePrior(Prior):
        ...     def __init__(self, latents: int, *, scale: float = 1.0) -> None:
        ...         super().__init__(latents)
        ...         self.scale = torch.full((latents,), scale)
        ...     def forward(self) -> Distribution:
        ...         return Independent(Laplace(torch.zeros_like(self.scale), self.scale), 1)
        >>> LaplacePrior(2)().log_prob(torch.zeros(2))  # = -2 log 2
        tensor(-1.3863)
    """

    def __init__(self, latents: int) -> None:
        super().__init__()
        self.latents = latents

    @abstractmethod
    def forward(self) -> Distribution:
        """The distribution, event shape ``(latents,)``."""

    def initialise(self, draw: Callable[[int], Tensor]) -> None:
        """Set parameters from data: ``draw(n)`` gives ``n`` images ``(n, ...)``. Called once, before step 0.

        What it sets must be in the ``state_dict``: it is saved in checkpoints, and a resumed run does not call this
        again. Most priors take nothing from the data, so the default does nothing.
        """
