"""Python objects named by text, ``package.module:Name`` or ``path/to/file.py:Name``, and where their code comes from.

Importing runs code. Nothing here is called for a name that stands in a data file: a reference is imported because a
user typed it, because their own config or study file holds it, or because a run that was made with it is trained,
scored or drawn again. Of the names that a run has recorded none is imported by reading the record, none from inside the
run's own folder, and none that the record does not say the origin of (:func:`check_record`).
"""

import contextlib
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
from dataclasses import asdict, dataclass, field, replace
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
    record: str = field(default="", compare=False)
    """The folder of the run whose config names the part; none: a user named it."""

    def to_config(self) -> dict[str, str]:
        """The fields that are known, as a config file holds them."""
        return {key: value for key, value in asdict(self).items() if value and key != "record"}

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


class Reference(str):
    """An option of a part that names code, such as an augmentation, and where that code comes from once it is known.

    Example:
        >>> named = Reference("my_parts:flip", Provenance(package="fancy", version="1.2"))
        >>> named, named.to_config()
        ('my_parts:flip', {'name': 'my_parts:flip', 'code': {'package': 'fancy', 'version': '1.2'}})
    """

    code: Provenance | None

    def __new__(cls, name: str, code: Provenance | None = None) -> "Reference":
        """A text, and beside it what is known of the code that it names."""
        made = super().__new__(cls, name)
        made.code = code
        return made

    @classmethod
    def of_config(cls, stored: object, record: str = "") -> "Reference | None":
        """What :meth:`to_config` wrote, or a plain name, both perhaps from the record of a run; none: neither."""
        name, recorded = (
            (stored.get("name"), stored.get("code")) if isinstance(stored, Mapping) else (stored, None)
        )
        if not isinstance(name, str):
            return None
        known = name.code if isinstance(name, Reference) else None
        if isinstance(recorded, Mapping) and recorded:
            known = Provenance.of_config(recorded)
        return cls(name, replace(known or Provenance(), record=record) if record else known)

    @property
    def identity(self) -> str:
        """What tells one code from another; empty: not known."""
        return "" if self.code is None else self.code.identity

    def to_config(self) -> str | dict[str, Any]:
        """As a config file holds it; the name alone while nothing is known of its code."""
        code = {} if self.code is None else self.code.to_config()
        return {"name": str(self), "code": code} if code else str(self)

    def recorded(self) -> "Reference":
        """The same with the origin of its code, which is imported unless it was recorded before."""
        if self.code is not None:
            return self
        import_object(self)
        return Reference(absolute(self), self.now())

    def now(self) -> Provenance:
        """Where its code comes from today; it must have been imported."""
        place, name = split_reference(self)
        if place.endswith(".py"):
            return _of_file(Path(place).expanduser())
        return _provenance(place, name)

    def load(self) -> object:
        """The object; see :func:`import_object`."""
        return import_object(self, self.code)


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


