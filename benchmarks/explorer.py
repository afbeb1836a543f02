"""How long the explorer's page takes for an image, in Chromium, beside PyTorch on one thread; and sizes.

    python benchmarks/explorer.py
    python benchmarks/explorer.py --rounding RUN     # how far images of 16-bit weights are from PyTorch's, 400 codes

A page with the engine, the kernel and the packed models is opened from a file. For each model the page and PyTorch take
turns, a few dozen images at a time; medians over the turns. The processor time of the page's thread and of this process
count, so that what else the machine does hardly matters; elapsed times are given beside them. PyTorch is asked twice:
for what ``TrainedModel.decode`` gives, as the page is, and for the bare decoder under ``no_grad``. Ready is from the
first line of a page's script to the end of the first decoded image: weights from base64, compilation, open, decode;
each time in a new process of the browser.
"""

import argparse
import base64
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from playwright.sync_api import Page, sync_playwright

from unweave.explorer.blob import Precision
from unweave.explorer.document import engine_source
from unweave.explorer.kernel.build import BUILT
from unweave.explorer.packing import Packed, pack
from unweave.models import TrainedModel, load
from unweave.runs import Config
from unweave.training import cpu

RESULTS = Path(__file__).parent / "results" / "explorer.json"
TURNS = 15
WORK = 0.03
"""Seconds of PyTorch's work in a turn."""

MODELS = {
    "Deconv, 64x64x1": ("latents=10", (1, 64, 64)),
    "SpatialBroadcast, depth 3, 64x64x1": ("latents=10 decoder=SpatialBroadcast", (1, 64, 64)),
    "SpatialBroadcast, depth 4, 64x64x3": (
        "latents=10 decoder=SpatialBroadcast decoder.depth=4",
        (3, 64, 64),
    ),
    "CoordConv, 64x64x3": ("latents=10 decoder=CoordConv", (3, 64, 64)),
    "DCGAN, 64x64x3": ("latents=10 encoder=DCGAN decoder=DCGAN", (3, 64, 64)),
    "MLP, 64x64x1": ("latents=10 encoder=MLP decoder=MLP", (1, 64, 64)),
    "InfoGAN, 28x28x1": ("model=InfoGAN", (1, 28, 28)),
}

SCRIPT = """
const text = (id) => document.getElementById(id).textContent;
const bytes = (id) => {
  const letters = atob(text(id));
  const made = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) made[i] = letters.charCodeAt(i);
  return made;
};
globalThis.start = async () => {
  const began = performance.now();
  const description = JSON.parse(text("description"));
  globalThis.model = await UnweaveEngine.open(bytes("kernel"), description, bytes("weights"));
  globalThis.code = Float32Array.from({ length: model.latents }, (_, i) => Math.sin(i + 1));
  globalThis.image = new Float32Array(model.imageShape.reduce((a, b) => a * b)).fill(0.3);
  model.decode(code);
  return performance.now() - began;
};
globalThis.many = (codes) => {
  const { pixels } = model.decodeMany(codes, codes.length / model.latents);
  let letters = "";
  for (const byte of new Uint8Array(pixels.buffer)) letters += String.fromCharCode(byte);
  return btoa(letters);
};
globalThis.work = (what, size, count) => {
  const started = performance.now();
  for (let i = 0; i < count; i++) {
    code[0] = Math.sin(i);
    if (what === "encode") model.encode(image);
    else model.decode(code, size);
  }
  return performance.now() - started;
};
"""


def page_of(packed: Packed) -> str:
    blocks = {
        "description": json.dumps(packed.description),
        "kernel": base64.b64encode(BUILT.read_bytes()).decode(),
        "weights": base64.b64encode(packed.weights).decode(),
    }
    data = [f'<script type="application/json" id="{name}">{text}</script>' for name, text in blocks.items()]
    scripts = [f"<script>{script}</script>" for script in (engine_source(), SCRIPT)]
    return "\n".join(["<!doctype html><meta charset=utf-8><title>bench</title>", *data, *scripts])


class Timed:
    """Milliseconds an image, by turns: of the processor and elapsed."""

    def __init__(self) -> None:
        self.processor: list[float] = []
        self.elapsed: list[float] = []

    def add(self, processor: float, elapsed: float, count: int) -> None:
        """The seconds of one turn."""
        self.processor.append(1000 * processor / count)
        self.elapsed.append(1000 * elapsed / count)

    def medians(self) -> dict[str, float]:
        """Over the turns."""
        return {
            "processor_ms": statistics.median(self.processor),
            "elapsed_ms": statistics.median(self.elapsed),
        }


def in_torch(work: Callable[[], object], count: int, timed: Timed) -> None:
    began, processor = time.perf_counter(), time.process_time()
    for _ in range(count):
        work()
    timed.add(time.process_time() - processor, time.perf_counter() - began, count)


def thread_seconds(session: Any) -> float:
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["ThreadTime"])


def in_page(page: Page, session: Any, what: str, size: list[int] | None, count: int, timed: Timed) -> None:
    before = thread_seconds(session)
    elapsed = page.evaluate(
        "([what, size, count]) => work(what, size ?? undefined, count)", [what, size, count]
    )
    timed.add(thread_seconds(session) - before, elapsed / 1000, count)


