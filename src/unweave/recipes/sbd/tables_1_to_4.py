"""SBD tables 1 to 4: networks, circles and training steps, as published and as they are built."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from unweave.data import Circles
from unweave.data.circles import Variant
from unweave.plots.text_table import text_table
from unweave.recipes.architecture import Column, architecture, layers_of
from unweave.recipes.claims import Finding, above, equal
from unweave.recipes.recipe import Conclusion, Job, recipe
from unweave.recipes.sbd.models import (
    FACTOR_STEPS,
    SPRITES,
    STEPS,
    broadcast,
    circles,
    deconv,
    factor_deconv,
    factor_vae,
    sprites,
    vae,
)
from unweave.runs.config import Config, merge
from unweave.runs.study import nested
from unweave.vae import VAE

SHAPE = (3, 64, 64)


def _model(decoder: dict[str, Any], *, factor: bool = False) -> VAE:
    base = {**vae("paper", SPRITES, 1), "decoder": decoder}
    changes = factor_vae("paper", 1) if factor else {}
    model = Config.of(merge(nested(base), nested(changes))).make_model(SHAPE)
    assert isinstance(model, VAE)
    return model


def _with_relu(layers: Sequence[str], last: str) -> list[str]:
    return [*(word for layer in layers for word in (layer, "relu")), last]


def _encoder(channels: Sequence[int]) -> list[str]:
    return _with_relu([*(f"conv 4x4 {c} stride 2" for c in channels), "linear 256"], "linear 20")


def _deconv(channels: Sequence[int]) -> list[str]:
    return _with_relu(
        ["linear 256", *(f"upconv 4x4 {c} stride 2" for c in channels)], "upconv 4x4 3 stride 2"
    )


BROADCAST_LAYERS = [
    *("tile 64x64x10", "append coordinates"),
    *_with_relu(["conv 4x4 64 stride 1"] * 2, "conv 4x4 3 stride 1"),
]


def _columns(
    encoder: Sequence[int], up: Sequence[int], decoder: dict[str, Any], *, factor: bool
) -> list[Column]:
    def layers(made: dict[str, Any], part: str) -> list[str]:
        model = _model(made, factor=factor)
        inputs = torch.zeros(2, *SHAPE) if part == "encoder" else torch.zeros(2, 10)
        return layers_of(getattr(model, part), inputs=inputs)

    return [
        Column("encoder", _encoder(encoder), lambda: layers(decoder, "encoder")),
        Column("DeConv decoder", _deconv(up), lambda: layers(decoder, "decoder")),
        Column("Broadcast decoder", BROADCAST_LAYERS, lambda: layers(broadcast("paper"), "decoder")),
    ]


def table_1() -> list[Column]:
    """Networks of VAE, beta-VAE, CoordConv VAE and ablations; the activations are those of appendix A."""
    return _columns([64] * 4, [64] * 4, deconv("paper"), factor=False)


def table_2() -> list[Column]:
    """Networks of FactorVAE, printed from the output (top) to the input, as are those of table 1."""
    return _columns([32, 32, 64, 64], [64, 64, 32, 32], factor_deconv("paper"), factor=True)


def sizes(decoder: nn.Module) -> tuple[int, int]:
    """Parameters of a decoder, and values of the feature maps that it makes of one code.

    Example:
        >>> sizes(nn.Sequential(nn.Linear(3, 5, bias=False)))[0]
        15
    """
    values = 0

    def count(_: nn.Module, __: object, output: torch.Tensor) -> None:
        nonlocal values
        values += output[0].numel()

    layers = [m for m in decoder.modules() if isinstance(m, nn.Linear | nn.Conv2d | nn.ConvTranspose2d)]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    with torch.no_grad():
        decoder(
            torch.zeros(1, next(iter(layers)).weight.shape[1] if isinstance(layers[0], nn.Linear) else 10)
        )
    for hook in hooks:
        hook.remove()
    return sum(p.numel() for p in decoder.parameters()), values


def fewer_parameters() -> list[Finding]:
    """SBD appendix A.1: the Spatial Broadcast decoder has fewer parameters. It says that these take half as much memory
    again, which fewer weights cannot: of what a decoder stores, its feature maps take more.
    """
    theirs, ours = (sizes(_model(each).decoder) for each in (deconv("paper"), broadcast("paper")))
    return [
        above(f"parameters, DeConv ({theirs[0]:,}) minus Broadcast ({ours[0]:,})", theirs[0] - ours[0]),
        above(
            "values of feature maps, Broadcast over DeConv (published: 1.5 in memory)",
            ours[1] / theirs[1],
            1.0,
        ),
    ]


recipe(
    "sbd-table1",
    title="Networks of VAE, beta-VAE, CoordConv VAE and ablations",
    claim="The networks that are built have the published layers; the Broadcast decoder has fewer parameters.",
    published="table 1; about 50 % more memory (appendix A.1)",
)(architecture(table_1, fewer_parameters))

recipe(
    "sbd-table2",
    title="Networks of FactorVAE",
    claim="The networks that are built have the published layers.",
    published="table 2",
)(architecture(table_2))

CIRCLES: dict[str, tuple[Variant, float, dict[str, tuple[float, float]]]] = {
    "X-Y": ("xy", 0.2, {"x": (0.2, 0.8), "y": (0.2, 0.8)}),
    "X-H": ("xh", 0.3, {"x": (0.2, 0.8), "hue": (0.2, 0.8)}),
    "R-G": ("rg", 0.5, {"red": (0.4, 0.8), "green": (0.4, 0.8)}),
    "X-Y-H Small": ("xyh_small", 0.1, {"x": (0.2, 0.8), "y": (0.2, 0.8), "hue": (0.2, 0.8)}),
    "X-Y-H Tiny": ("xyh_tiny", 0.075, {"x": (0.2, 0.8), "y": (0.2, 0.8), "hue": (0.2, 0.8)}),
}
"""Table 3: name -> our variant, size, ranges of what varies."""


def _told(ranges: Mapping[str, Any]) -> str:
    return ", ".join(f"{factor} {low:g} to {high:g}" for factor, (low, high) in ranges.items())


@recipe(
    "sbd-table3",
    title="Circles: ranges of the factors of the five data sets",
    claim="The data sets that are drawn have the published factors, ranges and sizes.",
    published="table 3",
    data=lambda: [{"name": "Circles", "variant": variant} for variant, _, _ in CIRCLES.values()],
)
def table_3(job: Job) -> Conclusion:
    """Published and drawn side by side."""
    rows, wrong = [["data set", "size", "published", "factors", "published"]], 0
    for name, (variant, size, ranges) in CIRCLES.items():
        data = Circles(variant=variant)
        own = dict(zip(data.space.names, data.space.sizes, strict=True))
        wrong += (data.diameter != size) + (own != ranges)
        rows.append([name, f"{data.diameter:g}", f"{size:g}", _told(own), _told(ranges)])
    return Conclusion(
        rows, [equal("cells that differ from the published ones", wrong, 0)], {"table": text_table(rows)}
    )


TABLE_4 = {
    ("coloured sprites", "VAE"): 1_500_000,
    ("coloured sprites", "FactorVAE"): 1_000_000,
    ("chairs", "VAE"): 700_000,
    ("3D objects", "VAE"): 2_500_000,
    ("circles", "VAE"): 500_000,
    ("circles", "FactorVAE"): 500_000,
}
"""Training steps."""


@recipe(
    "sbd-table4",
    title="Training steps of each model on each data set",
    claim="Recipes at the paper's scale train for the published numbers of steps.",
    published="table 4",
)
def table_4(job: Job) -> Conclusion:
    """Published steps and those of the plans."""
    planned = circles("xy", factor=["paper"])("paper")["variants"]["DeConv FactorVAE"]["steps"]
    ours = {
        ("coloured sprites", "VAE"): sprites(lambda _: {})("paper")["base"]["steps"],
        ("coloured sprites", "FactorVAE"): FACTOR_STEPS["sprites"],
        ("chairs", "VAE"): STEPS["chairs"],
        ("3D objects", "VAE"): STEPS["rooms"],
        ("circles", "VAE"): circles("xy")("paper")["base"]["steps"],
        ("circles", "FactorVAE"): planned,
    }
    rows = [["data", "model", "published", "planned"]]
    rows += [[*key, f"{steps:,}", f"{ours[key]:,}"] for key, steps in TABLE_4.items()]
    wrong = sum(ours[key] != steps for key, steps in TABLE_4.items())
    return Conclusion(
        rows, [equal("cells that differ from the published ones", wrong, 0)], {"table": text_table(rows)}
    )