def import_object(reference: str, code: Provenance | None = None) -> object:
    """The object that a reference names; one sentence if the module, the file or the name is missing or broken.

    The current folder is searched after everything that is installed.

    Args:
        reference: ``package.module:Name`` or ``path/to/file.py:Name``.
        code: what was recorded of it: the folder of the file is searched too, and :func:`check_record` applies.

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
    code = code or Provenance()
    check_record(reference, code)
    place, name = split_reference(reference)
    found: Any = (
        _module_of_file(reference, place) if place.endswith(".py") else _module(reference, place, code)
    )
    for part in name.split("."):
        if not hasattr(found, part):
            raise UnweaveError(f"{reference} cannot be loaded: {place} has no {part!r}")
        found = getattr(found, part)
    return found


class UntrustedPartError(UnweaveError):
    """A record names a part that is not imported on its word.

    Example:
        >>> issubclass(UntrustedPartError, UnweaveError)
        True
    """


def check_record(reference: str, code: Provenance) -> None:
    """Refuse to import what only a run's record names: code without a recorded origin, or inside the run's folder.

    A run's folder is data that may come from somebody else. What it names is imported from installed packages and from
    the user's own places, never from what came along with it.

    Example:
        >>> check_record("./part.py:Part", Provenance(file="part.py", sha256="0", record="/run"))
        Traceback (most recent call last):
        ...
        unweave.references.UntrustedPartError: /run names ./part.py:Part by a relative path, so it is not imported
    """
    if not code.record:
        return
    place = split_reference(reference)[0]
    if not code.identity:
        raise UntrustedPartError(
            f"{code.record} names {reference} and does not record where its code is from, so it is not imported: "
            f"name it on the command line if you trust it"
        )
    of_file = place.endswith(".py")
    places = [Path(text) for text in (place if of_file else "", code.file) if text]
    if any(not path.is_absolute() for path in places):
        raise UntrustedPartError(f"{code.record} names {reference} by a relative path, so it is not imported")
    if not of_file and not any(_inside(path, code.record) for path in places):
        places += _origins(place, code)
    if any(_inside(path, code.record) for path in places):
        raise UntrustedPartError(
            f"{code.record} names {reference}, a part inside its own folder, which is never imported: move the file "
            f"elsewhere, look at it, and name it on the command line"
        )


def _inside(path: Path, folder: str) -> bool:
    inner = Path(folder)
    return path.absolute().is_relative_to(inner.absolute()) or path.resolve().is_relative_to(inner.resolve())


def _origins(place: str, code: Provenance) -> list[Path]:
    """The places from which a module would be imported, found without importing it."""
    before = list(sys.path)
    sys.path += _folders(place, code)
    try:
        spec = importlib.util.find_spec(place.partition(".")[0])
    except (ImportError, ValueError):  # no such module, or one that this process has made
        spec = None
    finally:
        sys.path[:] = before
    found = (spec.origin, *(spec.submodule_search_locations or ())) if spec else ()
    return [Path(each) for each in found if each]


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
    return _provenance(part.__module__, part.__qualname__, part)


def _provenance(module: str, name: str, part: type | None = None) -> Provenance:
    """Of a name in a module that was imported."""
    source = getattr(sys.modules.get(module), "__file__", None)
    if source and "site-packages" in Path(source).parts:
        package = _package_of(module.partition(".")[0])
        if package:
            return Provenance(package=package, version=importlib.metadata.version(package))
    if source and Path(source).is_file():
        return _of_file(Path(source))
    text = f"{module}:{name}"
    if part is not None:
        with contextlib.suppress(OSError, TypeError):
            text = inspect.getsource(part)
    return Provenance(sha256=hashlib.sha256(text.encode()).hexdigest())


def _of_file(path: Path) -> Provenance:
    return Provenance(file=str(path.resolve()), sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def absolute(reference: str) -> str:
    """A reference that means the same from every folder.

    Example:
        >>> absolute("my_parts:TinyDecoder"), absolute("/a/b.py:C")
        ('my_parts:TinyDecoder', '/a/b.py:C')
    """
    place, name = split_reference(reference)
    return f"{Path(place).expanduser().resolve()}:{name}" if place.endswith(".py") else reference


@functools.cache
def _installed() -> dict[str, list[importlib.metadata.EntryPoint]]:
    """What all installed packages offer, by group: their files are read once, not once for each slot."""
    found = importlib.metadata.entry_points()
    return {group: list(found.select(group=group)) for group in found.groups}


@functools.cache
def entry_points_of(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """What installed packages offer in a group such as ``unweave.decoders``, by name; nothing is imported.

    Example:
        >>> entry_points_of("unweave.nothing")
        {}
    """
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in _installed().get(group, ()):
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


def _folders(place: str, code: Provenance) -> list[str]:
    """Where a module is searched behind everything installed: where it was when it was recorded, and here."""
    folders = [Path.cwd()]
    if code.file:
        file = Path(code.file)
        folders.insert(0, file.parents[place.count(".") + (file.name == "__init__.py")])
    if code.record:
        folders = [folder for folder in folders if not _inside(folder, code.record)]
    return [str(folder) for folder in folders if str(folder) not in sys.path]


def _module(reference: str, place: str, code: Provenance) -> ModuleType:
    # Behind everything installed, and for good: the module may import its neighbours later.
    sys.path += _folders(place, code)
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
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints look themselves up there
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # its neighbours
    try:
        # Not by the loader: it would take compiled code for current if an edit left time and length of the file alike.
        exec(compile(content, path, "exec"), module.__dict__)
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
