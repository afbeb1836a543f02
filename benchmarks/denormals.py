"""What numbers below 1e-38 (denormal) cost in long trainings of every objective, and where they sit.

    python benchmarks/denormals.py [--steps 4000] [--out benchmarks/results/denormals.json] [--only BetaTCVAE]

Small networks on circles of 32 x 32, so that thousands of steps take a minute. Each case is trained twice, the two
taking turns in one process: with denormal numbers flushed to zero, as `train` does, and as PyTorch does by default. The
table has the milliseconds of processor time of a step in the first and in the last tenth of the steps, and how many
denormal numbers the weights and the optimiser's moments hold at the end.

Why they stay: with a gradient of exactly zero (a dead unit, a closed latent) a first moment shrinks by its decay d
at every step, so it is denormal after about 87 / -ln d steps (830 for 0.9, 1,700 for 0.95). It never arrives at zero:
k times the smallest number, multiplied by d, rounds to k again as long as k (1 - d) < 1/2.
"""

import argparse
import contextlib
import statistics
import time
from pathlib import Path

import torch
from torch import Tensor

from unweave import VAE, atomic, data
from unweave.objectives import OBJECTIVES
from unweave.optimizers import OPTIMIZERS
from unweave.training import cpu
from unweave.training.trainer import Settings, Trainer

TURN = 50
LEAST = torch.finfo(torch.float32).tiny
OPTIONS = {
    "AAE": {"critic_width": 100},
    "AnnealedVAE": {"gamma": 8.0, "capacity": 5.0},
    "BetaTCVAE": {"beta": 8.0, "dataset_size": 100_000},
    "BetaVAE": {"beta": 8.0},
    "FactorVAE": {"gamma": 10.0, "critic_width": 100},
    "InformationDropout": {"dataset_size": 100_000},
}
"""Strong enough that some latents have no use; small critics."""


def trainer_of(objective: str, optimizer: str, steps: int) -> Trainer:
    """A training that leaves some latents without use."""
    torch.manual_seed(3)
    circles = data.Circles(size=32)
    small = {"channels": (16, 16, 32), "hidden": (64,)}
    encoder, decoder = (
        {"name": "Conv", **small},
        {"name": "Deconv", "channels": (32, 16, 16), "hidden": (64,)},
    )
    vae = VAE.assemble(circles.image_shape, latents=10, encoder=encoder, decoder=decoder)
    settings = Settings(
        steps=steps,
        batch_size=32,
        seed=3,
        learning_rate=1e-3,
        optimizer=OPTIMIZERS.make(optimizer),
    )
    made = OBJECTIVES.make({"name": objective, **OPTIONS.get(objective, {})}, latents=10)
    return Trainer(vae, made, circles, settings)


def denormals(trainer: Trainer) -> dict[str, int]:
    """How many there are in the weights and in each kind of moment of the optimiser."""
    counts = {"weights": sum(_count(weight) for weight in trainer.state.model.parameters())}
    for moments in trainer.state.optimizer.state.values():
        for name, values in moments.items():
            if isinstance(values, Tensor) and values.is_floating_point():
                counts[name] = counts.get(name, 0) + _count(values)
    return counts


def _count(values: Tensor) -> int:
    return int(((values.abs() < LEAST) & (values != 0)).sum())


def measure(objective: str, optimizer: str, steps: int) -> dict[str, object]:
    """Train both ways in turns."""
    ways = {"flushed": cpu.flushed_denormals, "kept": contextlib.nullcontext}
    trainers = {way: trainer_of(objective, optimizer, steps) for way in ways}
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(steps // TURN):
        for way, inside in ways.items():
            with inside():
                began = time.process_time()
                for _ in range(TURN):
                    trainers[way].step()
                taken[way].append(1000 * (time.process_time() - began) / TURN)
    tenth = max(1, steps // TURN // 10)
    row: dict[str, object] = {"objective": objective, "optimizer": optimizer, "steps": steps}
    for way, times in taken.items():
        row[f"{way}: first"] = statistics.median(times[:tenth])
        row[f"{way}: last"] = statistics.median(times[-tenth:])
    return row | {
        "denormals": denormals(trainers["kept"]),
        "left when flushed": denormals(trainers["flushed"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--only", nargs="+", default=sorted(OBJECTIVES))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for objective in options.only:
        for optimizer in ("Adam", "Muon"):
            rows.append(measure(objective, optimizer, options.steps))
            print(rows[-1], flush=True)
            if options.out:
                atomic.write_json(options.out, rows)


if __name__ == "__main__":
    main()
