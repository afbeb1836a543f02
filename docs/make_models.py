"""Make a kept model of a finished run: round its weights to float16, score what is left, write `models/NAME`.

    python docs/make_models.py RUN NAME [--metrics all]
    python docs/make_models.py --first-steps NAME       for a model whose run is gone: its first 24 steps, made again

The scores on the card are those of the rounded weights, so that they can be computed again from what is stored, and
the losses of the first steps lie beside them: `tests/models/test_kept.py` does both again.
"""

import argparse
import itertools
import shutil
import tempfile
from pathlib import Path

from unweave import artefacts, atomic
from unweave.models import load
from unweave.models.saving import rounded
from unweave.runs import status, weights
from unweave.runs.config import Config
from unweave.runs.evaluation import evaluate
from unweave.runs.history import FILE, read_history
from unweave.runs.run import Run

ROOT = Path(__file__).resolve().parent.parent
FIRST_STEPS = "first_steps.json"
"""Step and loss of the records of the first 24 steps of a kept model, in its folder."""


def first_losses(run: Path) -> list[list[float]]:
    """Step and loss of each record of the first 24 steps of a run."""
    return [[record["step"], record["total"]] for record in read_history(run / FILE) if record["step"] <= 24]


def begin_again(config: Config, folder: Path) -> list[list[float]]:
    """The same of a training that is begun in a folder and left after 24 steps."""
    run = Run.create(config, folder)
    steps = itertools.count(1)
    run.train(stop=lambda: next(steps) > 24)
    return first_losses(run.folder)


def keep(run: Path, name: str, metrics: list[str] | None) -> Path:
    """Write the kept model of a run; returns its folder."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / run.name
        shutil.copytree(run, copy)
        path = copy / status.WEIGHTS
        model = load(copy)
        artefacts.write(path, weights.pack(rounded(model.model.state_dict(), "float16"), model.about))
        for file in ("codes.npz", status.SCORES, "relations.json"):
            (copy / file).unlink(missing_ok=True)
        evaluate(Run(copy), metrics=metrics)
        folder = ROOT / "models" / name
        load(copy).save(folder, licence="Apache-2.0", precision="float16", overwrite=True)
        atomic.write_json(folder / FIRST_STEPS, first_losses(copy))
        return folder


def main() -> None:
    """Read the command and carry it out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("name")
    parser.add_argument("--metrics", help="comma-separated [default: the usual ones]")
    parser.add_argument("--first-steps", action="store_true")
    asked = parser.parse_args()
    if asked.first_steps:
        with tempfile.TemporaryDirectory() as scratch:
            losses = begin_again(load(ROOT / "models" / asked.name).config, Path(scratch) / "run")
        atomic.write_json(ROOT / "models" / asked.name / FIRST_STEPS, losses)
        print(losses)
    elif asked.run is None:
        parser.error("name a run, and the model that is made of it")
    else:
        print(keep(asked.run, asked.name, asked.metrics.split(",") if asked.metrics else None))


if __name__ == "__main__":
    main()
