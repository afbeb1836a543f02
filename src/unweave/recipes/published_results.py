"""The results that come with unweave: what each recipe found when we ran it, and what it cost.

They are data, not code: ``published/results/ID.json`` for every recipe that was run beyond the smoke test, and one
``published/costs.json`` for the costs of all recipes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unweave import atomic
from unweave.errors import UnweaveError
from unweave.recipes.evidence import EVIDENCE
from unweave.recipes.recipe import SCALES, Scale
from unweave.recipes.reproduce import Cost, Result, read_result

FOLDER = Path(__file__).parents[1] / "published"
DOCS = Path(__file__).parents[3] / "docs" / "results"
COSTS = "costs.json"
RESULTS = "results"
EVIDENCE_OF_RESULTS = "evidence"


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
    return _known(name, folder, _costs(folder))


def published_results(folder: Path = FOLDER) -> dict[str, PublishedResult]:
    """Everything that is published, by name.

    Example:
        >>> all(isinstance(name, str) for name in published_results())
        True
    """
    costs = _costs(folder)
    names = set(costs) | {path.stem for path in (folder / RESULTS).glob("*.json")}
    return {name: _known(name, folder, costs) for name in sorted(names)}


def publish_cost(name: str, scale: Scale, cost: Cost, folder: Path = FOLDER) -> Path:
    """Record what a recipe costs at a scale.

    Example:
        >>> import tempfile
        >>> place = Path(tempfile.mkdtemp())
        >>> _ = publish_cost("sbd-fig4", "paper", Cost(10, 1e6, 0.0), place)
        >>> published_result("sbd-fig4", place).costs["paper"].runs
        10
    """
    costs = _costs(folder)
    costs[name] = {**costs.get(name, {}), scale: cost}
    # One line for each recipe, so that a new cost is one changed line.
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(_rounded(costs[key]))}" for key in sorted(costs))
    atomic.write(folder / COSTS, f"{{\n{lines}\n}}\n")
    return folder / COSTS


def publish(
    result: Result, cost: Cost, pictures: Path, folder: Path = FOLDER, docs: Path | None = None
) -> Path:
    """Add a result to the published ones, with its cost, pictures and runs; of a smoke test the cost alone.

    Args:
        result: of the recipe.
        cost: of the recipe.
        pictures: folder of its PNG files.
        folder: of the published results; by default that of the package.
        docs: of the pages; by default that of the repository.

    Example:
        >>> import tempfile
        >>> from unweave.recipes.catalogue import RECIPES
        >>> from unweave.recipes.reproduce import conclude
        >>> root = Path(tempfile.mkdtemp())
        >>> folder, result, cost = conclude(RECIPES["isa-b3"], "small", root, None)
        >>> publish(result, cost, folder, root / "published", root / "docs").name
        'isa-b3.json'
    """
    docs = DOCS if docs is None else docs
    if not docs.parent.exists():
        raise UnweaveError(f"results are published in a clone of the repository: no folder {docs.parent}")
    path = publish_cost(result.name, result.scale, cost, folder)
    if result.scale == "smoke":
        return path
    for name in result.pictures:
        _small_copy(pictures / f"{name}.png", docs / "pictures" / f"{result.name}-{name}.png")
    path = _path_of_result(result.name, folder)
    atomic.write_json(path, dict(vars(result)))
    kept = docs / EVIDENCE_OF_RESULTS / f"{result.name}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_json(kept, json.loads((pictures / EVIDENCE).read_text()))
    return path


def evidence(name: str, docs: Path | None = None) -> dict[str, Any] | None:
    """The runs that a published result was made from, in a clone of the repository; none if they are not recorded.

    Example:
        >>> evidence("no-such-recipe") is None
        True
    """
    path = (DOCS if docs is None else docs) / EVIDENCE_OF_RESULTS / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def _known(name: str, folder: Path, costs: Mapping[str, Mapping[Scale, Cost]]) -> PublishedResult:
    path = _path_of_result(name, folder)
    return PublishedResult(read_result(path) if path.exists() else None, costs.get(name, {}))


def _path_of_result(name: str, folder: Path) -> Path:
    return folder / RESULTS / f"{name}.json"


def _costs(folder: Path) -> dict[str, dict[Scale, Cost]]:
    path = folder / COSTS
    content = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: {scale: Cost(**own[scale]) for scale in SCALES if scale in own} for name, own in content.items()
    }


def _rounded(costs: Mapping[Scale, Cost]) -> dict[Scale, dict[str, float]]:
    return {
        scale: {key: round(value, 3) for key, value in vars(costs[scale]).items()}
        for scale in SCALES
        if scale in costs
    }


def _small_copy(source: Path, target: Path) -> None:
    """The picture with at most 256 colours: a third of the bytes, with no visible difference."""
    from PIL import Image

    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as image:
        image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
