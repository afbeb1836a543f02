"""Images a second of every data set, against an item-wise DataLoader; and training on more data than memory.

    python benchmarks/data.py [--floats] [NAME ...]   batches of 256
    python benchmarks/data.py --memory                200,000 images 64 x 64 x 3 (2.46 GB) within 1 GB of memory

Random images and their factors: 256 at once, against a DataLoader with two worker processes that ask for one at a time
(and a third that takes the batches). One thread draws the batches, or two, of which one takes them and draws when none
is waiting; which is faster depends on how much of a batch Python's lock is held. Both ways hand out bytes, or, with
--floats, float32 in [0, 1] as a network takes it. Rounds alternate between all three, medians are compared: on a shared
machine only the ratio means anything, and not much. Sets that come from files are all gathered from one array, so that
random content stands for them.
"""

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from unweave import data
from unweave.data import Dataset
from unweave.training import cpu
from unweave.vae import as_tensor

BATCH = 256
ROUNDS = 5
WORKERS = 2
WAITING = 2  # batches of a worker, as a DataLoader has it

Pair = tuple[torch.Tensor, torch.Tensor]

cpu.prepare(1)  # the settings that training has


class ItemWise(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """The usual way: one image at a time, as bytes or as the contiguous floats of a network, and its factors."""

    def __init__(self, dataset: Dataset, floats: bool) -> None:
        self.dataset = dataset
        self.floats = floats
        self.factors = torch.from_numpy(dataset.factors_at(np.arange(dataset.count or 0)))

    def __len__(self) -> int:
        return self.dataset.count or 0

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        image = torch.from_numpy(self.dataset.at([i])[0])
        return image.contiguous().float().div(255) if self.floats else image, self.factors[i]


def random_arrays(folder: Path, channels: int) -> Dataset:
    rng = np.random.default_rng(0)
    path = folder / f"random{channels}.npz"
    images = rng.integers(256, size=(20_000, 64, 64, channels), dtype=np.uint8)
    np.savez(
        path, images=images, factors=np.stack(np.unravel_index(np.arange(20_000), (10, 10, 10, 20)), axis=1)
    )
    return data.Arrays(path)


def sets(folder: Path) -> dict[str, Dataset]:
    return {
        "DSprites": data.DSprites(),
        "BusySprites color": data.BusySprites(ground="color"),
        "BusySprites noise": data.BusySprites(ground="noise"),
        "BusySprites texture": data.BusySprites(ground="texture"),
        "XYSquares": data.XYSquares(),
        "Shapes3D": data.Shapes3D(),
        "Objects3D": data.Objects3D(),
        "Glyphs": data.Glyphs(),
        "stored 64 x 64 x 1": random_arrays(folder, 1),
        "stored 64 x 64 x 3": random_arrays(folder, 3),
    }


def batches_per_second(dataset: Dataset, floats: bool, threads: int, seconds: float = 0.4) -> float:
    """Of `threads` that draw batches, each with a generator of its own; the calling one is among them."""
    time.sleep(0.5)  # until the workers have filled their queue and rest
    waiting: SimpleQueue[Pair] = SimpleQueue()
    room: SimpleQueue[bool] = SimpleQueue()

    def draw(rng: np.random.Generator) -> Pair:
        batch = dataset.sample(BATCH, rng)
        images = as_tensor(batch.images) if floats else torch.from_numpy(batch.images)
        return images, torch.from_numpy(batch.factors)

    def help_out(rng: np.random.Generator) -> None:
        while room.get():
            waiting.put(draw(rng))

    def take() -> Pair:
        try:
            batch = waiting.get_nowait()
        except Empty:
            return draw(own)
        room.put(True)
        return batch

    own, *others = (np.random.default_rng(seed) for seed in range(threads))
    helpers = [threading.Thread(target=help_out, args=(rng,), daemon=True) for rng in others]
    for helper in helpers:
        helper.start()
        for _ in range(WAITING):
            room.put(True)
    for _ in range(8):
        take()
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        take()
        done += 1
    speed = done * BATCH / (time.perf_counter() - start)
    for _ in helpers:
        room.put(False)
    for helper in helpers:
        helper.join()
    return speed


def items_per_second(batches: Any, seconds: float = 1.0) -> float:
    """Of an endless DataLoader that is already running."""
    for _ in range(8):  # what the workers have made in advance
        next(batches)
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        next(batches)
        done += 1
    return done * BATCH / (time.perf_counter() - start)


def throughput(names: list[str], floats: bool) -> None:
    results = {}
    print(f"images a second, medians of {ROUNDS}; {WORKERS} workers draw item by item")
    print(f"{'data set':22}{'1 thread':>12}{'2 threads':>12}{'item-wise':>12}{'ratio':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name, dataset in sets(Path(folder)).items():
            if names and not any(wanted.lower() in name.lower() for wanted in names):
                continue
            dataset.sample(BATCH, np.random.default_rng(0))  # made, cached, mapped
            loader: DataLoader[Pair] = DataLoader(
                ItemWise(dataset, floats),
                batch_size=BATCH,
                shuffle=True,
                num_workers=WORKERS,
                prefetch_factor=WAITING,
                persistent_workers=True,
            )
            endless = itertools.chain.from_iterable(itertools.repeat(loader))
            for _ in range(6):
                next(endless)
            rounds = [
                (
                    batches_per_second(dataset, floats, 1),
                    batches_per_second(dataset, floats, 2),
                    items_per_second(endless),
                )
                for _ in range(ROUNDS)
            ]
            del endless, loader
            one, two, items = (statistics.median(column) for column in zip(*rounds, strict=True))
            ratio = max(statistics.median(each[k] / each[2] for each in rounds) for k in (0, 1))
            results[name] = {
                "1 thread": round(one),
                "2 threads": round(two),
                "item-wise": round(items),
                "ratio": round(ratio, 1),
            }
            print(f"{name:22}{one:12,.0f}{two:12,.0f}{items:12,.0f}{ratio:8.1f}x", flush=True)
    print(json.dumps(results))


BUDGET = 1 << 30


def memory() -> None:
    """Train 50 steps on 2.46 GB in a process that may not have more than 1 GB of memory of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.npy"
        images = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(200_000, 64, 64, 3))
        rng = np.random.default_rng(0)
        for start in range(0, 200_000, 2000):
            images[start : start + 2000] = rng.integers(256, size=(2000, 1, 1, 3), dtype=np.uint8)
        images.flush()
        import zipfile

        with zipfile.ZipFile(Path(folder) / "large.npz", "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.write(path, "images.npy")
        del images
        path.unlink()
        size = (Path(folder) / "large.npz").stat().st_size
        child = subprocess.run(
            [sys.executable, __file__, "--train", str(Path(folder) / "large.npz")],
            check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        told = json.loads(child.stdout.splitlines()[-1])
        print(f"file {size / 1e9:.2f} GB, budget {BUDGET / 1e9:.2f} GB (RLIMIT_DATA), {told['status']}: "
              f"peak of the process's own memory {told['peak'] / 1e9:.2f} GB")  # fmt: skip


def train(path: str) -> None:
    # Private writable memory: heap, anonymous maps; not the mapped file, which the kernel can drop at any time.
    resource.setrlimit(resource.RLIMIT_DATA, (BUDGET, BUDGET))
    from unweave.runs import Config, Run

    words = [f"data={path}", "steps=50", "batch_size=64", "latents=6"]
    peak = 0

    def watch() -> bool:
        nonlocal peak
        peak = max(peak, own_memory())
        return False

    with tempfile.TemporaryDirectory() as folder:
        outcome = Run.create(Config.read(words=words), Path(folder) / "run").train(stop=watch)
    print(json.dumps({"status": f"{outcome.status} {outcome.step} steps", "peak": peak}))


def own_memory() -> int:
    """Resident memory of this process that is not a mapped file, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) * 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--floats", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--train")
    asked = parser.parse_args()
    if asked.train:
        train(asked.train)
    elif asked.memory:
        memory()
    else:
        throughput(asked.names, asked.floats)
