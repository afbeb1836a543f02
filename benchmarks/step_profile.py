"""Where a training step of the convolutional VAE spends its time, against the matrix product of the same core.

    python benchmarks/step_profile.py [--rounds 30] [--out benchmarks/results/step_profile.json]

Every layer of the default networks (dSprites 64x64x1, batch 64) is timed alone, forward and backward, by the functions
that training uses; so are the loss, the optimiser and the whole step. One round times everything once, a matrix product
of 1,024 x 1,024 x 1,024 among it, and the median over rounds counts; the time is that of the processor, so other
programs cost cache and clock, not waiting. A layer's rate is its multiplications and additions over its time.
"""

import argparse
import copy
import math
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

from unweave import VAE, atomic, data
from unweave.networks.layers import Chain, ChainReLU, channels_last
from unweave.objectives import BetaVAE
from unweave.optimizers import Adam, Muon, Optimizer
from unweave.training import cpu
from unweave.training.trainer import Settings, Trainer

BATCH, LATENTS, SIDE = 64, 10, 1024
Timed = dict[str, tuple[Callable[[], object], float]]
"""What is timed: a call, and its multiplications and additions in units of 1e9."""


def layers_of(vae: VAE) -> Iterator[tuple[str, nn.Module, Tensor, bool]]:
    """Name, layer with its ReLU, an input of it, and whether that needs a gradient."""
    maps = channels_last(torch.rand(BATCH, 1, 64, 64))
    steps = list(vae.encoder.convolutions)
    for number, (layer, after) in enumerate(pairwise(steps)):
        if not isinstance(layer, ChainReLU):
            chain = Chain(layer, after)
            yield f"encoder {_words(layer)}", chain, maps, number > 0
            maps = chain(maps.clone()).detach()
    for layer in (each for each in vae.encoder.linear if isinstance(each, nn.Linear)):
        yield f"encoder {_words(layer)}", layer, torch.rand(BATCH, layer.in_features), True
    for layer in (each for each in vae.decoder.linear if isinstance(each, nn.Linear)):
        yield f"decoder {_words(layer)}", layer, torch.rand(BATCH, layer.in_features), True
    maps = channels_last(torch.rand(BATCH, *vae.decoder.start))
    steps = list(vae.decoder.upconvolutions)
    for layer, after in zip(steps, [*steps[1:], None], strict=True):
        if not isinstance(layer, ChainReLU):
            chain = Chain(*([layer] if after is None else [layer, after]))
            yield f"decoder {_words(layer)}", chain, maps, True
            maps = chain(maps.clone()).detach()


def _words(layer: nn.Module) -> str:
    if isinstance(layer, nn.Linear):
        return f"linear {layer.in_features} to {layer.out_features}"
    kind = "up" if isinstance(layer, nn.ConvTranspose2d) else "down"
    return f"{kind} {layer.in_channels} to {layer.out_channels}"


def _gflop(layer: nn.Module, inputs: Tensor, outputs: Tensor) -> float:
    """Of the forward pass; of each gradient the same."""
    weight = next(parameter for parameter in layer.parameters() if parameter.ndim > 1)
    transposed = any(isinstance(each, nn.ConvTranspose2d) for each in layer.modules())
    places = inputs if transposed else outputs
    pixels = 1 if weight.ndim == 2 else math.prod(places.shape[2:])
    return 2 * BATCH * pixels * weight.numel() / 1e9


def timed(vae: VAE, optimizer: Optimizer) -> Timed:
    """Everything that a round times."""
    found: Timed = {}
    square = torch.rand(SIDE, SIDE)
    found["matrix product"] = (lambda: square @ square, 2 * SIDE**3 / 1e9)
    for name, layer, inputs, wanted in layers_of(
        copy.deepcopy(vae)
    ):  # training changes the weights of the other
        maps = inputs.clone().requires_grad_(wanted)
        outputs = layer(maps)
        gradient = torch.rand_like(outputs)
        asked = [*([maps] if wanted else []), *layer.parameters()]
        work = _gflop(layer, maps, outputs)

        def forward(layer: nn.Module = layer, maps: Tensor = maps) -> object:
            with torch.no_grad():
                return layer(maps)

        def backward(outputs: Tensor = outputs, asked: list[Tensor] = asked, g: Tensor = gradient) -> object:
            return torch.autograd.grad(outputs, asked, g, retain_graph=True)

        found[f"{name}, forward"] = (forward, work)
        found[f"{name}, backward"] = (backward, work * (1 + wanted))
    settings = Settings(steps=10**6, batch_size=BATCH, optimizer=optimizer, learning_rate=1e-4)
    trainer = Trainer(vae, BetaVAE(), data.DSprites(), settings)
    trainer.step()
    logits = torch.zeros(BATCH, 1, 64, 64, requires_grad=True)
    images = trainer._batch()

    def loss() -> object:
        return torch.autograd.grad(-vae.likelihood(logits).log_prob(images).mean(), logits)

    found["batch of images"] = (trainer._batch, 0.0)
    found["reconstruction loss"] = (loss, 0.0)
    found["optimiser"] = (trainer.state.optimizer.step, 0.0)
    found["whole step"] = (trainer.step, 0.0)
    return found


def measure(optimizer: Optimizer, rounds: int) -> list[dict[str, float | str]]:
    """Median milliseconds, work and rate of everything."""
    torch.manual_seed(0)
    cpu.prepare(1)
    calls = timed(VAE.assemble((1, 64, 64), LATENTS), optimizer)
    taken: dict[str, list[float]] = {name: [] for name in calls}
    with cpu.flushed_denormals():
        for _ in range(rounds + 2):
            for name, (call, _) in calls.items():
                began = time.process_time()
                call()
                taken[name].append(time.process_time() - began)
    rows: list[dict[str, float | str]] = []
    for name, (_, work) in calls.items():
        milliseconds = 1000 * statistics.median(taken[name][2:])
        rows.append({"what": name, "ms": milliseconds, "gflop": work, "gflops": work / milliseconds * 1000})
    total = sum(work for name, (_, work) in calls.items() if name != "matrix product")
    rows[-1] |= {"gflop": total, "gflops": 1000 * total / float(rows[-1]["ms"])}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = {"processor": platform.processor() or platform.machine(), "rounds": options.rounds}
    for name, optimizer in {"Adam": Adam(), "Muon": Muon()}.items():
        results[name] = rows = measure(optimizer, options.rounds)
        peak = float(rows[0]["gflops"])
        print(
            f"\n{name}\n\n| what | ms | GFLOP | GFLOP/s | share of the matrix product |\n|---|---|---|---|---|"
        )
        for row in rows:
            rate = (
                f"{row['gflop']:.3f} | {row['gflops']:.0f} | {row['gflops'] / peak:.0%}"
                if row["gflop"]
                else " | | "
            )
            print(f"| {row['what']} | {row['ms']:.2f} | {rate} |")
    if options.out:
        atomic.write_json(options.out, results)


if __name__ == "__main__":
    main()
