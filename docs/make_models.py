"""Make a kept model of a finished run: round its weights to float16, score what is left, write `models/NAME`.

    python docs/make_models.py RUN NAME [--metrics all]

The scores on the card are those of the rounded weights, so that they can be computed again from what is stored:
`tests/models/test_kept.py` does that.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from unweave import artefacts
from unweave.models import load
from unweave.models.saving import rounded
from unweave.runs import status, weights
from unweave.runs.evaluation import evaluate
from unweave.runs.run import Run

ROOT = Path(__file__).resolve().parent.parent


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
        return load(copy).save(
            ROOT / "models" / name, licence="Apache-2.0", precision="float16", overwrite=True
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--metrics", help="comma-separated [default: the usual ones]")
    asked = parser.parse_args()
    print(keep(asked.run, asked.name, asked.metrics.split(",") if asked.metrics else None))