def compared(page: Page, session: Any, model: TrainedModel, sizes: list[list[int]]) -> dict[str, Any]:
    """The page and PyTorch in turns."""
    code = np.sin(np.arange(1, model.latents + 1)).astype(np.float32)
    image = torch.full((1, *model.image_shape), 0.3)
    generator = model.model.decoder if hasattr(model.model, "decoder") else None
    tensor = torch.from_numpy(code)[None]
    works: dict[str, Callable[[], object]] = {
        "decode": lambda: model.decode(code),
        "encode": lambda: model.model.codes(image),
    }
    if generator is not None:
        works["bare decoder"] = lambda: generator(tensor)  # type: ignore[operator]
    found: dict[str, Timed] = {}
    with torch.no_grad():
        counts = {}
        for name, work in works.items():
            trial = Timed()
            in_torch(work, 10, trial)
            counts[name] = max(3, int(1000 * WORK / trial.processor[0]))
        plans = [("decode", size, f"page decode {'x'.join(map(str, size))}") for size in sizes]
        plans.append(("encode", None, "page encode"))
        for what, size, _ in plans:  # the browser compiles anew what is often used
            in_page(page, session, what, size, 10 * counts[what], Timed())
        for _ in range(TURNS):
            for name, work in works.items():
                in_torch(work, counts[name], found.setdefault(f"torch {name}", Timed()))
            for what, size, label in plans:
                in_page(page, session, what, size, counts[what], found.setdefault(label, Timed()))
    return {name: timed.medians() for name, timed in found.items()}


def measured(model: TrainedModel, folder: Path, browser: Any) -> dict[str, Any]:
    packed = pack(model)
    path = folder / "page.html"
    path.write_text(page_of(packed))
    ready, requests = Timed(), []
    for _ in range(5):
        context = browser.new_context()
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        page.goto(path.as_uri())
        before = thread_seconds(session)
        elapsed = page.evaluate("start()")
        ready.add(thread_seconds(session) - before, elapsed / 1000, 1)
        if len(ready.elapsed) < 5:
            context.close()
    assert all(url == path.as_uri() for url in requests), requests
    full = packed.description["sizes"][-1]
    found = compared(page, session, model, packed.description["sizes"])
    context.close()
    own = found[f"page decode {'x'.join(map(str, full))}"]
    return {
        **found,
        "ratio": own["processor_ms"] / found["torch decode"]["processor_ms"],
        "ratio_to_bare": own["processor_ms"]
        / found.get("torch bare decoder", found["torch decode"])["processor_ms"],
        "ready_elapsed_ms": statistics.median(ready.elapsed),
        "ready_processor_ms": statistics.median(ready.processor),
        "weights_fixed16_bytes": len(packed.weights),
        "weights_float32_bytes": len(pack(model, "float32").weights),
        "file_bytes": path.stat().st_size,
    }


def rounding(model: TrainedModel, folder: Path, browser: Any) -> dict[str, float]:
    """The largest difference of a pixel from ``TrainedModel.decode`` over 400 codes of N(0, I), by precision."""
    codes = np.random.default_rng(0).normal(size=(400, model.latents)).astype(np.float32)
    expected, found = model.decode(codes), {}
    for precision in get_args(Precision):
        path = folder / "page.html"
        path.write_text(page_of(pack(model, precision)))
        page = browser.new_page()
        page.goto(path.as_uri())
        page.evaluate("start()")
        for start in range(0, len(codes), 50):
            text = page.evaluate("many", codes[start : start + 50].ravel().tolist())
            images = np.frombuffer(base64.b64decode(text), np.float32).reshape(-1, *model.image_shape)
            difference = float(np.abs(images - expected[start : start + 50]).max())
            found[precision] = max(found.get(precision, 0.0), difference)
        page.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--rounding", help="a run or model: only compare its images by precision")
    given = parser.parse_args()
    only = given.only
    cpu.prepare(1)
    browser_path = shutil.which("chromium")
    if browser_path is None:
        sys.exit("apt-get install chromium")
    results: dict[str, Any] = {
        "kernel_bytes": BUILT.stat().st_size,
        "engine_bytes": len(engine_source().encode()),
        "load_before": os.getloadavg(),
    }
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
        )
        results["browser"] = browser.version
        if given.rounding:
            print(rounding(load(given.rounding), Path(folder), browser))
            return
        for name, (words, shape) in MODELS.items():
            if only not in name:
                continue
            model = TrainedModel.untrained(Config.read(words=["data=circles", *words.split()]), shape)
            results[name] = measured(model, Path(folder), browser)
            report(name, results[name])
        browser.close()
    results["load_after"] = os.getloadavg()
    if not only:
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")


def report(name: str, found: dict[str, Any]) -> None:
    print(
        f"\n{name}: {found['ratio']:.2f} of TrainedModel.decode, {found['ratio_to_bare']:.2f} of the bare decoder"
    )
    for what, times in found.items():
        if isinstance(times, dict):
            print(
                f"  {what:22s} {times['processor_ms']:8.3f} ms of the processor, {times['elapsed_ms']:8.3f} elapsed"
            )
    print(
        f"  ready after {found['ready_processor_ms']:.0f} ms of the processor, {found['ready_elapsed_ms']:.0f} elapsed"
    )
    print(
        f"  {found['weights_fixed16_bytes']:,} bytes of weights in 16 bits, file {found['file_bytes']:,}",
        flush=True,
    )


if __name__ == "__main__":
    main()
