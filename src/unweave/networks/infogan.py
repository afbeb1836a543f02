"""Generator and critic of InfoGAN and InfoWGAN-GP (FAC tables 4-6)."""

import math
from typing import Literal, final

from torch import Tensor, nn

from unweave.networks.layers import channels_last
from unweave.networks.shapes import decoder_layers, encoder_layers, require_image_shape, require_positive

SLOPE = 0.2
"""Slope of the leaky ReLUs below zero."""

NormPlace = Literal["before", "after"]
"""Where normalisation stands: before or after the activation."""

_CODE_WIDTH = 128
"""Width of the layer before Q's output, in all three tables."""


@final
class InfoGANGenerator(nn.Module):
    """Generator: two linear layers, then 4 x 4 up-convolutions, batch norm and ReLU between all, a sigmoid at the end.

    (n, inputs) -> (n, C, H, W) in [0, 1]. It mirrors :class:`InfoGANCritic` with the same ``channels`` and ``hidden``.

    | published table | options |
    |---|---|
    | FAC table 4 (MNIST, the defaults) | |
    | FAC table 5 (2D Shapes) | ``channels=(32, 32, 64, 64), hidden=128, slope=0.2`` |
    | FAC table 6 (bigger) | ``channels=(64, 128, 256, 256, 256), halvings=(2, 2, 2, 1, 1), slope=0.2`` |

    Args:
        inputs: size of code and noise together.
        output_shape: (channels, height, width) of the images.
        channels: those of the critic's convolutions, from the image on; here in reverse.
        halvings: stride of each of the critic's convolutions; none: 2 while the image size is even.
        hidden: width of the first linear layer.
        slope: slope of the ReLUs of the up-convolutions below zero; table 4 prints ReLU, tables 5 and 6 leaky ReLU.
        norm_place: batch norm before the activation, as Chen et al. have it, or after it, as FAC prints it.

    Example:
        >>> import torch
        >>> InfoGANGenerator(74, (1, 28, 28))(torch.zeros(2, 74)).shape
        torch.Size([2, 1, 28, 28])
    """

    def __init__(
        self,
        inputs: int,
        output_shape: tuple[int, int, int],
        *,
        channels: tuple[int, ...] = (64, 128),
        halvings: tuple[int, ...] | None = None,
        hidden: int = 1024,
        slope: float = 0.0,
        norm_place: NormPlace = "before",
    ) -> None:
        super().__init__()
        output_shape = require_image_shape("output_shape", output_shape)
        require_positive(inputs=inputs, channels=channels, hidden=hidden)
        self.start, shapes = decoder_layers(output_shape, channels[::-1], halvings)
        size = math.prod(self.start)
        self.linear = nn.Sequential(
            *(nn.Linear(inputs, hidden), *_activated(nn.BatchNorm1d(hidden), 0.0, norm_place)),
            *(nn.Linear(hidden, size), *_activated(nn.BatchNorm1d(size), 0.0, norm_place)),
        )
        layers: list[nn.Module] = []
        for before, after, stride in shapes:
            if stride == 2:
                layers.append(nn.ConvTranspose2d(before, after, 4, stride=2, padding=1))
            else:
                layers += _same(before, after)
            layers += _activated(nn.BatchNorm2d(after), slope, norm_place)
        self.upconvolutions = nn.Sequential(*layers[:-2])

    def forward(self, codes: Tensor) -> Tensor:
        """(n, inputs) -> (n, C, H, W)."""
        maps = channels_last(self.linear(codes).unflatten(1, self.start))
        images: Tensor = self.upconvolutions(maps).sigmoid()
        return images


