"""How fast images are encoded to a file and how much memory that takes, and the encoder in ONNX Runtime and in PyTorch.

    python benchmarks/encode.py                  # 200,000 images of an npz file: time, memory, share of bare encoder
    python benchmarks/encode.py --images 20000   # the same, smaller
    python benchmarks/encode.py --onnx           # the encoder of every kind in ONNX Runtime against PyTorch, one thread

The bare encoder is the model's own on batches of 256 float tensors that are in memory already: no file, no conversion,
no KL, no output. Those that are compared take turns, and their processor time counts, so that what else the machine
does hardly matters. The peak memory is that of a process of its own which encodes the whole file, from the kernel's
accounts.
"""

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unweave.models import TrainedModel
from unweave.runs import Config
from unweave.training import cpu

RESULTS = Path(__file__).parent / "results" / "encode.json"
SHAPE = (1, 64, 64)
TURNS = 7
BATCHES = (1, 7, 64, 256)


def model_of(*words: str, channels: int = SHAPE[0]) -> TrainedModel:
    return TrainedModel.untrained(Config.read(words=["data=dsprites", *words]), (channels, *SHAPE[1:]))


def write_npz(path: Path, count: int) -> None:
    """Random grey images, written a block at a time, as numpy.savez would."""
    import zipfile

    rng = np.random.default_rng(0)
    with zipfile.ZipFile(path, "w") as archive, archive.open("images.npy", "w", force_zip64=True) as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": (count, 64, 64)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, count, 1000):
            n = min(1000, count - start)
            file.write(rng.integers(0, 256, (n, 64, 64), np.uint8).tobytes())


def encode_whole(path: Path) -> None:
    """The work of the process whose memory is measured: prints seconds and peak bytes as JSON."""
    cpu.prepare(1)
    model = model_of()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        count = model.encode_to(path, Path(folder) / "codes.npz")
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"images": count, "seconds": seconds, "peak_bytes": peak}))


def measured(path: Path) -> dict[str, float]:
    """Seconds and peak memory of a process that encodes the whole file."""
    command = [sys.executable, __file__, "--whole", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def bare_seconds(model: TrainedModel, batches: int) -> float:
    batch = torch.rand(256, *SHAPE)
    vae = model.model
    began = time.process_time()
    with torch.no_grad():
        for _ in range(batches):
            q = vae.encode(batch)  # type: ignore[operator]
            assert q.mean.shape == q.stddev.shape
    return time.process_time() - began


def share_of_bare(part: int = 5120) -> dict[str, object]:
    """Images a second of the bare encoder and of the command, in turns on the same number of images."""
    cpu.prepare(1)
    model = model_of()
    ratios: dict[str, list[float]] = {"npz": [], "csv": []}
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.npz"
        write_npz(path, part)
        bare_seconds(model, 4)
        for _ in range(TURNS):
            before = bare_seconds(model, part // 256)
            for kind, found in ratios.items():
                began = time.process_time()
                model.encode_to(path, Path(folder) / f"codes.{kind}")
                seconds = time.process_time() - began
                after = bare_seconds(model, part // 256)
                found.append((before + after) / 2 / seconds)
                before = after
            bare.append(part / before)
    return {
        "bare_images_per_second": statistics.median(bare),
        **{f"share_{kind}": statistics.median(found) for kind, found in ratios.items()},
        **{f"share_{kind}_range": [min(found), max(found)] for kind, found in ratios.items()},
    }


def onnx_against_torch() -> dict[str, dict[str, float]]:
    """PyTorch's time over that of ONNX Runtime, for the encoder of every kind on one thread, by size of the batch."""
    import onnxruntime

    from unweave.models.export import EncoderOf
    from unweave.networks import ENCODERS

    cpu.prepare(1)
    found = {}
    for kind, channels in itertools.product(ENCODERS.parts, (1, 3)):
        model = model_of(f"encoder={kind}", channels=channels)
        with tempfile.TemporaryDirectory() as folder:
            [exported, *_] = model.export(folder, "onnx")
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            session = onnxruntime.InferenceSession(exported.path, options, providers=["CPUExecutionProvider"])
        encoder = EncoderOf(cpu.channels_last(model.model)).eval()
        entry = found[f"{kind}, {'grey' if channels == 1 else 'colour'}"] = {
            "difference": exported.difference or 0.0
        }
        for batch in BATCHES:
            entry[f"torch_over_onnx_{batch}"] = _torch_over_onnx(encoder, session, batch, channels)
    return found


def _torch_over_onnx(encoder: torch.nn.Module, session: Any, batch: int, channels: int) -> float:
    """Processor time of PyTorch over that of ONNX Runtime: the two take turns, medians of each."""
    pictures = np.random.default_rng(0).integers(0, 256, (batch, 64, 64, channels)).astype(np.uint8)
    tensor, seconds = torch.from_numpy(pictures), []
    with torch.no_grad():
        for turn in range(2 + max(9, 200 // batch)):
            began = time.process_time()
            encoder(tensor)
            middle = time.process_time()
            session.run(None, {"pictures": pictures})
            if turn >= 2:
                seconds.append((middle - began, time.process_time() - middle))
    ours, theirs = (statistics.median(column) for column in zip(*seconds, strict=True))
    return float(ours / theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=200_000)
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("--whole", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.whole:
        encode_whole(given.whole)
        return
    stored = json.loads(given.out.read_text()) if given.out.exists() else {}
    if given.onnx:
        stored["onnx"] = onnx_against_torch()
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "images.npz"
            write_npz(path, given.images)
            whole = measured(path)
            small = Path(folder) / "small.npz"
            write_npz(small, 2000)
            few = measured(small)
        stored["encode"] = {
            **whole,
            "peak_bytes_of_2000_images": few["peak_bytes"],
            **share_of_bare(),
        }
    given.out.write_text(json.dumps(stored, indent=2) + "\n")
    print(json.dumps(stored["onnx" if given.onnx else "encode"], indent=2))


if __name__ == "__main__":
    main()
