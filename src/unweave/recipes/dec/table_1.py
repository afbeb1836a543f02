"""DEC table 1: the architectures, printed from the built networks beside the published layers."""

from typing import Any

from unweave.recipes.claims import equal
from unweave.recipes.dec.models import faces, pinwheel, shapes
from unweave.recipes.layer_tables import Layer, beside, differing, linear, picture
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.runs.config import Config
from unweave.vae import VAE

RELU = ("ReLU",)
NORM_LEAKY, NORM_RELU = ("BatchNorm2d", "LeakyReLU(0.2)"), ("BatchNorm2d", "ReLU")

PUBLISHED: dict[str, list[Layer]] = {
    "1a encoder": [
        *(Layer("conv", n, 4, 2, RELU) for n in (32, 32, 64, 64)),
        *linear(128),
        Layer("FC", 20, halves=True),
    ],
    "1a decoder": [
        *linear(128, 4 * 4 * 64, after=RELU),
        *(Layer("upconv", n, 4, 2, RELU) for n in (64, 64, 32)),
        Layer("upconv", 1, 4, 2),
    ],
    "1b encoder": [*linear(100, after=RELU), Layer("FC", 4, halves=True)],
    "1b decoder": [*linear(100, after=RELU), Layer("FC", 4, halves=True)],
    "1c encoder": [
        *(Layer("conv", n, 4, 2, NORM_LEAKY) for n in (32, 64, 128, 256)),
        Layer("conv", 100, 4, 1, halves=True),
    ],
    "1c decoder": [
        Layer("upconv", 256, 4, 1, NORM_RELU),
        *(Layer("upconv", n, 4, 2, NORM_RELU) for n in (128, 64, 32)),
        Layer("upconv", 3, 4, 2),
    ],
}
"""The layers of tables 1a (2D Shapes), 1b (pinwheel) and 1c (CelebA)."""


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


def compared() -> list[list[str]]:
    """Every layer of the table beside the built one.

    Example:
        >>> compared()[0]
        ['1a encoder', '4x4 conv. 32 stride 2 & ReLU', '4x4 conv. 32 stride 2 & ReLU', 'same']
    """
    rows = []
    for name, vae in built().items():
        for part, network in (("encoder", vae.encoder), ("decoder", vae.decoder)):
            rows += beside(f"{name} {part}", PUBLISHED[f"{name} {part}"], network)
    return rows


@recipe(
    "dec-table1",
    title="Encoder and decoder architectures",
    claim="The networks on 2D Shapes (a), the pinwheel (b) and CelebA (c).",
    published="table 1, layer by layer",
)
def table_1(job: Job) -> Conclusion:
    """The networks of the recipes, printed layer by layer."""
    rows = [["part", "published", "built", "layer"], *compared()]
    job.note(
        "2x10: means and log-variances, which table 1c prints as two convolutions of 50; one of 100 computes the same."
    )
    count = float(differing(rows))
    return Conclusion(
        rows=rows,
        pictures={"layers": picture(rows, title="DEC table 1")},
        findings=[equal("layers that differ from the published ones", count, 0.0)],
    )
