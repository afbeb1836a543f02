"""Data sets and models that this process has opened: each is built once and handed on.

A data set is shared by all runs with the same data, a model by all objects that stand for the same run. Files that
change on disk are opened again.
"""

import functools
import json
import os
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from unweave.data import Channels, Dataset
from unweave.data.files import data_folder
from unweave.runs.config import Config
from unweave.vae import Model

MODELS = 4
"""Models that are held at a time; the one that was used longest ago is dropped first."""


class OpenedData:
    """A data set with its fingerprint and its channel constants, each computed once.

    Example:
        >>> data = open_data(Config.read(words=["data=circles", "data.size=32"]))
        >>> data is open_data(Config.read(words=["data=circles", "data.size=32", "seed=1"]))
        True
        >>> data.dataset.image_shape
        (3, 32, 32)
    """

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of some of the images."""
        return self.dataset.fingerprint()

    @functools.cached_property
    def channels(self) -> Channels:
        """Constants to standardise the images by."""
        return self.dataset.channels()


class LoadedModel(NamedTuple):
    """A model and the training step of its weights.

    Example:
        >>> from unweave.vae import VAE
        >>> LoadedModel(VAE.assemble((1, 32, 32), latents=2), step=100).step
        100
    """

    model: Model
    step: int


_DATA: weakref.WeakValueDictionary[str, OpenedData] = weakref.WeakValueDictionary()
_LATEST: list[OpenedData] = []  # stays open even if no run uses it, for the next run of a sweep
_MODELS: OrderedDict[tuple[str, str], LoadedModel] = OrderedDict()


def open_data(config: Config) -> OpenedData:
    """The data of a config; the same object for all configs with equal data, as long as it is in use.

    Example:
        >>> open_data(Config.read(words=["data=xysquares"])).dataset.count
        262144
    """
    key = _data_key(config)
    data = _DATA.get(key)
    if data is None:
        _LATEST.clear()  # before the next one takes its memory
        data = _DATA[key] = OpenedData(config.make_dataset())
    _LATEST[:] = [data]
    return data


def loaded_model(weights: Path, device: str) -> LoadedModel | None:
    """The model with the weights in a file, if this process holds it and the file has not changed.

    Example:
        >>> loaded_model(Path("nowhere.pt"), "cpu") is None
        True
    """
    found = _MODELS.get((_stamp(weights), device))
    if found is not None:
        _MODELS.move_to_end((_stamp(weights), device))
    return found


def keep_model(weights: Path, device: str, loaded: LoadedModel) -> None:
    """Hold a model whose weights are those of a file.

    Example:
        >>> import tempfile
        >>> from unweave.vae import VAE
        >>> path = Path(tempfile.mkdtemp()) / "model.pt"
        >>> path.touch()
        >>> keep_model(path, "cpu", LoadedModel(VAE.assemble((1, 32, 32), latents=2), 5))
        >>> loaded_model(path, "cpu").step
        5
    """
    _MODELS[_stamp(weights), device] = loaded
    while len(_MODELS) > MODELS:
        _MODELS.popitem(last=False)


def _data_key(config: Config) -> str:
    """Equal for equal data: the parts of the config, and the state of the files that they name."""
    files = [
        _stamp(Path(value))
        for value in config.data.options.values()
        if isinstance(value, str) and Path(value).exists()
    ]
    parts = [config.data.to_config(), config.sampling.to_config()]
    return json.dumps([parts, files, str(data_folder()), str(Path.cwd())], default=repr)


def _stamp(path: Path) -> str:
    """Changes when a file, or any file in a folder, is written."""
    if not path.is_dir():
        return _stamp_of(str(path))
    files = [os.path.join(root, name) for root, _, names in os.walk(path) for name in names]  # noqa: PTH118
    return " ".join(_stamp_of(file) for file in sorted(files))


def _stamp_of(file: str) -> str:
    try:
        found = os.stat(file)  # noqa: PTH116  a folder may hold a hundred thousand images
    except OSError:
        return f"{file} missing"
    return f"{os.path.realpath(file)} {found.st_ino} {found.st_mtime_ns} {found.st_size}"
