"""The two layers of a VAE that face its code."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from unweave.errors import UnweaveError
from unweave.vae import VAE

_MOMENTS = {"exp_avg": 1, "momentum": 1, "exp_avg_sq": 2, "max_exp_avg_sq": 2}
"""What optimisers keep of a weight, and the power of the gradient in it."""


class CodeLayers(NamedTuple):
    """The encoder's last layer, the decoder's first one, and the axis of the latter's weight that the code meets.

    Example:
        >>> layers = CodeLayers.of(VAE.assemble((1, 32, 32), 4, decoder="SpatialBroadcast"))
        >>> layers.head.out_features, layers.axis
        (8, 1)
    """

    head: nn.Linear
    foot: nn.Module
    axis: int
    latents: int

    @classmethod
    def of(cls, vae: VAE) -> "CodeLayers":
        """Those of a VAE; one sentence if they cannot be told."""
        features = vae.posterior.features
        heads = [m for m in vae.encoder.modules() if isinstance(m, nn.Linear) and m.out_features == features]
        for module in vae.decoder.modules():
            weight = getattr(module, "weight", None)
            if isinstance(weight, Tensor) and weight.ndim > 1:
                axis = 0 if isinstance(module, nn.ConvTranspose2d) else 1
                if heads and weight.shape[axis] >= vae.latents:
                    return cls(heads[-1], module, axis, vae.latents)
                break
        raise UnweaveError(
            "the layers that face the code cannot be told: the encoder must end with a Linear layer and the decoder "
            "begin with a Linear or convolutional one; choose another schedule or optimizer.code_layers=true"
        )

    @property
    def parameters(self) -> list[nn.Parameter]:
        """All parameters of both layers."""
        return [*self.head.parameters(), *self.foot.parameters(recurse=False)]

    @torch.no_grad()
    def rotate(self, rotation: Tensor, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Turn the code, ``z -> rotation z``, so that the same images come out; what the optimiser keeps turns along.

        Means turn exactly. Log-variances turn with the squares of the rotation's elements: exactly for a permutation,
        and to what a diagonal posterior can hold otherwise. The one that an isotropic posterior has stays as it is.
        """
        foot = self.foot.weight
        assert isinstance(foot, nn.Parameter)
        rotation = rotation.to(foot.device)
        turn, squares = rotation.float(), rotation.square().float()
        for weight in (self.head.weight, self.head.bias):
            if weight is not None:
                for values, power in _tensors(weight, optimizer):
                    self._turn_head(values, turn if power == 1 else squares, squares)
        for values, power in _tensors(foot, optimizer):
            facing = values.movedim(self.axis, -1)[..., : self.latents]
            facing.copy_(facing @ (turn if power == 1 else squares).T)

    def _turn_head(self, values: Tensor, of_means: Tensor, of_variances: Tensor) -> None:
        means, log_variances = values[: self.latents], values[self.latents : 2 * self.latents]
        means.copy_(of_means @ means)
        if len(log_variances) == self.latents:  # one for all latents is the same in every direction
            log_variances.copy_(of_variances @ log_variances)


def _tensors(weight: Tensor, optimizer: torch.optim.Optimizer | None) -> list[tuple[Tensor, int]]:
    """A weight and what the optimiser keeps of it, each with its power of the gradient."""
    state = {} if optimizer is None else optimizer.state.get(weight, {})
    return [(weight.data, 1), *((state[key], power) for key, power in _MOMENTS.items() if key in state)]
