"""Small networks of every kind with weights at random, and what PyTorch makes of them."""

import base64
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from unweave.explorer.packing import pack
from unweave.models import TrainedModel
from unweave.runs import Config
from unweave.standardise import standardise
from unweave.vae import VAE

Change = Callable[[TrainedModel], None]


def _standardised(model: TrainedModel) -> None:
    channels = model.image_shape[0]
    assert isinstance(model.model, VAE)
    standardise(model.model, [0.4, 0.5, 0.3][:channels], [0.2, 0.3, 0.25][:channels])
    model.model.eval()


def _half_open(model: TrainedModel) -> None:
    assert isinstance(model.model, VAE)
    model.model.open_latents = 2


@dataclass(frozen=True)
class Case:
    """A config, the shape of its images, and perhaps a change of the model before its weights are drawn."""

    words: str
    shape: tuple[int, int, int]
    change: Change | None = None

    def model(self) -> TrainedModel:
        config = Config.read(words=["data=circles", *self.words.split()])
        model = TrainedModel.untrained(config, self.shape)
        if self.change is not None:
            self.change(model)
        randomise(model.model)
        return model


_SMALL = "encoder.channels=[8,12,16] encoder.hidden=[24] decoder.channels=[16,12,8] decoder.hidden=[24]"
_BROADCAST = "decoder=SpatialBroadcast encoder.channels=[8,8] decoder.width=24"
_GAN = "model.channels=[8,12,16] model.hidden=40 model.noise=7"

CASES: dict[str, Case] = {
    # decoders and encoders
    "Deconv": Case(f"latents=5 {_SMALL}", (1, 32, 32)),
    "Deconv colour, not square": Case(f"latents=10 {_SMALL}", (3, 24, 40)),
    "Deconv 28 x 28, strides 1": Case(
        "latents=3 encoder.channels=[8,8,8,8] decoder.channels=[8,8,8,8]", (1, 28, 28)
    ),
    "Deconv, widths that fill no vector": Case(
        "latents=3 encoder.channels=[2,3,5] encoder.hidden=[7,9] encoder.hidden_activation=none "
        "decoder.channels=[3,2,5] decoder.hidden=[]",
        (2, 16, 16),
    ),
    "Deconv of the papers": Case("latents=10", (1, 64, 64)),
    "MLP": Case(
        "latents=4 encoder=MLP decoder=MLP encoder.hidden=[30,20] decoder.hidden=[30,20]", (3, 9, 14)
    ),
    "MLP relu": Case(
        "latents=2 encoder=MLP decoder=MLP encoder.hidden=[18] decoder.hidden=[18] decoder.activation=relu",
        (1, 2, 1),
    ),
    "CoordConv": Case(
        "latents=4 decoder=CoordConv encoder.channels=[8,8] decoder.channels=[12,16,8]", (3, 16, 24)
    ),
    "CoordConv, strides 1": Case(
        "latents=4 decoder=CoordConv encoder.channels=[8,16,24] decoder.channels=[16,24,16]", (1, 12, 20)
    ),
    "DCGAN": Case(
        "latents=6 encoder=DCGAN decoder=DCGAN encoder.channels=[8,12,16] decoder.channels=[16,12,8]",
        (3, 32, 24),
    ),
    "DCGAN, strides 1": Case(
        "latents=6 encoder=DCGAN decoder=DCGAN encoder.channels=[8,8,16] decoder.channels=[16,12,8]",
        (1, 20, 12),
    ),
    "SpatialBroadcast": Case(f"latents=5 {_BROADCAST}", (3, 32, 32)),
    "SpatialBroadcast of the papers": Case("latents=10 decoder=SpatialBroadcast", (1, 64, 64)),
    "SpatialBroadcast, mlp, depth 4, not square": Case(
        f"latents=5 {_BROADCAST} decoder.depth=4 decoder.mlp=[17,30]", (1, 20, 36)
    ),
    "SpatialBroadcast, depth 2, kernel 3": Case(
        f"latents=3 {_BROADCAST} decoder.depth=2 decoder.kernel=3", (3, 64, 68)
    ),
    "SpatialBroadcast, kernel 3": Case(f"latents=3 {_BROADCAST} decoder.kernel=3", (3, 20, 12)),
    "SpatialBroadcast, kernel 5": Case(f"latents=3 {_BROADCAST} decoder.kernel=5", (1, 16, 16)),
    "SpatialBroadcast, kernel 2": Case(f"latents=3 {_BROADCAST} decoder.kernel=2", (1, 16, 16)),
    "SpatialBroadcast, kernel wider than the image": Case(
        f"latents=3 {_BROADCAST} decoder.kernel=9", (1, 4, 8)
    ),
    "SpatialBroadcast, 1 upscale": Case(f"latents=3 {_BROADCAST} decoder.upscales=1", (3, 64, 64)),
    "SpatialBroadcast, 3 upscales, kernel 5": Case(
        f"latents=3 {_BROADCAST} decoder.upscales=3 decoder.kernel=5", (1, 64, 96)
    ),
    "SpatialBroadcast, 2 upscales, kernel 3": Case(
        f"latents=3 {_BROADCAST} decoder.upscales=2 decoder.kernel=3", (2, 16, 24)
    ),
    "SpatialBroadcast, shuffled": Case(
        f"latents=3 {_BROADCAST} decoder.shuffle_coordinates=true", (1, 64, 64)
    ),
    # likelihoods
    "MSE": Case(f"latents=5 likelihood=MSE {_SMALL}", (3, 16, 16)),
    "Gaussian": Case(f"latents=5 likelihood=Gaussian likelihood.learned=true {_SMALL}", (1, 16, 16)),
    "Gaussian, a variance per output": Case(
        f"latents=5 likelihood=Gaussian likelihood.per_output=true {_SMALL}", (3, 16, 16)
    ),
    "Gaussian, a variance per output, MLP": Case(
        "latents=2 likelihood=Gaussian likelihood.per_output=true encoder=MLP decoder=MLP "
        "encoder.hidden=[18] decoder.hidden=[18]",
        (2, 3, 5),
    ),
    "Bernoulli with blur": Case(f"latents=5 likelihood.blur=box {_SMALL}", (1, 16, 16)),
    "MSE, standardised": Case(f"latents=5 likelihood=MSE {_SMALL}", (3, 16, 24), _standardised),
    "Gaussian, standardised, per output, broadcast": Case(
        f"latents=5 likelihood=Gaussian likelihood.per_output=true {_BROADCAST}", (1, 32, 32), _standardised
    ),
    # posteriors
    "IsotropicNormal": Case(f"latents=5 posterior=IsotropicNormal {_SMALL}", (1, 16, 16)),
    "FullNormal": Case(f"latents=5 posterior=FullNormal {_SMALL}", (1, 16, 16)),
    "BallMixture": Case(f"latents=5 posterior=BallMixture posterior.share=0.8 {_SMALL}", (1, 16, 16)),
    "two of five latents open": Case(f"latents=5 {_SMALL}", (1, 16, 16), _half_open),
    # GANs
    "InfoGAN": Case(f"model=InfoGAN {_GAN} model.categorical=[4]", (1, 28, 28)),
    "InfoGAN, norm after": Case(
        f"model=InfoGAN {_GAN} model.norm_place=after model.slope=0.2 model.continuous=4 model.categorical=[]",
        (3, 32, 24),
    ),
    "InfoWGANGP": Case(f"model=InfoWGANGP {_GAN} model.continuous=3 model.categorical=[3,5]", (3, 32, 32)),
    "InfoWGANGP, norm after": Case(
        f"model=InfoWGANGP {_GAN} model.norm_place=after model.slope=0.1 model.continuous=0 "
        "model.halvings=[2,1,2]",
        (1, 20, 24),
    ),
}


