"""CoordConv decoder (SBD appendix E)."""

import math
from typing import final

import torch
from torch import Tensor, nn

from unweave.networks.layers import (
    ImageDecoder,
    Initialisation,
    channels_last,
    coordinates,
    initialise,
    linear_stack,
    upconv_or_same,
)
from unweave.networks.shapes import decoder_layers


@final
class CoordConv(ImageDecoder):
    """:class:`~unweave.networks.Deconv` with x and y appended to every feature map (SBD appendix E).

    (n, latents) -> (n, C, H, W). Every up-convolution, including the last, gets two more channels at its own
    resolution. The defaults are SBD table 1, which SBD uses for its CoordConv VAE.

    Args:
        latents: size of the code.
        output_shape: (channels, height, width) of the output; the channels are those the likelihood needs.
        channels: channels that enter each up-convolution, coordinates not counted.
        hidden: widths of the linear layers before the one that makes ``channels[0]`` maps.
        initialisation: "truncated_normal" weights with zero biases (SBD appendix A) or PyTorch's "default".

    Example:
        >>> CoordConv(10, (3, 64, 64))(torch.zeros(2, 10)).shape
        torch.Size([2, 3, 64, 64])
    """

    def __init__(
        self,
        latents: int,
        output_shape: tuple[int, int, int],
        *,
        channels: tuple[int, ...] = (64, 64, 64, 64, 64),
        hidden: tuple[int, ...] = (),
        initialisation: Initialisation = "truncated_normal",
    ) -> None:
        super().__init__(latents, output_shape, channels=channels, hidden=hidden)
        self.start, shapes = decoder_layers(self.output_shape, channels)
        self.linear = nn.Sequential(*linear_stack((latents, *hidden, math.prod(self.start))))
        self.upconvolutions = nn.ModuleList()
        _, rows, columns = self.start
        for place, (inputs, outputs, stride) in enumerate(shapes):
            self.upconvolutions.append(upconv_or_same(inputs + 2, outputs, stride))
            self.register_buffer(f"grid_{place}", coordinates(rows, columns)[None], persistent=False)
            rows, columns = rows * stride, columns * stride
        initialise(self, initialisation)

    def forward(self, codes: Tensor) -> Tensor:
        """(n, latents) -> (n, C, H, W)."""
        maps = channels_last(self.linear(codes).unflatten(1, self.start))
        for place, layer in enumerate(self.upconvolutions):
            grid = self.get_buffer(f"grid_{place}").expand(codes.shape[0], -1, -1, -1)
            maps = layer(channels_last(torch.cat([maps.relu_() if place else maps, grid], 1)))
        return maps
