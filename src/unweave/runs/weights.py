"""The file of a model's weights: its tensors, and in its header all that is needed to use them without the data.

The file is a safetensors file, so that reading it runs no code and every other program can open it. Under the key
``unweave`` of its metadata stands a JSON text: the version of this format, the config, what the model keeps of its data
(:class:`DataFacts`), and a hash of the tensors. Files of older runs have no such text; their run's folder has the rest.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unweave import atomic
from unweave.atomic import DamagedError
from unweave.data import Dataset, FactorSpace
from unweave.errors import UnweaveError
from unweave.runs.config import Config, with_record
from unweave.runs.status import weights_problem

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 1
"""Of what stands under the key; a file with a higher number is of a newer unweave, and refused."""

KEY = "unweave"

VERSION = version("unweave")
"""Of the unweave that runs."""


@dataclass(frozen=True)
class DataFacts:
    """What a model keeps of the data that it was trained on: how its images look, and what their factors are called.

    Args:
        image_shape: (channels, height, width).
        crop: how pictures of other sizes were cut before they were resized, see :func:`unweave.data.pictures.fit`.
        background: the colour behind transparent parts.
        space: the factors, if they are known.
        count: number of images; none: without end.

    Example:
        >>> facts = DataFacts((1, 64, 64), 0, FactorSpace(("x", "hue"), (32, (0.0, 1.0))), None)
        >>> DataFacts.of_json(facts.to_json()) == facts
        True
    """

    image_shape: tuple[int, int, int]
    crop: int | None = 0
    space: FactorSpace | None = None
    count: int | None = None
    background: str = "black"

    @classmethod
    def of(cls, config: Config, dataset: Dataset) -> "DataFacts":
        """Those of a data set that was made by a config.

        Example:
            >>> config = Config.read(words=["data=circles", "data.size=32"])
            >>> DataFacts.of(config, config.make_dataset()).space.names
            ('x', 'y')
        """
        crop = config.data.options.get("crop", 0)
        count = None if dataset.count is None else int(dataset.count)
        channels, height, width = map(int, dataset.image_shape)
        background = str(config.data.options.get("background", "black"))
        return cls((channels, height, width), crop, dataset.space, count, background)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and strings."""
        space = None if self.space is None else {"names": self.space.names, "sizes": self.space.sizes}
        plain: dict[str, Any] = json.loads(json.dumps({**asdict(self), "space": space}))
        return plain

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "DataFacts":
        """The facts that :meth:`to_json` wrote."""
        channels, height, width = map(int, stored["image_shape"])
        sizes = None if stored["space"] is None else stored["space"]["sizes"]
        space = None if sizes is None else FactorSpace(stored["space"]["names"], [_size(s) for s in sizes])
        background = stored.get("background", "black")  # the first files did not say it
        return cls((channels, height, width), stored["crop"], space, stored["count"], background)


def _size(stored: Any) -> int | tuple[float, float]:
    return (float(stored[0]), float(stored[1])) if isinstance(stored, list) else int(stored)