@final
class InfoGANCritic(nn.Module):
    """Discriminator D and encoder Q on one trunk: 4 x 4 convolutions and a linear layer, leaky ReLU between all.

    (n, C, H, W) -> scores (n,) and features of the codes (n, features). ``norm="batch"``: batch norm behind every layer
    but the first (InfoGAN); ``norm="layer"``: none behind the convolutions and layer norm behind the linear layer
    (InfoWGAN-GP), so that D's score of an image does not depend on the other images, as its gradient penalty needs. Q's
    own layer has batch norm in both cases.

    | published table | options |
    |---|---|
    | FAC table 4 (MNIST, the defaults) | |
    | FAC table 5 (2D Shapes) | ``channels=(32, 32, 64, 64), hidden=128`` |
    | FAC table 6 (bigger) | ``channels=(64, 128, 256, 256, 256), halvings=(2, 2, 2, 1, 1)`` |

    Args:
        image_shape: (channels, height, width) of the images.
        features: size of Q's output.
        channels: output channels of each convolution, from the image on.
        halvings: stride of each convolution; none: 2 while the image size is even.
        hidden: width of the linear layer.
        norm: "batch" or "layer".
        norm_place: normalisation before the activation, as Chen et al. have it, or after it, as FAC prints it.

    Example:
        >>> import torch
        >>> scores, features = InfoGANCritic((1, 28, 28), 14)(torch.zeros(2, 1, 28, 28))
        >>> scores.shape, features.shape
        (torch.Size([2]), torch.Size([2, 14]))
    """

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        features: int,
        *,
        channels: tuple[int, ...] = (64, 128),
        halvings: tuple[int, ...] | None = None,
        hidden: int = 1024,
        norm: Literal["batch", "layer"] = "batch",
        norm_place: NormPlace = "before",
    ) -> None:
        super().__init__()
        image_shape = require_image_shape("image_shape", image_shape)
        require_positive(features=features, channels=channels, hidden=hidden)
        shapes, last = encoder_layers(image_shape, channels, halvings)
        layers: list[nn.Module] = []
        for place, (inputs, outputs, stride) in enumerate(shapes):
            if stride == 2:
                layers.append(nn.Conv2d(inputs, outputs, 4, stride=2, padding=1))
            else:
                layers += _same(inputs, outputs)
            normed = nn.BatchNorm2d(outputs) if norm == "batch" and place > 0 else None
            layers += _activated(normed, SLOPE, norm_place)
        self.convolutions = nn.Sequential(*layers)
        self.linear = nn.Sequential(
            nn.Linear(math.prod(last), hidden),
            *_activated(
                nn.BatchNorm1d(hidden) if norm == "batch" else nn.LayerNorm(hidden), SLOPE, norm_place
            ),
        )
        self.score = nn.Linear(hidden, 1)
        self.code = nn.Sequential(
            *(nn.Linear(hidden, _CODE_WIDTH), *_activated(nn.BatchNorm1d(_CODE_WIDTH), SLOPE, norm_place)),
            nn.Linear(_CODE_WIDTH, features),
        )

    @property
    def of_discriminator(self) -> nn.ModuleList:
        """All layers but Q's own."""
        return nn.ModuleList([self.convolutions, self.linear, self.score])

    def trunk(self, images: Tensor) -> Tensor:
        """What D and Q share, (n, hidden)."""
        shared: Tensor = self.linear(self.convolutions(channels_last(images)).flatten(1))
        return shared

    def scores(self, images: Tensor) -> Tensor:
        """D alone, (n,)."""
        scores: Tensor = self.score(self.trunk(images)).squeeze(1)
        return scores

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """D and Q: (n, C, H, W) -> (n,), (n, features)."""
        shared = self.trunk(images)
        return self.score(shared).squeeze(1), self.code(shared)


def _activated(norm: nn.Module | None, slope: float, place: NormPlace) -> list[nn.Module]:
    """What follows a layer: its normalisation, if any, and its (leaky) ReLU, in either order."""
    # Batch norm behind a ReLU needs the ReLU's result for its gradient, so that this one may not be overwritten.
    relu: nn.Module = (
        nn.LeakyReLU(slope, inplace=place == "before") if slope else nn.ReLU(inplace=place == "before")
    )
    several: list[nn.Module] = [relu] if norm is None else [norm, relu]
    return several if place == "before" else several[::-1]


def _same(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.ZeroPad2d((1, 2, 1, 2)), nn.Conv2d(inputs, outputs, 4)]
