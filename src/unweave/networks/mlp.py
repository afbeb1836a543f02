"""Fully connected encoder and decoder of ISA appendix A.4, and those of the pinwheel in DEC table 1b."""

import math
from itertools import pairwise
from typing import Literal, final

from torch import Tensor, nn

from unweave.networks.layers import linear_stack
from unweave.networks.shapes import require_image_shape, require_positive


@final
class MLPEncoder(nn.Module):
    """Encoder of linear layers with ReLU between: 4096 - 1200 - 1200 - features (ISA appendix A.4).

    (n, C, H, W) -> (n, features), any image size. ISA's listing also creates a convolution that it never
    applies; it is omitted.

    Args:
        image_shape: (channels, height, width) of the images.
        features: size of the output, for a Gaussian posterior twice the number of latents.
        hidden: widths of the hidden layers.

    Example:
        >>> import torch
        >>> MLPEncoder((1, 64, 64), 20)(torch.zeros(2, 1, 64, 64)).shape
        torch.Size([2, 20])
    """

    def __init__(
        self, image_shape: tuple[int, int, int], features: int, *, hidden: tuple[int, ...] = (1200, 1200)
    ) -> None:
        super().__init__()
        self.image_shape = require_image_shape("image_shape", image_shape)
        require_positive(features=features, hidden=hidden)
        self.features = features
        widths = (math.prod(self.image_shape), *hidden)
        self.linear = nn.Sequential(*linear_stack(widths), nn.Linear(widths[-1], features))

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, features)."""
        features: Tensor = self.linear(images.flatten(1))
        return features


@final
class MLPDecoder(nn.Module):
    """Decoder of linear layers with tanh between: latents - 1200 - 1200 - 1200 - 4096 (ISA appendix A.4).

    (n, latents) -> (n, C, H, W), any image size; nothing after the last layer. ``hidden=(100,), activation="relu"`` is
    the decoder of the pinwheel (DEC table 1b); the encoder there is :class:`MLPEncoder` with ``hidden=(100,)``.

    Args:
        latents: size of the code.
        output_shape: (channels, height, width) of the output; the channels are those the likelihood needs.
        hidden: widths of the hidden layers.
        activation: between the layers.

    Example:
        >>> import torch
        >>> MLPDecoder(10, (1, 64, 64))(torch.zeros(2, 10)).shape
        torch.Size([2, 1, 64, 64])
    """

    def __init__(
        self,
        latents: int,
        output_shape: tuple[int, int, int],
        *,
        hidden: tuple[int, ...] = (1200, 1200, 1200),
        activation: Literal["tanh", "relu"] = "tanh",
    ) -> None:
        super().__init__()
        self.output_shape = require_image_shape("output_shape", output_shape)
        require_positive(latents=latents, hidden=hidden)
        self.latents = latents
        widths = (latents, *hidden)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [nn.Linear(inputs, outputs), nn.Tanh() if activation == "tanh" else nn.ReLU()]
        self.linear = nn.Sequential(*layers, nn.Linear(widths[-1], math.prod(self.output_shape)))

    def forward(self, codes: Tensor) -> Tensor:
        """(n, latents) -> (n, C, H, W)."""
        images: Tensor = self.linear(codes).unflatten(1, self.output_shape)
        return images
