"""Python objects named by text, ``package.module:Name`` or ``path/to/file.py:Name``, and where their code comes from.

Importing runs code. Nothing here is called for a name that stands in a data file: a reference is imported because a
user typed it, because their own config or study file holds it, or because a run that was made with it is trained,
scored or drawn again.
"""

import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import logging
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from unweave.errors import UnweaveError

logger = logging.getLogger("unweave")

_REFERENCE = re.compile(r"(?P<place>.+):(?P<name>[^\W\d]\w*(?:\.(?:[^\W\d]\w*|<locals>))*)")


@dataclass(frozen=True)
class Provenance:
    """Where the code of a part outside unweave comes from: a file with its hash, or an installed package.

    Example:
        >>> Provenance(package="fancy", version="1.2").to_config()
        {'package': 'fancy', 'version': '1.2'}
    """

    file: str = ""
    sha256: str = ""
    package: str = ""
    version: str = ""

    def to_config(self) -> dict[str, str]:
        """The fields that are known, as a config file holds them."""
        return {key: value for key, value in asdict(self).items() if value}

    @classmethod
    def of_config(cls, recorded: Mapping[str, Any]) -> "Provenance":
        """The provenance that :meth:`to_config` wrote."""
        return cls(**{key: str(value) for key, value in recorded.items() if key in cls.__dataclass_fields__})

    @property
    def identity(self) -> str:
        """What tells one code from another: the hash of a file, the name of a package (not its version)."""
        return self.sha256 or self.package

    def __str__(self) -> str:
        return self.file or " ".join(part for part in (self.package, self.version) if part) or "this session"


def is_reference(text: str) -> bool:
    """Whether a text has the form ``package.module:Name`` or ``path/to/file.py:Name``.

    Example:
        >>> is_reference("my_parts:TinyDecoder"), is_reference("./my_loss.py:MyLoss"), is_reference("SpatialBroadcast")
        (True, True, False)
    """
    found = _REFERENCE.fullmatch(text)
    if not found:
        return False
    place = found["place"]
    return place.endswith(".py") or all(part.isidentifier() for part in place.split("."))


def split_reference(reference: str) -> tuple[str, str]:
    """The module or file of a reference, and the name inside it.

    Example:
        >>> split_reference("my_parts:TinyDecoder")
        ('my_parts', 'TinyDecoder')
    """
    place, _, name = reference.rpartition(":")
    return place, name


def import_object(reference: str, *, file: str = "") -> object:
    """The object that a reference names; one sentence if the module, the file or the name is missing or broken.

    The current folder is searched after everything that is installed.

    Args:
        reference: ``package.module:Name`` or ``path/to/file.py:Name``.
        file: where the module was found when the reference was recorded; its folder is searched too.

    Example:
        >>> import_object("collections:OrderedDict").__name__
        'OrderedDict'
        >>> import_object("no_such_module:Part")
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: no_such_module:Part cannot be loaded: there is no module no_such_module
    """
    if (known := _session.get(reference)) is not None:
        return known
    place, name = split_reference(reference)
    found: Any = (
        _module_of_file(reference, place) if place.endswith(".py") else _module(reference, place, file)
    )
    for part in name.split("."):
        if not hasattr(found, part):
            raise UnweaveError(f"{reference} cannot be loaded: {place} has no {part!r}")
        found = getattr(found, part)
    return found


def reference_to(part: type) -> str:
    """The reference by which another process finds a class, and by which this process finds this very object.

    A class of the program that runs is named by the program's file. A class that no file holds is known in this
    process only.

    Example:
        >>> from collections import OrderedDict
        >>> reference_to(OrderedDict)
        'collections:OrderedDict'
    """
    module = sys.modules.get(part.__module__)
    place = part.__module__
    if place == "__main__" or place.startswith(_FILE_MODULE):
        source = getattr(module, "__file__", None)
        place = str(Path(source).resolve()) if source else place
    reference = f"{place}:{part.__qualname__}"
    if place != part.__module__ or place == "__main__" or "<locals>" in part.__qualname__:
        _session[reference] = part  # no import would find this very class
    return reference


