"""Names that people gave to latents, stored beside the weights as ``names.json``; pages and tables use them."""

import re
from collections.abc import Mapping
from pathlib import Path

from unweave import artefacts, atomic
from unweave.errors import UnweaveError, unknown

FILE = "names.json"
LONGEST = 40

Names = dict[int, str]
"""Of those latents that have one, by number."""


def read_names(folder: Path) -> Names:
    """The names in the folder of a run or a model; empty if none was given.

    Example:
        >>> read_names(Path("nowhere"))
        {}
    """
    stored = artefacts.read_json(folder / FILE, default={})
    try:
        return {int(str(key).removeprefix("z")): str(name) for key, name in stored.items()}
    except ValueError:
        raise atomic.DamagedError(
            f"{folder / FILE} is damaged: its keys must be latents such as z3"
        ) from None


def to_json(names: Mapping[int, str]) -> dict[str, str]:
    """What :data:`FILE` holds.

    Example:
        >>> to_json({3: "rotation"})
        {'z3': 'rotation'}
    """
    return {f"z{j}": names[j] for j in sorted(names)}


def write_names(folder: Path, names: Mapping[int, str]) -> Path:
    """Store names in the folder of a run, with their hash, or of a model.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> read_names(write_names(folder, {3: "rotation"}).parent)
        {3: 'rotation'}
    """
    recorded = (folder / artefacts.MANIFEST).exists()
    (artefacts.write_json if recorded else atomic.write_json)(folder / FILE, to_json(names))
    return folder / FILE


def with_name(names: Mapping[int, str], latent: int, name: str) -> Names:
    """The names with another one for a latent, if it is one that no other has; an empty one takes a name away.

    Example:
        >>> with_name({0: "x"}, 1, "x")
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: z0 is called 'x' already: choose another name for z1
    """
    name = name.strip()
    others = {j: other for j, other in names.items() if j != latent}
    if not name:
        return others
    if len(name) > LONGEST or not name.isprintable() or re.search(r"[=,\"\\]", name):
        raise UnweaveError(
            f'the name of a latent must be at most {LONGEST} printable characters without = , " and \\, got {name!r}'
        )
    if re.fullmatch(r"z?\d+", name):
        raise UnweaveError(f"{name!r} is the number of a latent: choose a word for z{latent}")
    for j, other in others.items():
        if other.casefold() == name.casefold():
            raise UnweaveError(f"z{j} is called {other!r} already: choose another name for z{latent}")
    return {**others, latent: name}


def shown(latents: int, names: Mapping[int, str]) -> tuple[str, ...]:
    """What each latent is called in tables: its name, or its number.

    Example:
        >>> shown(3, {1: "rotation"})
        ('z0', 'rotation', 'z2')
    """
    return tuple(names.get(j, f"z{j}") for j in range(latents))


def number_of(word: str | int, latents: int, names: Mapping[int, str]) -> int:
    """The latent that a word stands for: ``z3``, ``3``, or a name.

    Example:
        >>> number_of("rotation", 10, {3: "rotation"}), number_of("z7", 10, {})
        (3, 7)
    """
    text = str(word).strip()
    for j, name in names.items():
        if name.casefold() == text.casefold() and j < latents:
            return j
    found = re.fullmatch(r"z?(\d{1,9})", text)
    if found and int(found[1]) < latents:
        return int(found[1])
    raise unknown("latent", text, shown(latents, names))
