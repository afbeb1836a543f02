"""The folder of a run comes into being: with all its first files at once, or not at all."""

import contextlib
import functools
import json
import os
import platform
import shutil
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from unweave import artefacts, atomic
from unweave.errors import UnweaveError
from unweave.runs.config import Config

CONFIG = "config.yaml"
RUN = "run.json"
_PACKAGES = ("unweave", "torch", "numpy", "scipy", "scikit-learn")


def is_published(folder: Path) -> bool:
    """Whether a folder is that of a run; a killed process may have left one without ``run.json``, which is none.

    Example:
        >>> is_published(Path("nowhere"))
        False
    """
    return os.path.lexists(folder / RUN)


def check_free(folder: Path, config: Config) -> bool:
    """Whether the folder holds the run of a config already; an error if it holds anything else.

    Example:
        >>> import tempfile
        >>> check_free(Path(tempfile.mkdtemp()), Config.read(words=["data=circles"]))
        False
    """
    try:
        # read once: another process may publish the run at any moment
        present = {entry.name for entry in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError) as error:
        if not os.path.lexists(folder):
            return False
        if folder.is_dir():  # by now
            return check_free(folder, config)
        raise UnweaveError(f"{folder} is a file, not a folder; choose another folder with --out") from error
    if RUN in present:
        made = artefacts.read_json(folder / RUN)
        if made.get("identity") != config.identity:
            there = made.get("config")
            changed = differences(there if isinstance(there, dict) else {}, config.to_mapping())
            raise UnweaveError(
                f"{folder} holds a run made by another config ({', '.join(changed)}); choose another folder with --out"
            )
        return True
    visible = {name for name in present if not name.startswith(".")}
    if visible - {CONFIG, artefacts.MANIFEST} or (visible and not _is_begun(folder, config)):
        raise UnweaveError(
            f"{folder} is not empty and not the folder of a run; choose another folder with --out"
        )
    return False


def publish(folder: Path, config: Config, command: str | None, minutes: float | None = None) -> bool:
    """Make the folder of a run with its config; one that exists, with nothing but a part of this, is completed.

    Returns whether this call made the run; another process may have done so at the same time.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "run"
        >>> publish(folder, Config.read(words=["data=circles"]), None)
        True
        >>> sorted(path.name for path in folder.iterdir())
        ['config.yaml', 'manifest.jsonl', 'run.json']
    """
    contents = {CONFIG: config.to_yaml().encode(), RUN: about(config, command, minutes)}
    manifest = b"".join(artefacts.entry(name, data) for name, data in contents.items())
    if atomic.publish(folder, {**contents, artefacts.MANIFEST: manifest}):
        return True
    if check_free(folder, config):
        return False
    for name, data in contents.items():  # nobody else has made it: it was there, empty or begun
        artefacts.write(folder / name, data)
    return True


def entries(folder: Path) -> set[str] | None:
    """The names in a folder; ``None`` if there is no such folder.

    Example:
        >>> entries(Path("nowhere"))
    """
    try:
        return {entry.name for entry in folder.iterdir()}
    except OSError:
        return None


def withdraw(folder: Path, before: Collection[str] | None) -> None:
    """Remove a run that was published a moment ago and has not taken a step; what was there before stays.

    ``run.json`` goes last: a process that is killed meanwhile leaves a run that can be trained, or no run.

    Args:
        folder: of the run.
        before: the names that were in the folder; none: there was no folder.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "run"
        >>> _ = publish(folder, Config.read(words=["data=circles"]), None)
        >>> withdraw(folder, None)
        >>> folder.exists()
        False
    """
    with contextlib.suppress(OSError):  # what cannot be removed stays, and the run with it
        made = sorted((entries(folder) or set()) - set(before or ()), key=lambda name: (name == RUN, name))
        for path in (folder / name for name in made):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        if before is None:
            folder.rmdir()


def about(config: Config, command: str | None, minutes: float | None = None) -> bytes:
    """The content of ``run.json``: identity, command, versions of the software, and a copy of the config.

    ``minutes`` is the time that the number of steps was made for, if it was.

    Example:
        >>> config = Config.read(words=["data=circles"])
        >>> json.loads(about(config, None))["identity"] == config.identity
        True
    """
    content = {
        "identity": config.identity,
        "command": command,
        **({} if minutes is None else {"minutes": minutes}),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "parts": {name: code.to_config() for name, (_, code) in config.outside_code.items()},
        "config": config.to_mapping(),  # as in config.yaml; JSON is faster to read for the index
    }
    return (json.dumps(content, indent=2) + "\n").encode()


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """In what two configs differ, a phrase for each key.

    Example:
        >>> list(differences({"seed": 0}, {"seed": 3}))
        ['seed: 0 there, 3 here']
    """
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict) and before.get("name") == after.get("name"):
            yield from differences(before, after, f"{prefix}{key}.")
        elif before != after:
            first, second = (v.get("name", v) if isinstance(v, dict) else v for v in (before, after))
            yield f"{prefix}{key}: {first} there, {second} here"


def _is_begun(folder: Path, config: Config) -> bool:
    """Whether the config in a folder, if there is one, is this one: a process was killed while it made the run."""
    if not os.path.lexists(folder / CONFIG):
        return True
    try:
        return Config.read(folder / CONFIG).identity == config.identity
    except UnweaveError:
        return False


@functools.cache
def versions() -> Mapping[str, str]:
    """The versions of the software that makes runs, looked up once: a sweep makes thousands of them.

    Example:
        >>> sorted(versions())[:2]
        ['machine', 'numpy']
    """
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    found["machine"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return found
