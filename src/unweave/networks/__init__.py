"""Networks: plain ``nn.Module`` objects that turn images into features and codes into images.

They know nothing of probability and need no base class. What they must provide:

* an encoder: the constructor ``(image_shape, features, *, options)`` and ``forward(images)`` from
  ``(n, *image_shape)``, values in [0, 1], to ``(n, features)``; the posterior says how many features it needs;
* a decoder: the constructor ``(latents, output_shape, *, options)`` and ``forward(codes)`` from ``(n, latents)`` to
  ``(n, *output_shape)``, unbounded numbers; the likelihood says which shape it needs.

Every keyword of the constructor with a type and a default is an option, ``decoder.NAME=VALUE`` in a config.
``ENCODERS`` and ``DECODERS`` map the names used in a config to classes.

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
