"""Convolutional networks with batch norm after DCGAN (DEC table 1c)."""

from typing import final

from torch import Tensor, nn

from unweave.networks.layers import SameConv2d, channels_last, upconv_or_same
from unweave.networks.shapes import decoder_layers, encoder_layers, require_image_shape, require_positive


@final
class DCGANEncoder(nn.Module):
    """Encoder: 4 x 4 convolutions with batch norm and leaky ReLU 0.2, then one convolution over the whole maps.

    (n, C, H, W) -> (n, features). For 64 x 64 images: 32, 64, 128, 256 channels at stride 2, then a 4 x 4 convolution
    to the features; the table prints its two halves, for means and for variances, as two layers. Smaller images end in
    layers of stride 1, as in :class:`unweave.networks.Conv`.

    Args:
        image_shape: (channels, height, width) of the images.
        features: size of the output, for a Gaussian posterior twice the number of latents (2 x 50 in the table).
        channels: output channels of each convolution except the last.

    Reference: DEC table 1c.

    Example:
        >>> import torch
        >>> DCGANEncoder((3, 64, 64), 100)(torch.zeros(2, 3, 64, 64)).shape
        torch.Size([2, 100])
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        features: int,
        *,
        channels: tuple[int, ...] = (32, 64, 128, 256),
    ) -> None:
        super().__init__()
        require_positive(features=features, channels=channels)
        self.features = features
        self.image_shape = require_image_shape("image_shape", image_shape)
        shapes, (maps, height, width) = encoder_layers(self.image_shape, channels)
        layers: list[nn.Module] = []
        for inputs, outputs, stride in shapes:
            if stride == 2:
                layers.append(nn.Conv2d(inputs, outputs, 4, stride=2, padding=1))
            else:
                layers.append(SameConv2d(inputs, outputs))
            layers += [nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2)]
        self.convolutions = nn.Sequential(*layers)
        self.last = nn.Conv2d(maps, features, (height, width))

    def forward(self, images: Tensor) -> Tensor:
        """(n, C, H, W) -> (n, features)."""
        features: Tensor = self.last(self.convolutions(channels_last(images)))
        return features.flatten(1)


@final
class DCGANDecoder(nn.Module):
    """Decoder: an up-convolution from the code to small maps, then 4 x 4 up-convolutions, batch norm and ReLU between.

    (n, latents) -> (n, C, H, W). For 64 x 64 images: 256 maps of 4 x 4 at stride 1, then 128, 64, 32 and the image at
    stride 2; nothing after the last.

    Args:
        latents: size of the code (50 in the table).
        output_shape: (channels, height, width) of the output; the channels are those the likelihood needs.
        channels: output channels of each up-convolution except the last.

    Reference: DEC table 1c.

    Example:
        >>> import torch
        >>> DCGANDecoder(50, (3, 64, 64))(torch.zeros(2, 50)).shape
        torch.Size([2, 3, 64, 64])
    """

    def __init__(
        self,
        latents: int,
        output_shape: tuple[int, int, int],
        *,
        channels: tuple[int, ...] = (256, 128, 64, 32),
    ) -> None:
        super().__init__()
        require_positive(latents=latents, channels=channels)
        self.latents = latents
        self.output_shape = require_image_shape("output_shape", output_shape)
        (maps, height, width), shapes = decoder_layers(self.output_shape, channels)
        self.first = nn.ConvTranspose2d(latents, maps, (height, width))
        layers: list[nn.Module] = []
        for shape in shapes:
            layers += [nn.BatchNorm2d(shape.inputs), nn.ReLU(), upconv_or_same(*shape)]
        self.upconvolutions = nn.Sequential(*layers)

    def forward(self, codes: Tensor) -> Tensor:
        """(n, latents) -> (n, C, H, W)."""
        maps = channels_last(self.first(codes[:, :, None, None]))
        images: Tensor = self.upconvolutions(maps)
        return images