def provenance_of(part: type) -> Provenance:
    """Where the code of a class comes from.

    Example:
        >>> import click
        >>> provenance_of(click.Command).package
        'click'
    """
    module = sys.modules.get(part.__module__)
    source = getattr(module, "__file__", None)
    if source and "site-packages" in Path(source).parts:
        name = _package_of(part.__module__.partition(".")[0])
        if name:
            return Provenance(package=name, version=importlib.metadata.version(name))
    if source and Path(source).is_file():
        path = Path(source).resolve()
        return Provenance(file=str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    try:
        text = inspect.getsource(part)
    except (OSError, TypeError):
        text = f"{part.__module__}:{part.__qualname__}"
    return Provenance(sha256=hashlib.sha256(text.encode()).hexdigest())


def absolute(reference: str) -> str:
    """A reference that means the same from every folder.

    Example:
        >>> absolute("my_parts:TinyDecoder"), absolute("/a/b.py:C")
        ('my_parts:TinyDecoder', '/a/b.py:C')
    """
    place, name = split_reference(reference)
    return f"{Path(place).expanduser().resolve()}:{name}" if place.endswith(".py") else reference


@functools.cache
def entry_points_of(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """What installed packages offer in a group such as ``unweave.decoders``, by name; nothing is imported.

    Example:
        >>> entry_points_of("unweave.nothing")
        {}
    """
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=group):
        if point.name in found and found[point.name].value != point.value:
            logger.warning(
                "two packages offer %s in %s (%s and %s); the first is used",
                *(point.name, group, found[point.name].value, point.value),
            )
        found.setdefault(point.name, point)
    return found


def load_entry_point(point: importlib.metadata.EntryPoint) -> object:
    """The object of an entry point; one sentence if its package is broken.

    Example:
        >>> point = importlib.metadata.EntryPoint("Part", "no_such_module:Part", "unweave.decoders")
        >>> load_entry_point(point)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: Part of an installed package cannot be loaded: No module named 'no_such_module'
    """
    try:
        return point.load()
    except Exception as error:  # whatever the code of a stranger raises
        owner = f"package {point.dist.name}" if point.dist else "an installed package"
        raise UnweaveError(f"{point.name} of {owner} cannot be loaded: {_one_line(error)}") from error


_session: dict[str, type] = {}
"""Classes that this process was given as objects and that no import finds, by their references."""

_FILE_MODULE = "unweave_file_"


def _module(reference: str, place: str, file: str) -> ModuleType:
    folders = [str(Path.cwd())]
    if file:
        folders.insert(0, str(Path(file).parents[place.count(".") + (Path(file).name == "__init__.py")]))
    added = [folder for folder in folders if folder not in sys.path]
    sys.path += added  # behind everything installed, and for good: the module may import its neighbours later
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        missing = error.name or place
        if missing == place or place.startswith(f"{missing}."):
            raise UnweaveError(f"{reference} cannot be loaded: there is no module {missing}") from error
        raise UnweaveError(f"{reference} cannot be loaded: it imports {missing}, which is missing") from error
    except Exception as error:  # whatever the code of a stranger raises
        raise UnweaveError(f"{reference} cannot be loaded: {_one_line(error)}") from error


def _module_of_file(reference: str, place: str) -> ModuleType:
    path = Path(place).expanduser().resolve()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UnweaveError(f"{reference} cannot be loaded: there is no file {path}") from None
    except OSError as error:
        raise UnweaveError(f"{reference} cannot be loaded: {error.strerror or error}") from error
    # The name holds the content: a file that was edited is another module.
    name = f"{_FILE_MODULE}{path.stem}_{hashlib.sha256(str(path).encode() + content).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints look themselves up there
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # its neighbours
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the code of a stranger raises
        del sys.modules[name]
        raise UnweaveError(f"{reference} cannot be loaded: {_one_line(error)}") from error
    return module


@functools.cache
def _package_of(top: str) -> str | None:
    names = importlib.metadata.packages_distributions().get(top)
    return names[0] if names else None


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())[:200]
    return text if isinstance(error, ImportError | UnweaveError) else f"{type(error).__name__}: {text}"
