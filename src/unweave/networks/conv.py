"""Convolutional encoder and up-convolutional decoder of FAC appendix A, REC table A3 and SBD tables 1 and 2."""

import math
from typing import Literal, final

from torch import Tensor, nn

from unweave.networks.layers import (
    Chain,
    ChainReLU,
    Downconv2d,
    ImageDecoder,
    ImageEncoder,
    Initialisation,
    SameConv2d,
    channels_last,
    initialise,
    linear_stack,
    upconv_or_same,
)
from unweave.networks.shapes import decoder_layers, encoder_layers


@final
class Conv(ImageEncoder):
    """Encoder: 4 x 4 convolutions that halve the image, then linear layers, ReLU between all.

    (n, C, H, W) -> (n, features). Every layer has stride 2 and padding 1 while height and width are even and
    stride 1 ("same") after that; at least two must halve, so height and width are multiples of 4.

    | published table | options |
    |---|---|
    | FAC table 1, DEC table 1a (2D Shapes) | ``hidden=(128,), hidden_activation="none"`` |
    | FAC tables 2, 3 | ``hidden_activation="none"`` |
    | REC table A3 (the defaults) | |
    | SBD table 1 | ``channels=(64, 64, 64, 64), initialisation="truncated_normal"`` |
    | SBD table 2 | ``initialisation="truncated_normal"`` |

    FAC and DEC print no ReLU behind their linear layer, REC does. There is one unless told otherwise: two linear layers
    in a row are equivalent to one of low rank.

    Args:
        image_shape: (channels, height, width) of the images.
        features: size of the output, for a Gaussian posterior twice the number of latents.
        channels: output channels of each convolution, from the image on.
        hidden: widths of the linear layers between the convolutions and the output.
        initialisation: PyTorch's "default", or "truncated_normal" weights with zero biases (SBD appendix A).
        hidden_activation: behind these linear layers.

    Example:
        >>> import torch
        >>> Conv((1, 64, 64), 20)(torch.zeros(2, 1, 64, 64)).shape
        torch.Size([2, 20])
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        features: int,
        *,
        channels: tuple[int, ...] = (32, 32, 64, 64),
        hidden: tuple[int, ...] = (256,),
        initialisation: Initialisation = "default",
        hidden_activation: Literal["relu", "none"] = "relu",
    ) -> None:
        super().__init__(image_shape, features, channels=channels, hidden=hidden)
        shapes, last = encoder_layers(self.image_shape, channels)
        layers: list[nn.Module] = []
        for inputs, outputs, stride in shapes:
            layers += [(Downconv2d if stride == 2 else SameConv2d)(inputs, outputs), ChainReLU()]
        self.convolutions = Chain(*layers)
        widths = (math.prod(last), *hidden)
        layers = linear_stack(widths)
        if hidden_activation == "none":
            layers = layers[::2]
        self.linear = nn.Sequential(*layers, nn.Linear(widths[-1], features))
        initialise(self, initialisation)

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, features)."""
        maps: Tensor = self.convolutions(channels_last(images))
        features: Tensor = self.linear(maps.flatten(1))
        return features


@final
class Deconv(ImageDecoder):
    """Decoder: linear layers, then 4 x 4 up-convolutions that double the image, ReLU between all.

    (n, latents) -> (n, C, H, W). The strides are those of :class:`Conv` in reverse: the linear layers end in
    ``channels[0]`` maps of the size of the last maps of :class:`Conv`.

    | published table | options |
    |---|---|
    | FAC table 1 (2D Shapes) | ``hidden=(128,)`` |
    | DEC table 1a (2D Shapes) | ``channels=(64, 64, 64, 32), hidden=(128,)`` |
    | FAC tables 2, 3; REC table A3 (the defaults) | |
    | SBD table 1 | ``channels=(64, 64, 64, 64, 64), hidden=(), initialisation="truncated_normal"`` |
    | SBD table 2 | ``channels=(64, 64, 64, 32, 32), hidden=(), initialisation="truncated_normal"`` |
    | SBD table 8 (1, 2, 3 linear layers) | as table 1 with ``hidden=()``, ``(256,)``, ``(256, 256)`` |

    Args:
        latents: size of the code.
        output_shape: (channels, height, width) of the output; the channels are those the likelihood needs.
        channels: channels that *enter* each up-convolution; their number is the number of up-convolutions.
        hidden: widths of the linear layers before the one that makes ``channels[0]`` maps.
        initialisation: PyTorch's "default", or "truncated_normal" weights with zero biases (SBD appendix A).

    Example:
        >>> import torch
        >>> Deconv(10, (3, 64, 64))(torch.zeros(2, 10)).shape
        torch.Size([2, 3, 64, 64])
    """

    def __init__(
        self,
        latents: int,
        output_shape: tuple[int, int, int],
        *,
        channels: tuple[int, ...] = (64, 64, 32, 32),
        hidden: tuple[int, ...] = (256,),
        initialisation: Initialisation = "default",
    ) -> None:
        super().__init__(latents, output_shape, channels=channels, hidden=hidden)
        self.start, shapes = decoder_layers(self.output_shape, channels)
        self.linear = nn.Sequential(*linear_stack((latents, *hidden, math.prod(self.start))))
        layers: list[nn.Module] = []
        for shape in shapes:
            layers += [upconv_or_same(*shape), ChainReLU()]
        self.upconvolutions = Chain(*layers[:-1])
        initialise(self, initialisation)

    def forward(self, codes: Tensor) -> Tensor:
        """(n, latents) -> (n, C, H, W)."""
        maps = channels_last(self.linear(codes).unflatten(1, self.start))
        images: Tensor = self.upconvolutions(maps)
        return images
