"""Networks: plain ``nn.Module`` objects that turn images into features and codes into images.

They know nothing of probability. Encoders are built as ``Encoder(image_shape, features, *, options)``,
decoders as ``Decoder(latents, output_shape, *, options)``; ``ENCODERS`` and ``DECODERS`` map the names used
in a config to classes.

Example:
    >>> sorted(ENCODERS), sorted(DECODERS)
    (['Conv', 'DCGAN', 'MLP'], ['CoordConv', 'DCGAN', 'Deconv', 'MLP', 'SpatialBroadcast'])
"""

from torch import nn

from unweave.networks.broadcast import SpatialBroadcast, broadcast
from unweave.networks.conv import Conv, Deconv
from unweave.networks.coordconv import CoordConv
from unweave.networks.critics import Discriminator
from unweave.networks.dcgan import DCGANDecoder, DCGANEncoder
from unweave.networks.mlp import MLPDecoder, MLPEncoder
from unweave.slots import Slot

ENCODERS: Slot[nn.Module] = Slot(
    "encoder",
    "unweave.encoders",
    nn.Module,
    {"Conv": Conv, "MLP": MLPEncoder, "DCGAN": DCGANEncoder},
)
_DECODERS: dict[str, type[nn.Module]] = {
    "Deconv": Deconv,
    "SpatialBroadcast": SpatialBroadcast,
    "CoordConv": CoordConv,
    "MLP": MLPDecoder,
    "DCGAN": DCGANDecoder,
}
DECODERS: Slot[nn.Module] = Slot("decoder", "unweave.decoders", nn.Module, _DECODERS)

__all__ = [
    "DECODERS",
    "ENCODERS",
    "Conv",
    "CoordConv",
    "DCGANDecoder",
    "DCGANEncoder",
    "Deconv",
    "Discriminator",
    "MLPDecoder",
    "MLPEncoder",
    "SpatialBroadcast",
    "broadcast",
]