@dataclass(frozen=True)
class About:
    """What stands beside the tensors: the config that made them, at which step they are, and what of the data matters.

    ``made`` is what is known of their origin beyond that: the command, the time it took, versions; empty in a run,
    whose folder has it, so that two equal runs have equal files.

    Example:
        >>> About(Config.read(words=["data=circles"]), DataFacts((3, 64, 64)), step=10).version == VERSION
        True
    """

    config: Config
    data: DataFacts
    step: int
    made: Mapping[str, Any] = field(default_factory=dict)
    version: str = VERSION

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and strings."""
        return {
            "format": FORMAT,
            "version": self.version,
            "identity": self.config.identity,
            "step": self.step,
            "config": self.config.to_mapping(),
            "data": self.data.to_json(),
            "made": dict(self.made),
        }


def pack(tensors: "Mapping[str, Tensor]", about: About) -> bytes:
    """The content of a file of weights; equal tensors and equal facts give equal bytes.

    Example:
        >>> import torch
        >>> about = About(Config.read(words=["data=circles"]), DataFacts((3, 64, 64)), step=10)
        >>> content = pack({"weight": torch.ones(2)}, about)
        >>> unpack(content, Path("a.safetensors"))[1].step
        10
    """
    from safetensors.torch import save

    content = save({name: tensor.contiguous().cpu() for name, tensor in tensors.items()})
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    text = json.dumps({**about.to_json(), "sha256": hashlib.sha256(data).hexdigest()})
    header.pop("__metadata__", None)
    # Written here, not by `save`: the order in which that writes metadata is another one each time.
    packed = json.dumps({"__metadata__": {"format": "pt", KEY: text}, **header}).encode()
    packed += b" " * (-len(packed) % 8)  # tensors begin at a multiple of 8 bytes
    return len(packed).to_bytes(8, "little") + packed + data


def unpack(content: bytes, path: Path) -> "tuple[dict[str, Tensor], About | None]":
    r"""The tensors of a file of weights and what stands beside them, if anything does; errors name the ``path``.

    Example:
        >>> unpack(b"\x80\x04...", Path("model.safetensors"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.atomic.DamagedError: model.safetensors is a pickle, which may run code when it is read, so it is not ...
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    check_kind(content, path)
    try:
        tensors = dict(load(content))
        length = int.from_bytes(content[:8], "little")
        text = json.loads(content[8 : 8 + length]).get("__metadata__", {}).get(KEY)
    except (SafetensorError, ValueError, KeyError) as error:
        raise DamagedError(f"{path} is damaged: {' '.join(str(error).split())[:160]}") from error
    return tensors, None if text is None else _about(text, content[8 + length :], path)


def read(path: Path) -> "tuple[dict[str, Tensor], About | None]":
    """The tensors of a file of weights and what stands beside them; one sentence if the file is damaged or another.

    Example:
        >>> read(Path("nowhere.safetensors"))
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: nowhere.safetensors: there is no such file
    """
    content = atomic.read(path)
    check_kind(content, path)
    if (problem := weights_problem(path)) is not None:
        raise DamagedError(f"{path} is damaged: {problem}")
    return unpack(content, path)


def check_kind(content: bytes, path: Path) -> None:
    """Refuse a pickle, alone or in the archive of ``torch.save``, by the beginning of a file.

    Example:
        >>> check_kind(b"PK", Path("model.pt"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.atomic.DamagedError: model.pt is a pickle, which may run code when it is read, so it is not read: ...
    """
    # A safetensors file begins with a number of 8 bytes, which may look like anything, and then a brace.
    if content[8:9] != b"{" and (content[:2] == b"PK" or content[:1] == b"\x80"):
        raise DamagedError(
            f"{path} is a pickle, which may run code when it is read, so it is not read: save the tensors as a "
            f"safetensors file (safetensors.torch.save_file)"
        )


def _about(text: str, data: bytes, path: Path) -> About:
    """What the text in a file's header says, if this version knows its format and the tensors are those it names."""
    try:
        stored = json.loads(text)
        found, writer = int(stored["format"]), str(stored["version"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(f"{path} is damaged: what its header says of the model cannot be read") from error
    if found != FORMAT:
        raise UnweaveError(
            f"{path} has format {found} of unweave {writer}, and this is unweave {VERSION}, which reads format "
            f"{FORMAT}: install the version that wrote it, or a newer one"
        )
    try:
        if stored["sha256"] != hashlib.sha256(data).hexdigest():
            raise DamagedError(f"{path} is damaged: its tensors are not those that were written")
        config = Config.of(with_record(stored["config"], path.parent.absolute()))
        return About(config, DataFacts.of_json(stored["data"]), int(stored["step"]), stored["made"], writer)
    except DamagedError:
        raise
    except UnweaveError as error:
        raise UnweaveError(
            f"{path} was made by unweave {writer} and cannot be opened by this one, {VERSION}: {error}"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(
            f"{path} is damaged: what its header says of the model is not complete ({type(error).__name__}: {error})"
        ) from error
