"""What `unweave train DATA` reaches with nothing else said, for every data set that makes itself.

    python benchmarks/defaults.py --state FOLDER [--data DSprites Circles] [--picture docs/pictures/defaults.png]

Each data set is trained as recommended (`runs/recommended.toml`), with seed 0 as a user would get it, in a run of the
state folder: the same command resumes. What has ended is added to `benchmarks/results/defaults.json` (`--results`) with
the identity of its config; a data set that stands there with the config of today is not trained again. The table has
the training, the processor seconds of one core, the share of the images' variance that reconstructions explain (0: the
mean image for everything; 1: every pixel), the KL, the latents used, MIG, FactorVAE score, DCI and, where the data have
positions, geometry.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from unweave import atomic
from unweave.data import DATASETS
from unweave.plots import save
from unweave.runs.config import Config
from unweave.runs.evaluation import evaluate
from unweave.runs.run import Run

SETS = (
    *("DSprites", "ColoredSprites", "BusySprites", "Circles", "XYSquares"),
    *("Shapes3D", "Objects3D", "Glyphs", "Pinwheel"),
)
RESULTS = Path(__file__).parent / "results" / "defaults.json"
SHOWN = ("kl", "latents_used", "mig", "factor_vae_score", "dci", "geometry")


def measure(name: str, config: Config, state: Path) -> dict[str, Any]:
    """Train a data set as recommended, or go on; score it."""
    run = Run.create(config, state / name)
    times = state / f"{name}.json"
    spent = atomic.read_json(times, default={"cpu": 0.0})["cpu"]
    began = time.process_time()
    outcome = run.train()
    if outcome.step and time.process_time() - began > 1:
        spent += time.process_time() - began
        atomic.write_json(times, {"cpu": spent})
    scores = evaluate(run)
    images = run.dataset().sample(2000, np.random.default_rng(11)).images
    floats = images / 255.0 if images.dtype == np.uint8 else images
    errors = np.square(run.model().reconstruct(images) - floats).sum()
    return {
        "data": name,
        "identity": config.identity,
        "training": config.training,
        "cpu": spent,
        "explained": 1 - float(errors / np.square(floats - floats.mean(0)).sum()),
        **{key: scores[key].value for key in SHOWN if key in scores},
    }


def draw(state: Path, names: list[str], path: Path) -> None:
    """Eight images of each data set above their reconstructions."""
    shown = [name for name in names if (state / name / "model.safetensors").exists() and name != "Pinwheel"]
    figure, axes = plt.subplots(len(shown), 1, figsize=(9, 2.3 * len(shown)), squeeze=False)
    for name, [axis] in zip(shown, axes, strict=True):
        run = Run(state / name)
        images = run.dataset().sample(8, np.random.default_rng(12)).images
        rebuilt = run.model().reconstruct(images)
        floats = images / 255.0 if images.dtype == np.uint8 else images
        rows = [np.concatenate(list(row.transpose(0, 2, 3, 1)), axis=1) for row in (floats, rebuilt)]
        picture = np.concatenate(rows, axis=0)
        axis.imshow(picture.squeeze(-1) if picture.shape[-1] == 1 else picture, cmap="gray", vmin=0, vmax=1)
        axis.set_title(f"{name}: images, reconstructions", loc="left", fontsize=10)
        axis.axis("off")
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.01, right=0.99, top=1 - 0.3 / height, bottom=0.1 / height, hspace=0.15)
    save(figure, path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--data", nargs="+", default=list(SETS), choices=sorted(DATASETS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    ended = atomic.read_json(options.results, default={})
    for name in options.data:
        config = Config.read(words=[f"data={name}", "training=recommended"])
        if ended.get(name, {}).get("identity") != config.identity:
            ended[name] = measure(name, config, options.state)
            atomic.write_json(options.results, {key: ended[key] for key in SETS if key in ended})
        row = ended[name]
        print(
            f"| {name} | {row['training']} | {row['cpu']:.0f} | {row['explained']:.3f} | "
            + " | ".join(f"{row[key]:.2f}" if key in row else "" for key in SHOWN)
            + " |",
            flush=True,
        )
    if options.picture:
        draw(options.state, options.data, options.picture)


if __name__ == "__main__":
    main()
