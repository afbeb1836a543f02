"""When do models of coloured sprites learn colour?

    python benchmarks/colour.py decoder [KEY=VALUE ...] [--steps 800]  a decoder alone, given the true factors
    python benchmarks/colour.py code [KEY=VALUE ...] [--steps N]       a VAE, trained as the words say

Both print, while they train, the share of the chroma's variance in the sums of images (red and green as shares of all
three channels) that is found again: by reconstructions, and, for a VAE, by a linear map of the code and one of the
encoder's last hidden layer (its 120 strongest directions), fitted to half of 1,500 images and tried on the other half.
Negative shares are noise around nothing.
"""

import argparse
import math
import time

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from unweave import VAE
from unweave.optimizers import OPTIMIZERS, Trained
from unweave.runs.config import Config
from unweave.runs.opened import open_data
from unweave.runs.run import fresh, settings_of
from unweave.schedules.code_layers import CodeLayers
from unweave.training import cpu
from unweave.training.trainer import Trainer
from unweave.vae import as_tensor

Floats = NDArray[np.float64]
SEED = 9
EVERY = 100


def chroma(images: Tensor) -> Floats:
    """Red and green as shares of the sum of an image, (n, 2)."""
    sums = images.sum((2, 3))
    return (sums / sums.sum(1, keepdim=True))[:, :2].double().numpy()


def share(found: Floats, true: Floats) -> float:
    """Of the variance of the true values: 1 if they are found, 0 for their mean."""
    return float(1 - ((found - true) ** 2).sum() / ((true - true.mean(0)) ** 2).sum())


def by_line(codes: Floats, true: Floats) -> float:
    """The share that a linear map of codes finds."""
    table, half = np.c_[codes, np.ones(len(codes))], len(codes) // 2
    weights = np.linalg.lstsq(table[:half], true[:half], rcond=None)[0]
    return share(table[half:] @ weights, true[half:])


def strongest(features: Tensor, count: int = 120) -> Floats:
    """The directions of features that vary most, (n, count), each scaled to unit variance."""
    numbers: Floats = features.double().numpy()
    directions: Floats = np.linalg.svd(numbers - numbers.mean(0), full_matrices=False)[0]
    return directions[:, :count] * math.sqrt(len(numbers))


def nats(means: Tensor, images: Tensor) -> float:
    """Cross-entropy of images under their reconstructions."""
    return float(F.binary_cross_entropy(means.clamp(1e-6, 1 - 1e-6), images, reduction="sum") / len(images))


def factors_as_codes(factors: Floats | None) -> Tensor:
    """The factors of coloured sprites as ten numbers of unit variance; angles and hues as points of circles.

    A batch numbers the values of shape, scale, angle, x and y from 0; hue, saturation and value are themselves.
    """
    assert factors is not None
    shape, scale, angle, x, y, hue, saturation, value = factors.T
    turn = 2 * np.pi * angle / 40
    circles = [np.cos(turn), np.sin(turn), np.cos(2 * np.pi * hue), np.sin(2 * np.pi * hue)]
    columns = [shape, scale, x, y, saturation, value, *circles]
    deviations = [
        _of_values(3),
        _of_values(6),
        _of_values(32),
        _of_values(32),
        *[0.4 / 12**0.5] * 2,
        *[0.5**0.5] * 4,
    ]
    means = [1.0, 2.5, 15.5, 15.5, 0.5, 0.5, 0, 0, 0, 0]
    scaled = [(c - mean) / sd for c, mean, sd in zip(columns, means, deviations, strict=True)]
    return torch.from_numpy(np.stack(scaled, 1).astype(np.float32))


def _of_values(count: int) -> float:
    """The standard deviation of the numbers 0 to ``count - 1``."""
    return float(((count**2 - 1) / 12) ** 0.5)


def decoder_alone(words: list[str], steps: int) -> None:
    """A decoder with neither encoder nor noise: the default one by Muon at 3e-3, or what the words say."""
    config = Config.read(
        words=["data=coloredsprites", "optimizer=Muon", "learning_rate=3e-3", "batch_size=32", *words]
    )
    sprites = open_data(config).dataset
    model, _ = fresh(config, sprites, "cpu")
    assert isinstance(model, VAE)
    decoder, rate = model.decoder, config.learning_rate
    optimizer = OPTIMIZERS.build(config.optimizer).build(Trained(list(decoder.parameters())), rate)
    held, rng = sprites.sample(300, np.random.default_rng(SEED)), np.random.default_rng(config.seed)
    seen, began = as_tensor(held.images), time.process_time()
    for step in range(1, steps + 1):
        batch = sprites.sample(config.batch_size, rng)
        features = decoder(factors_as_codes(batch.factors))
        loss = F.binary_cross_entropy_with_logits(features, as_tensor(batch.images), reduction="sum")
        for group in optimizer.param_groups:  # a warm-up of 50 steps, and a decay over the second half
            group["lr"] = rate * min(1.0, step / 50, 2 * (steps + 1 - step) / steps)
        optimizer.zero_grad(set_to_none=True)
        (loss / config.batch_size).backward()
        optimizer.step()
        if step % EVERY == 0:
            with torch.no_grad():
                means = decoder(factors_as_codes(held.factors)).sigmoid()
            told = f"{nats(means, seen):.0f} nats, chroma {share(chroma(means), chroma(seen)):.2f}"
            print(f"step {step}, {time.process_time() - began:.0f} s: {told}", flush=True)


def code_of_a_vae(words: list[str]) -> None:
    """A VAE on coloured sprites, or on what the words name."""
    config = Config.read(words=["data=coloredsprites", *words])
    sprites = open_data(config).dataset
    model, objective = fresh(config, sprites, "cpu")
    assert isinstance(model, VAE)
    trainer = Trainer(model, objective, sprites, settings_of(config, 1))
    images = as_tensor(sprites.sample(1500, np.random.default_rng(SEED)).images)
    hidden: list[Tensor] = []
    head = CodeLayers.of(model).head
    head.register_forward_pre_hook(
        lambda _, given: None if torch.is_grad_enabled() else hidden.append(given[0])
    )
    began = time.process_time()
    for step in range(1, config.steps + 1):
        trainer.step()
        if step % EVERY:
            continue
        hidden.clear()
        with torch.no_grad():
            posteriors = [model.encode(block) for block in images.split(250)]
            codes = torch.cat([q.mean for q in posteriors])
            deviations = torch.cat([q.stddev for q in posteriors])
            means = torch.cat([model.decode(block).mean for block in codes.split(250)])
        kl = (0.5 * (codes**2 + deviations**2 - 1) - deviations.log()).mean(0)
        print(
            f"step {step}, {time.process_time() - began:.0f} s: {nats(means, images):.0f} nats, KL {kl.sum():.1f} "
            f"in {int((kl > 0.3).sum())} latents, chroma {share(chroma(means), chroma(images)):.2f} in "
            f"reconstructions, {by_line(codes.double().numpy(), chroma(images)):.2f} in the code, "
            f"{by_line(strongest(torch.cat(hidden)), chroma(images)):.2f} in the hidden layer",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["decoder", "code"])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--steps", type=int, default=800)
    given = parser.parse_args()
    cpu.prepare(1)
    if given.what == "decoder":
        decoder_alone(given.words, given.steps)
    else:
        code_of_a_vae([*given.words, f"steps={given.steps}"])


if __name__ == "__main__":
    main()
