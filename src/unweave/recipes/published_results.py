"""Results that come with unweave: what each recipe said when we ran it, and what it took."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unweave import atomic
from unweave.errors import UnweaveError
from unweave.recipes.recipe import SCALES, Scale
from unweave.recipes.reproduce import Cost, Result

FOLDER = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[3] / "docs" / "results"


@dataclass(frozen=True)
class PublishedResult:
    """What is known of a recipe: its result at the small scale, if it was run there, and its cost by scale.

    Example:
        >>> PublishedResult(None, {}).result is None
        True
    """

    result: Result | None
    costs: Mapping[Scale, Cost]


def published_result(name: str, folder: Path = FOLDER) -> PublishedResult:
    """What is known of the recipe (or the changed recipe) of that name.

    Example:
        >>> published_result("no-such-recipe").costs
        {}
    """
    path = folder / f"{name}.json"
    if not path.exists():
        return PublishedResult(None, {})
    content = json.loads(path.read_text())
    result = Result(**content["result"]) if content.get("result") else None
    return PublishedResult(
        result, {scale: Cost(**content["costs"][scale]) for scale in SCALES if scale in content["costs"]}
    )


def published_results(folder: Path = FOLDER) -> dict[str, PublishedResult]:
    """Everything that is kept, by name.

    Example:
        >>> all(isinstance(name, str) for name in published_results())
        True
    """
    return {path.stem: published_result(path.stem, folder) for path in sorted(folder.glob("*.json"))}


def publish_cost(name: str, scale: Scale, cost: Cost, folder: Path = FOLDER) -> Path:
    """Note what a recipe takes at a scale.

    Example:
        >>> import tempfile
        >>> place = Path(tempfile.mkdtemp())
        >>> _ = publish_cost("sbd-fig4", "paper", Cost(10, 1e6, 0.0), place)
        >>> published_result("sbd-fig4", place).costs["paper"].runs
        10
    """
    return _update(name, folder, {}, scale, cost)


def publish(
    result: Result, cost: Cost, pictures: Path, folder: Path = FOLDER, docs: Path | None = None
) -> Path:
    """Keep a result with what it took, and its pictures for the docs; of a smoke test the cost alone.

    Args:
        result: what came out.
        cost: what it took.
        pictures: folder of its PNG files.
        folder: of the kept results; by default that of the package.
        docs: of the pages; by default that of the repository.

    Example:
        >>> import tempfile
        >>> from unweave.recipes.catalogue import RECIPES
        >>> from unweave.recipes.reproduce import conclude
        >>> root = Path(tempfile.mkdtemp())
        >>> folder, result, cost = conclude(RECIPES["isa-b3"], "small", root, None)
        >>> publish(result, cost, folder, root / "results", root / "docs").name
        'isa-b3.json'
    """
    if docs is None:
        docs = DOCS
    if not docs.parent.exists():
        raise UnweaveError(f"results are kept in a clone of the repository; there is no folder {docs.parent}")
    if result.scale == "smoke":
        return _update(result.name, folder, {}, result.scale, cost)
    for name in result.pictures:
        _small_copy(pictures / f"{name}.png", docs / "pictures" / f"{result.name}-{name}.png")
    return _update(result.name, folder, {"result": dict(vars(result))}, result.scale, cost)


def _update(name: str, folder: Path, change: Mapping[str, Any], scale: Scale, cost: Cost) -> Path:
    path = folder / f"{name}.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    costs = {**before.get("costs", {}), scale: {key: round(value, 3) for key, value in vars(cost).items()}}
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_json(path, {**before, **change, "costs": {s: costs[s] for s in SCALES if s in costs}})
    return path


def _small_copy(source: Path, target: Path) -> None:
    """The picture with at most 256 colours: a third of the bytes, and nobody sees the difference."""
    from PIL import Image

    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as image:
        image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
