"""Opening a trained model: a run, a model folder, a file of weights, or the name of a kept model."""

import contextlib
import dataclasses
import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unweave import artefacts
from unweave.atomic import DamagedError
from unweave.errors import UnweaveError, visible
from unweave.models.places import WEIGHTS, find, kept
from unweave.models.trained import TrainedModel
from unweave.runs import latent_names, publishing, status, weights
from unweave.runs.config import Config
from unweave.runs.evaluation import RELATIONS
from unweave.runs.run import Run
from unweave.runs.run_index import RunIndex
from unweave.runs.weights import About

if TYPE_CHECKING:
    import torch

RUNS = Path("runs")
"""Where labels and identities of runs are looked up."""


def load(place: str | os.PathLike[str], device: "torch.device | str" = "cpu") -> TrainedModel:
    """The trained model in a place: it stands alone, the data that it was trained on need not be there.

    Args:
        place: the folder of a run, a folder that :meth:`TrainedModel.save` wrote, a file of weights (.safetensors), the
            name of a kept model (:func:`unweave.models.kept`), or the beginning of the label or identity of a run in
            ``runs/``.
        device: of the model.

    Example:
        >>> load("/")
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: / is neither a run nor a model: it has neither run.json nor model.safetensors
    """
    path = Path(place).expanduser()
    if path.is_dir():
        return _of_folder(path, device)
    if os.path.lexists(path):
        return _of_file(path, device)
    return _of_folder(_located(os.fspath(place)), device)


def _located(word: str) -> Path:
    """The folder that a word stands for which is no path."""
    with contextlib.suppress(UnweaveError):
        return find(word)
    if RUNS.is_dir() and os.sep not in word:
        try:
            return RunIndex(RUNS).locate(word)
        except UnweaveError as error:
            if "may be any of" in str(error):
                raise
    names = list(kept())
    near = difflib.get_close_matches(word.lower(), names, n=1)
    known = f"did you mean {near[0]}?" if near else ", ".join(names)
    raise UnweaveError(
        f"there is no {visible(word)}: give the folder of a run or a model, a .safetensors file, or the name of a "
        f"kept model{f' ({known})' if known else ''}"
    )


def _of_folder(folder: Path, device: "torch.device | str") -> TrainedModel:
    if publishing.is_published(folder):
        return _of_run(Run(folder), device)
    if os.path.lexists(folder / WEIGHTS):
        return _of_file(folder / WEIGHTS, device)
    raise UnweaveError(f"{folder} is neither a run nor a model: it has neither run.json nor {WEIGHTS}")


def _of_run(run: Run, device: "torch.device | str") -> TrainedModel:
    with run.outside_code():
        model, step = run.model_and_step(device)
        facts = run.data_facts()
    made: dict[str, Any] = {
        "command": run.command,
        "seconds": round(run.seconds, 1),
        "versions": run.versions,
    }
    about = About(run.config, facts, step, made)
    return TrainedModel(model, about, place=run.folder, **_beside(run.folder, model.latents))


def _of_file(path: Path, device: "torch.device | str") -> TrainedModel:
    if path.suffix != ".safetensors":
        _refuse_pickle(path)
        raise UnweaveError(
            f"{path} is not a model: give a .safetensors file, or the folder of a run or model"
        )
    tensors, about = weights.read(path)
    if about is None:
        raise UnweaveError(
            f"{path} does not say which model it is of: open the folder of its run instead, or save it again from there"
        )
    try:
        model = _without_augmentation(about.config).make_model(about.data.image_shape)
        model.load_state_dict(tensors)
    except UnweaveError as error:
        raise UnweaveError(f"{path} cannot be opened: {error}") from error
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DamagedError(f"{path} does not fit its own config: {reason}") from error
    from unweave.training import cpu

    beside = _beside(path.parent, model.latents) if path.name == WEIGHTS else {}
    place = path.parent if path.name == WEIGHTS else None
    return TrainedModel(cpu.channels_last(model).to(device), about, place=place, **beside)


def _without_augmentation(config: Config) -> Config:
    """The config without an augmentation of the loss: a function that training alone calls, and code of a stranger."""
    if config.likelihood.options.get("augmentation") is None:
        return config
    options = {**config.likelihood.options, "augmentation": None}
    return dataclasses.replace(config, likelihood=dataclasses.replace(config.likelihood, options=options))


def _beside(folder: Path, latents: int) -> dict[str, Any]:
    """What stands beside the weights: names, scores, relations."""
    names = {j: name for j, name in latent_names.read_names(folder).items() if j < latents}
    scores = artefacts.read_json(folder / status.SCORES, default={})
    relations = artefacts.read_json(folder / RELATIONS, default={})
    return {"names": names, "scores": scores, "relations": relations}


def _refuse_pickle(path: Path) -> None:
    with path.open("rb") as file:
        weights.check_kind(file.read(9), path)
