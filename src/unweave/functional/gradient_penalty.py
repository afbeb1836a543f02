"""The gradient penalty of WGAN-GP."""

from collections.abc import Callable

import torch
from torch import Tensor


def gradient_penalty(critic: Callable[[Tensor], Tensor], real: Tensor, fake: Tensor) -> Tensor:
    """``mean (||grad_x D(x^)||_2 - 1)^2`` at ``x^ = u x_real + (1 - u) x_fake``, ``u ~ U[0, 1]`` for each image.

    Differentiable in the critic's parameters; ``real`` and ``fake`` get no gradient.

    Args:
        critic: images ``(n, ...)`` to one number each, ``(n,)``, which must not depend on the other images.
        real: images of the data.
        fake: as many images of the generator.

    Reference: FAC Eq. 16.

    Example:
        >>> images = torch.rand(4, 1, 2, 2)
        >>> gradient_penalty(lambda x: 3 * x[:, 0, 0, 0], images, images)  # (3 - 1)^2
        tensor(4.)
    """
    u = torch.rand(len(real), *[1] * (real.dim() - 1), device=real.device, dtype=real.dtype)
    between = (u * real + (1 - u) * fake).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    slope: Tensor = gradient.flatten(1).norm(dim=1)
    return (slope - 1).square().mean()
