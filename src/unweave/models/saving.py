"""Saving a model in a folder of its own: config, weights, card, and what is known of it."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from unweave import atomic
from unweave.errors import UnweaveError, check_choice
from unweave.models.card import TRAVERSAL, card, without_places
from unweave.models.places import WEIGHTS
from unweave.models.traverse import traverse
from unweave.runs import latent_names, publishing, status, weights
from unweave.runs.evaluation import RELATIONS

if TYPE_CHECKING:
    from torch import Tensor

    from unweave.models.trained import TrainedModel

Precision = Literal["float32", "float16"]

CARD = "README.md"


def save(
    model: "TrainedModel",
    folder: Path,
    *,
    licence: str = "",
    precision: Precision | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a folder that stands alone, in the layout of model hubs; returns it.

    ``config.yaml`` (every setting), ``model.safetensors`` (the weights, and in its header all that is needed to open
    them), ``README.md`` with ``traversal.png`` (the card), and where they are known ``scores.json``, ``relations.json``
    and ``names.json``. What was saved, loaded and saved again is the same, byte for byte.

    Args:
        model: what to write.
        folder: new, or empty.
        licence: of the weights, for the card; none: the one it had.
        precision: ``float16`` halves the file; the weights are then rounded, by at most one part in 2,048, and scores
            that were computed before are those of the weights that were not. None: as it was stored, or float32.
        overwrite: write over a model that is in the folder.

    Example:
        >>> import tempfile
        >>> import unweave
        >>> from unweave.models import TrainedModel
        >>> from unweave.runs import Config
        >>> model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 64, 64))
        >>> folder = save(model, Path(tempfile.mkdtemp()) / "a")
        >>> unweave.load(folder).latents
        2
    """
    licence = licence or str(model.about.made.get("licence") or "")
    precision = precision or model.about.made.get("precision", "float32")
    check_choice("precision", precision, get_args(Precision))
    made = {**model.about.made, **({"licence": licence} if licence else {})}
    made = {**made, "command": without_places(model.command)} if model.command else made
    made = {**made, "precision": precision} if precision != "float32" else made
    about = weights.About(model.config, model.data, model.about.step, made, model.about.version)
    files = {
        publishing.CONFIG: model.config.to_yaml().encode(),
        WEIGHTS: weights.pack(rounded(model.model.state_dict(), precision), about),
        CARD: card(model, folder.name, licence).encode(),
        TRAVERSAL: _picture(model),
    }
    for name, content in (
        (status.SCORES, model.scores),
        (RELATIONS, model.relations),
        (latent_names.FILE, latent_names.to_json(model.names)),
    ):
        if content:
            files[name] = (json.dumps(content, indent=2) + "\n").encode()
    _write(folder, files, overwrite)
    return folder


def rounded(tensors: "Mapping[str, Tensor]", precision: Precision) -> "dict[str, Tensor]":
    """Tensors of numbers with a fraction in 16 bits, if that is asked for; the others as they are.

    Example:
        >>> import torch
        >>> rounded({"a": torch.ones(1), "n": torch.tensor(3)}, "float16")
        {'a': tensor([1.], dtype=torch.float16), 'n': tensor(3)}
    """
    if precision == "float32":
        return dict(tensors)
    small = {
        name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()
    }
    for name, tensor in small.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise UnweaveError(
                f"{name} holds numbers beyond 65,504, which float16 does not have: use float32"
            )
    return small


def _picture(model: "TrainedModel") -> bytes:
    with tempfile.TemporaryDirectory() as place:
        return traverse(model).save(Path(place) / TRAVERSAL).read_bytes()


def _write(folder: Path, files: dict[str, bytes], overwrite: bool) -> None:
    if publishing.is_published(folder):
        raise UnweaveError(f"{folder} is the folder of a run: choose another folder for the model")
    if not os.path.lexists(folder) and atomic.publish(folder, files):
        return
    if not folder.is_dir():
        raise UnweaveError(f"{folder} is a file, not a folder: choose another folder for the model")
    there = {path.name for path in folder.iterdir()}
    if there and WEIGHTS not in there:
        raise UnweaveError(f"{folder} is not empty and holds no model: choose another folder")
    if there and not overwrite:
        raise UnweaveError(f"{folder} holds a model already: choose another folder, or say overwrite")
    for name in there & {status.SCORES, RELATIONS, latent_names.FILE} - files.keys():
        (folder / name).unlink()
    for name, content in files.items():
        atomic.write(folder / name, content)
