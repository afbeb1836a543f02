"""CoordConv decoder: NET-4 (SBD appendix E)."""

import torch
from torch import Tensor, nn

from unweave.errors import UnweaveError
from unweave.networks.layers import (
    Initialisation,
    SameConv2d,
    Upconv2d,
    channels_last,
    coordinates,
    initialise,
    linear_stack,
    require_image_shape,
    require_positive,
    strides,
)


class CoordConv(nn.Module):
    """:class:`~unweave.networks.Deconv` with x and y appended to every feature map (SBD appendix E).

    (n, latents) -> (n, C, H, W). Every up-convolution, the last one too, sees two more channels at its own
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
        super().__init__()
        colours, height, width = require_image_shape("output_shape", output_shape)
        require_positive(latents=latents, channels=channels, hidden=hidden)
        if not channels:
            raise UnweaveError("channels must name at least one up-convolution, got none")
        self.latents = latents
        self.output_shape = (colours, height, width)
        steps = strides(height, width, len(channels))[::-1]
        shrink = 2 ** steps.count(2)
        self.start = (channels[0], height // shrink, width // shrink)
        widths = (latents, *hidden, self.start[0] * self.start[1] * self.start[2])
        self.linear = nn.Sequential(*linear_stack(widths))
        self.upconvolutions = nn.ModuleList()
        _, rows, columns = self.start
        for place, (inputs, outputs, stride) in enumerate(
            zip(channels, (*channels[1:], colours), steps, strict=True)
        ):
            self.upconvolutions.append((Upconv2d if stride == 2 else SameConv2d)(inputs + 2, outputs))
            self.register_buffer(f"grid_{place}", coordinates(rows, columns)[None], persistent=False)
            rows, columns = rows * stride, columns * stride
        initialise(self, initialisation)

    def forward(self, codes: Tensor) -> Tensor:
        """(n, latents) -> (n, C, H, W)."""
        maps = channels_last(self.linear(codes).unflatten(1, self.start))
        for place, layer in enumerate(self.upconvolutions):
            grid = self.get_buffer(f"grid_{place}").expand(len(codes), -1, -1, -1)
            maps = layer(channels_last(torch.cat([maps.relu_() if place else maps, grid], 1)))
        return maps
