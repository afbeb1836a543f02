"""DEC table 1: the architectures, printed from the built networks beside the published layers."""

from collections.abc import Sequence
from typing import Any

import torch

from unweave.recipes.architecture import Column, architecture, layers_of
from unweave.recipes.dec.models import faces, pinwheel, shapes
from unweave.recipes.recipe import recipe
from unweave.runs.config import Config
from unweave.vae import VAE


def _each(layers: Sequence[str], *after: str) -> list[str]:
    return [word for layer in layers for word in (layer, *after)]


def _convolutions(kind: str, *channels: int) -> list[str]:
    return [f"{kind} 4x4 {outputs} stride 2" for outputs in channels]


PUBLISHED: dict[str, list[str]] = {
    "1a encoder": [*_each(_convolutions("conv", 32, 32, 64, 64), "relu"), "linear 128", "linear 20"],
    "1a decoder": [
        *_each(["linear 128", "linear 1024", *_convolutions("upconv", 64, 64, 32)], "relu"),
        "upconv 4x4 1 stride 2",
    ],
    "1b encoder": ["linear 100", "relu", "linear 4"],
    "1b decoder": ["linear 100", "relu", "linear 4"],
    "1c encoder": [
        *_each(_convolutions("conv", 32, 64, 128, 256), "batch norm", "leaky relu 0.2"),
        "conv 4x4 100 stride 1",
    ],
    "1c decoder": [
        *_each(
            ["upconv 4x4 256 stride 1", *_convolutions("upconv", 128, 64, 32)],
            *("batch norm", "relu"),
        ),
        "upconv 4x4 3 stride 2",
    ],
}
"""The layers of tables 1a (2D Shapes), 1b (pinwheel) and 1c (CelebA); 2x10 outputs are 20 here."""


def built() -> dict[str, VAE]:
    """The models that the recipes train at the paper's scale, by sub-table.

    Example:
        >>> {name: vae.image_shape for name, vae in built().items()}
        {'1a': (1, 64, 64), '1b': (1, 1, 2), '1c': (3, 64, 64)}
    """
    configs: dict[str, tuple[dict[str, Any], tuple[int, int, int]]] = {
        "1a": (shapes("paper"), (1, 64, 64)),
        "1b": (pinwheel(1.0, 1.0), (1, 1, 2)),
        "1c": ({"data": "CelebA", **faces("paper")}, (3, 64, 64)),
    }
    models = {}
    for name, (config, shape) in configs.items():
        model = Config.of(config).make_model(shape)
        assert isinstance(model, VAE)
        models[name] = model
    return models


def table_1() -> list[Column]:
    """Encoder and decoder of each sub-table.

    Example:
        >>> [column.name for column in table_1()][:2]
        ['1a encoder', '1a decoder']
    """

    def column(which: str, vae: VAE, part: str) -> Column:
        shape = vae.image_shape if part == "encoder" else (vae.latents,)
        images = torch.zeros(2, *shape)
        name = f"{which} {part}"
        return Column(
            name, PUBLISHED[name], lambda: layers_of(getattr(vae, part), inputs=images, slopes=True)
        )

    return [column(which, vae, part) for which, vae in built().items() for part in ("encoder", "decoder")]


recipe(
    "dec-table1",
    title="Encoder and decoder architectures",
    claim="The networks on 2D Shapes (a), the pinwheel (b) and CelebA (c).",
    published="table 1, layer by layer",
)(
    architecture(
        table_1,
        note="Means and log-variances, printed as 2x10 outputs, are one layer of 20; the two convolutions of 50 that "
        "table 1c prints are one of 100, which computes the same.",
    )
)
