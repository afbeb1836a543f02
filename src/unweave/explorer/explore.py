"""Writing the page of one model or several."""

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from unweave import atomic
from unweave.errors import UnweaveError
from unweave.explorer.blob import Precision
from unweave.explorer.data_pictures import first_data
from unweave.explorer.document import document, encoded
from unweave.explorer.letters import file_of
from unweave.explorer.subject import Subject, check_images, subject
from unweave.models import TrainedModel, load
from unweave.reports.run_summary import run_labels
from unweave.runs.run import Run

MOST = 6
"""Models side by side; each brings its weights, and more are nothing to look at together."""

Explored = str | os.PathLike[str] | Run | TrainedModel
"""A place as :func:`unweave.load` takes it, or what it stands for."""


def write_explorer(
    models: Sequence[Explored] | Mapping[str, Explored],
    path: str | Path,
    *,
    title: str | None = None,
    intro: str = "",
    precision: Precision = "fixed16",
) -> Path:
    """Writes one HTML file in which the codes of models can be moved, and returns its path; it loads nothing.

    Args:
        models: runs, model folders, names of kept models or opened models; with names of their own as a mapping.
        path: the HTML file.
        title: of the page.
        intro: a paragraph below it.
        precision: of the weights in it, see :func:`unweave.explorer.packing.pack`; ``float32`` doubles the page.

    Example:
        >>> import tempfile
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> write_explorer([model], Path(tempfile.mkdtemp()) / "page.html").name
        'page.html'
    """
    given = list(models.values()) if isinstance(models, Mapping) else list(models)
    if not 1 <= len(given) <= MOST:
        raise UnweaveError(f"explore shows from 1 to {MOST} models side by side, got {len(given)}")
    opened = [_opened(each) for each in given]
    for model in opened:
        check_images(model)
    labels = list(models) if isinstance(models, Mapping) else labels_of(opened)
    pictures, missing = first_data(opened)
    subjects = [
        subject(model, label, pictures, precision) for model, label in zip(opened, labels, strict=True)
    ]
    facts = {
        "runs": [
            {**each.facts, **{name: encoded(np.asarray(array)) for name, array in each.arrays.items()}}
            for each in subjects
        ],
        "data": None if pictures is None else pictures.to_json(),
    }
    sheets = _sheets(facts)
    text = document(
        facts,
        [each.weights for each in subjects],
        sheets=sheets,
        title=title or (opened[0].title if len(opened) == 1 else " and ".join(labels)),
        intro=intro,
        verdicts=[line for each in subjects for line in _verdicts(each, many=len(subjects) > 1)]
        + ([("note", "", missing)] if missing else []),
        stride=4 if precision == "float32" else 2,
    )
    atomic.write(Path(path), file_of(text))
    return Path(path)


def labels_of(models: Sequence[TrainedModel]) -> list[str]:
    """A short name for each model: the settings in which it differs from the others, else its folder.

    Example:
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
        >>> labels_of([model])
        ['Circles BetaVAE Deconv seed 0']
    """
    if len(models) == 1:
        return [models[0].title]
    folders = [model.place or Path(f"model {i + 1}") for i, model in enumerate(models)]
    # A model folder has no run, but all that its label is made of.
    like_runs: list[Any] = [
        SimpleNamespace(config=model.config, folder=folder)
        for model, folder in zip(models, folders, strict=True)
    ]
    return run_labels(like_runs)


def _sheets(facts: dict[str, Any]) -> dict[str, bytes]:
    """Takes the pictures out of the facts, which then name them: what is read first stays small."""
    data = facts["data"] or {}
    found = {"starts": data.get("starts"), "frames": (data.get("frames") or {}).get("sheet")}
    for i, run in enumerate(facts["runs"]):
        found[f"beforehand-{i}"] = run.get("precomputed", {}).get("sheet")
    taken = {}
    for name, sheet in found.items():
        if sheet is not None:
            taken[f"sheet-{name}"], sheet["png"] = base64.b64decode(sheet["png"]), f"sheet-{name}"
    return taken


def _opened(given: Explored) -> TrainedModel:
    if isinstance(given, TrainedModel):
        return given
    return load(given.folder if isinstance(given, Run) else given)


def _verdicts(each: Subject, *, many: bool) -> list[tuple[str, str, str]]:
    label = each.label if many else ""
    found = [(each.health.verdict, label, each.health.sentence)]
    return [*found, *([("note", label, each.note)] if each.note else [])]