def randomise(model: nn.Module, seed: int = 0) -> None:
    """Weights that keep signals alive through the layers, biases and statistics that are not 0, 0 and 1."""
    generator = torch.Generator().manual_seed(seed)

    def normal(tensor: torch.Tensor, deviation: float, mean: float = 0.0) -> None:
        tensor.data.copy_(mean + deviation * torch.randn(tensor.shape, generator=generator))

    for layer in model.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            taps = math.prod(layer.kernel_size) if not isinstance(layer, nn.Linear) else 1
            inputs = layer.in_features if isinstance(layer, nn.Linear) else layer.in_channels
            if isinstance(layer, nn.ConvTranspose2d) and layer.stride[0] == 2:
                taps = taps / 4
            elif isinstance(layer, nn.ConvTranspose2d):
                taps = 1
            normal(layer.weight, math.sqrt(2 / (inputs * taps)))
            assert layer.bias is not None
            normal(layer.bias, 0.3)
        elif isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
            normal(layer.weight, 0.2, 1.0)
            normal(layer.bias, 0.3)
            assert layer.running_mean is not None and layer.running_var is not None
            normal(layer.running_mean, 0.3)
            layer.running_var.copy_(0.5 + torch.rand(layer.running_var.shape, generator=generator))
        elif isinstance(layer, nn.LayerNorm):
            normal(layer.weight, 0.2, 1.0)
            normal(layer.bias, 0.3)


def inputs(model: TrainedModel) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Three codes and two images."""
    rng = np.random.default_rng(1)
    codes = rng.normal(size=(3, model.latents)).astype(np.float32)
    return codes, rng.random((2, *model.image_shape)).astype(np.float32)


def packed_case(model: TrainedModel, precision: Any) -> dict[str, Any]:
    """What the JavaScript of ``run_cases.js`` takes."""
    packed = pack(model, precision)
    codes, images = inputs(model)
    return {
        "description": packed.description,
        "weights": base64.b64encode(packed.weights).decode(),
        "codes": base64.b64encode(codes.tobytes()).decode(),
        "images": base64.b64encode(images.tobytes()).decode(),
    }


def floats(text: str, *shape: int) -> NDArray[np.float32]:
    """Numbers that came back."""
    return np.frombuffer(base64.b64decode(text), np.float32).reshape(shape)


def cases_json(precision: str, models: dict[str, TrainedModel]) -> str:
    return json.dumps({name: packed_case(model, precision) for name, model in models.items()})
