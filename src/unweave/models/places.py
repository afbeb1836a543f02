"""Models that are kept for use under a name: folders in a few places, of which the name is that of the folder."""

import os
from pathlib import Path

from unweave import atomic
from unweave.errors import plain, unknown

WEIGHTS = "model.safetensors"
PLACES = "UNWEAVE_MODELS"
"""Environment variable: folders of model folders, separated as in PATH."""


def places() -> list[Path]:
    """The folders in which kept models are looked for: those of UNWEAVE_MODELS, then the repository's own.

    Example:
        >>> all(isinstance(place, Path) for place in places())
        True
    """
    given = [Path(text).expanduser() for text in os.environ.get(PLACES, "").split(os.pathsep) if text]
    clone = Path(__file__).resolve().parents[3]  # src/unweave/models/places.py
    return [*given, *([clone / "models"] if (clone / "pyproject.toml").is_file() else [])]


def kept() -> dict[str, Path]:
    """The kept models by name, and their folders; of two with one name the first place's counts.

    Example:
        >>> import tempfile, unittest.mock
        >>> folder = Path(tempfile.mkdtemp())
        >>> (folder / "rings").mkdir()
        >>> (folder / "rings" / WEIGHTS).touch()
        >>> with unittest.mock.patch.dict("os.environ", {PLACES: str(folder)}):
        ...     kept()["rings"].name, find("Rings") == folder / "rings"
        ('rings', True)
    """
    found: dict[str, Path] = {}
    for place in places():
        for weights in sorted(place.glob(f"*/{WEIGHTS}")):
            found.setdefault(weights.parent.name, weights.parent)
    return found


def find(name: str) -> Path:
    """The folder of the kept model with this name; case, hyphens and underscores do not count.

    Example:
        >>> find("no such model")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: unknown model 'no such model' (there are: ...
    """
    models = kept()
    by_plain = {plain(known): folder for known, folder in models.items()}
    if plain(name) not in by_plain:
        raise unknown("model", name, models)
    return by_plain[plain(name)]


def facts(folder: Path) -> list[str]:
    """What is known of a kept model, as the cells of a row: name, data, method, steps, NLL, MIG, FactorVAE score, size.

    Example:
        >>> import tempfile
        >>> facts(Path(tempfile.mkdtemp()))[1:]
        ['', '', '', '', '', '', '0.0']
    """
    from unweave.runs.config import read_file  # loads torch, which a list of names does not need
    from unweave.runs.publishing import CONFIG
    from unweave.runs.status import SCORES

    config = read_file(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    scores = atomic.read_json(folder / SCORES, default={})

    def part(slot: str) -> str:
        chosen = config.get(slot)
        return str(chosen.get("name", "")) if isinstance(chosen, dict) else str(chosen or "")

    def value(score: str) -> str:
        return f"{scores[score]['value']:.3f}" if score in scores else ""

    unusual = [part(slot) for slot in ("prior", "pairing") if part(slot) not in ("StandardNormal", "none")]
    method = " ".join(word for word in (part("objective"), *unusual, part("decoder")) if word)
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    numbers = [value(score) for score in ("nll", "mig", "factor_vae_score")]
    return [folder.name, part("data"), method, str(config.get("steps", "")), *numbers, f"{size / 1e6:.1f}"]
