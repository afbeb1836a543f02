"""Training speed against a plain PyTorch loop, as ratios measured in one run.

    python benchmarks/training_speed.py [--rounds 5] [--out benchmarks/results/training_speed.json]

Ours is `unweave.training.train` as every run uses it: its batches, its checks, its settings of the machine.
The peer, below, is the loop most projects have: contiguous tensors, a DataLoader that collects single items,
sigmoid then cross-entropy, default Adam, default threads and allocator, and, for Spatial Broadcast, the
literal tile, concatenate and convolve. Both train the same networks on the same images.

Each contestant is a process of its own that waits while the others are timed. One round times all of them one
after the other, the ratios are taken within a round, and the median of the rounds counts: what else runs on
the machine then falls on all alike.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unweave import VAE, data
from unweave.data import Dataset
from unweave.data.dataset import Batch
from unweave.objectives import BetaVAE
from unweave.training import train, trainer


@dataclass(frozen=True)
class Net:
    """A network to train, how long to time it, and the required ratios."""

    name: str
    batch_size: int
    seconds: float
    alone: float
    together: float
    learning_rate: float


NETS = {
    "net1": Net("convolutional VAE of FAC appendix A, dSprites 64x64x1, batch 64", 64, 3.0, 1.6, 2.0, 1e-4),
    "broadcast": Net("Spatial Broadcast VAE, circles 64x64x3, batch 16", 16, 5.0, 1.2, 1.4, 3e-4),
}
EACH_OF_TWO = 0.8
DATA_SHARE = 0.02
BUSY = 0.9
LATENTS = 10


def dataset_of(net: str) -> Dataset:
    return data.DSprites() if net == "net1" else data.Circles()


# --- Ours
# -----------------------------------------------------------------------------------------------------


def ours(net: str, seed: int) -> None:
    if hasattr(os, "sched_setaffinity"):  # each on a core of its own, as `unweave sweep` runs them
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[seed % len(cores)]})
    torch.manual_seed(seed)
    dataset = dataset_of(net)
    if net == "net1":
        vae = VAE.assemble(dataset.image_shape, LATENTS)
    else:
        encoder = {"name": "Conv", "channels": (64, 64, 64, 64), "initialisation": "truncated_normal"}
        vae = VAE.assemble(dataset.image_shape, LATENTS, encoder=encoder, decoder="SpatialBroadcast")
    pace = Pace()
    clock_data(dataset, pace)
    train(
        vae,
        BetaVAE(),
        dataset,
        steps=10**9,
        batch_size=NETS[net].batch_size,
        learning_rate=NETS[net].learning_rate,
        seed=seed,
        log_every=10,
        record=lambda record: None,
        stop=pace,
    )


def clock_data(dataset: Dataset, pace: "Pace") -> None:
    """Measure the time that the loop spends on drawing a batch and making a tensor of it."""
    sample, as_tensor = dataset.sample, trainer.as_tensor

    def timed_sample(n: int, rng: Any) -> Batch:
        start = time.perf_counter()
        batch = sample(n, rng)
        pace.data += time.perf_counter() - start
        return batch

    def timed_tensor(*args: Any) -> Tensor:
        start = time.perf_counter()
        tensor = as_tensor(*args)
        pace.data += time.perf_counter() - start
        return tensor

    dataset.sample = timed_sample  # type: ignore[method-assign]
    trainer.as_tensor = timed_tensor


# --- The peer
# -------------------------------------------------------------------------------------------------


class Items(torch.utils.data.Dataset[Tensor]):
    """Images in a numpy array, handed out one by one."""

    def __init__(self, dataset: Dataset, count: int = 4096) -> None:
        images = dataset.sample(count, np.random.default_rng(0)).images
        self.images = np.ascontiguousarray(images)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Tensor:
        return torch.from_numpy(self.images[index]).float() / 255


class LiteralBroadcast(nn.Module):
    """SBD algorithm 1 and table 1, written without any optimisation."""

    def __init__(self, latents: int, colours: int, size: int) -> None:
        super().__init__()
        axis = torch.linspace(-1, 1, size)
        y, x = torch.meshgrid(axis, axis, indexing="ij")
        self.grid = torch.stack([x, y])[None]
        self.convs = nn.Sequential(
            nn.Conv2d(latents + 2, 64, 4, padding="same"),
            nn.ReLU(),
            nn.Conv2d(64, 64, 4, padding="same"),
            nn.ReLU(),
            nn.Conv2d(64, colours, 4, padding="same"),
        )

    def forward(self, codes: Tensor) -> Tensor:
        """(n, latents) -> (n, colours, size, size)."""
        n, (height, width) = len(codes), self.grid.shape[2:]
        tiles = codes[:, :, None, None].expand(-1, -1, height, width)
        logits: Tensor = self.convs(torch.cat([tiles, self.grid.expand(n, -1, -1, -1)], 1))
        return logits


def peer_networks(net: str, colours: int) -> tuple[nn.Module, nn.Module]:
    def convs(*channels: int) -> Iterator[nn.Module]:
        for inputs, outputs in pairwise(channels):
            yield nn.Conv2d(inputs, outputs, 4, 2, 1)
            yield nn.ReLU()

    channels = (colours, 32, 32, 64, 64) if net == "net1" else (colours, 64, 64, 64, 64)
    head = (nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 2 * LATENTS))
    encoder = nn.Sequential(*convs(*channels), *head)
    if net != "net1":
        return encoder, LiteralBroadcast(LATENTS, colours, 64)
    decoder = nn.Sequential(
        nn.Linear(LATENTS, 256),
        nn.ReLU(),
        nn.Linear(256, 1024),
        nn.ReLU(),
        nn.Unflatten(1, (64, 4, 4)),
        nn.ConvTranspose2d(64, 64, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 32, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(32, colours, 4, 2, 1),
    )
    return encoder, decoder


def peer(net: str, threads: int | None) -> None:
    if threads is not None:
        torch.set_num_threads(threads)
    torch.manual_seed(0)
    items = Items(dataset_of(net))
    batches = torch.utils.data.DataLoader(items, NETS[net].batch_size, shuffle=True, drop_last=True)
    encoder, decoder = peer_networks(net, items.images.shape[1])
    weights = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(weights, lr=NETS[net].learning_rate)
    pace = Pace()
    while True:
        for images in batches:
            mean, log_variance = encoder(images).chunk(2, 1)
            codes = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
            shown = torch.sigmoid(decoder(codes))
            error = nn.functional.binary_cross_entropy(shown, images, reduction="sum") / len(images)
            kl = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp()) / len(images)
            loss = error + kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            if pace():
                return


# --- Timing
# ---------------------------------------------------------------------------------------------------


class Pace:
    """Called after every step: warms up, then trains as long as the parent requests and reports the speed."""

    def __init__(self, warm_up: int = 4) -> None:
        self.warm_up = warm_up
        self.steps, self.data, self.start, self.processor, self.seconds = 0, 0.0, 0.0, 0.0, 0.0

    def __call__(self) -> bool:
        """Whether to end."""
        if self.warm_up > 0:
            self.warm_up -= 1
            return self.wait({"ready": True}) if self.warm_up == 0 else False
        self.steps += 1
        elapsed = time.perf_counter() - self.start
        if elapsed < self.seconds:
            return False
        processor = (time.process_time() - self.processor) / elapsed
        speed, share = self.steps / elapsed, self.data / elapsed
        return self.wait({"steps_per_second": speed, "data_share": share, "processor_share": processor})

    def wait(self, result: dict[str, Any]) -> bool:
        """Report the result and sleep until the next request; the end of input is the end."""
        print(json.dumps(result), flush=True)
        word = sys.stdin.readline().strip()
        if not word:
            return True
        self.seconds, self.steps, self.data = float(word), 0, 0.0
        self.start, self.processor = time.perf_counter(), time.process_time()
        return False


class Contestant:
    """A child process and the pipes to it."""

    def __init__(self, *arguments: str) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        command = [sys.executable, "-W", "ignore", __file__, "--child", *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def tell(self) -> dict[str, Any]:
        """The next line of the child."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a contestant ended with code {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def go(self, seconds: float) -> None:
        """Let it train for some seconds."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(net: str, rounds: int) -> list[dict[str, float]]:
    """Steps a second of every contestant, for each round."""
    contestants: list[Contestant] = []
    for arguments in (("ours", net, "0"), ("ours", net, "1"), ("peer", net, "1"), ("peer", net, "default")):
        contestants.append(Contestant(*arguments))
        contestants[-1].tell()
    first, second, one_thread, default = contestants
    results = []
    try:
        for _ in range(rounds):
            result: dict[str, float] = {}

            def timed(**running: Contestant) -> dict[str, dict[str, Any]]:
                for contestant in running.values():
                    contestant.go(NETS[net].seconds)
                return {name: contestant.tell() for name, contestant in running.items()}

            alone = timed(alone=first)["alone"]
            result["ours_alone"], result["data_share"] = alone["steps_per_second"], alone["data_share"]
            result["peer_one_thread"] = timed(peer=one_thread)["peer"]["steps_per_second"]
            both = timed(first=first, second=second)
            result["ours_first_of_two"] = both["first"]["steps_per_second"]
            result["ours_second_of_two"] = both["second"]["steps_per_second"]
            # Below 1 when something else uses the cores: then the numbers for two at once mean little.
            result["processor_share_of_two"] = min(told["processor_share"] for told in both.values())
            threaded = timed(peer=default)["peer"]
            result["peer_default_threads"] = threaded["steps_per_second"]
            # The same for the peer: threads that wait for each other suffer most, which would flatter us.
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            result["processor_share_of_peer"] = threaded["processor_share"] / cores
            results.append(result)
    finally:
        for contestant in contestants:
            contestant.end()
    return results


def verdicts(net: str, rounds: list[dict[str, float]]) -> list[dict[str, Any]]:
    """The required ratios beside the measured ones."""

    def median(values: Iterator[float]) -> float:
        return statistics.median(values)

    alone = median(r["ours_alone"] / r["peer_one_thread"] for r in rounds)
    two = [r["ours_first_of_two"] + r["ours_second_of_two"] for r in rounds]
    together = median(t / r["peer_default_threads"] for t, r in zip(two, rounds, strict=True))
    slower = [min(r["ours_first_of_two"], r["ours_second_of_two"]) for r in rounds]
    each = median(s / r["ours_alone"] for s, r in zip(slower, rounds, strict=True))
    share = median(r["data_share"] for r in rounds)
    rows = [
        (
            "one process, one thread each",
            f">= {NETS[net].alone:.1f}x",
            f"{alone:.2f}x",
            alone,
            alone >= NETS[net].alone,
        ),
        (
            "two seeds at once, total, against one default peer",
            f">= {NETS[net].together:.1f}x",
            f"{together:.2f}x",
            together,
            together >= NETS[net].together,
        ),
        (
            "slower of two seeds against one alone",
            f">= {EACH_OF_TWO}",
            f"{each:.2f}",
            each,
            each >= EACH_OF_TWO,
        ),
        ("data loading, share of a step", f"<= {DATA_SHARE:.0%}", f"{share:.2%}", share, share <= DATA_SHARE),
    ]
    return [
        {"net": NETS[net].name, "what": what, "required": need, "shown": shown, "measured": value, "met": met}
        for what, need, shown, value, met in rows
    ]


def machine() -> dict[str, Any]:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "load_at_start": os.getloadavg()[0],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nets", nargs="+", choices=sorted(NETS), default=list(NETS))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "training_speed.json")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        role, net, which = arguments.child
        if role == "ours":
            ours(net, int(which))
        else:
            peer(net, None if which == "default" else int(which))
        return 0

    report: dict[str, Any] = {"machine": machine(), "rounds": {}, "medians": {}, "verdicts": []}
    if "net1" in arguments.nets:
        data.DSprites().packed()  # made once here, found by the contestants
    for net in arguments.nets:
        print(f"{NETS[net].name}: {arguments.rounds} rounds", flush=True)
        rounds = measure(net, arguments.rounds)
        report["rounds"][net] = rounds
        medians = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
        report["medians"][net] = medians
        for key in (
            "ours_alone",
            "peer_one_thread",
            "ours_first_of_two",
            "ours_second_of_two",
            "peer_default_threads",
        ):
            print(f"  {key.replace('_', ' '):24} {medians[key]:7.2f} steps/s")
        got, peer_got = medians["processor_share_of_two"], medians["processor_share_of_peer"]
        if min(got, peer_got) < BUSY:
            print(
                f"  The machine is busy: each of two processes got {got:.0%} of a core, the default peer "
                f"{peer_got:.0%} of all. Repeat when quiet."
            )
        report["verdicts"] += verdicts(net, rounds)
        for row in report["verdicts"][-4:]:
            verdict = "ok" if row["met"] else "NOT MET"
            print(f"  {row['what']:52} required {row['required']:>8}  measured {row['shown']:>7}  {verdict}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {arguments.out}")
    return 0 if all(row["met"] for row in report["verdicts"]) else 1


if __name__ == "__main__":
    sys.exit(main())
