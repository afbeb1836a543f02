"""A study: configs and seeds. It is a small file, or a function that returns configs."""

import dataclasses
import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unweave.errors import UnweaveError, check_choice
from unweave.references import import_object, is_reference, split_reference
from unweave.runs.config import Config, merge, read_file
from unweave.runs.flat import flatten

logger = logging.getLogger("unweave")

_KEYS = ("name", "title", "base", "grid", "variants", "seeds", "search", "target", "metrics")


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One run of a study: its variant, the settings of the variant, and the whole config.

    Example:
        >>> PlannedRun("beta=4", {"objective.beta": 4}, Config.read(words=["data=circles", "seed=3"])).config.seed
        3
    """

    variant: str
    settings: Mapping[str, Any]
    config: Config


@dataclasses.dataclass(frozen=True)
class Study:
    """Runs to make: every variant over every seed.

    Args:
        name: of the study and of its folder.
        runs: all runs, variant by variant.
        title: of the report; the name if empty.
        search: what :mod:`unweave.runs.tune` may vary, by key; empty for a plain study.
        base: the config as given, before any variant (for the search).
        seeds: as given (for the search).
        target: the score that the search optimises and that comes first in the report.
        metrics: further metrics, beyond the usual ones; ``all`` for every standard metric.

    Example:
        >>> study = Study.of({
        ...     "base": {"data": "circles", "steps": 100},
        ...     "grid": {"objective.beta": [1, 4], "decoder": ["Deconv", "SpatialBroadcast"]},
        ...     "seeds": 5,
        ... }, name="betas")
        >>> len(study.runs), list(study.variants)[0]
        (20, 'beta=1 Deconv')
    """

    name: str
    runs: tuple[PlannedRun, ...]
    title: str = ""
    search: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    base: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)
    target: str = ""
    metrics: tuple[str, ...] = ()

    @property
    def variants(self) -> dict[str, list[PlannedRun]]:
        """The runs by variant."""
        groups: dict[str, list[PlannedRun]] = {}
        for run in self.runs:
            groups.setdefault(run.variant, []).append(run)
        return groups

    @classmethod
    def of(cls, mapping: Mapping[str, Any], *, name: str) -> "Study":
        """A study from the content of a study file: ``base``, ``grid`` and/or ``variants``, ``seeds``."""
        for key in mapping:
            check_choice("key of a study", key, _KEYS)
        base = nested(_mapping(mapping, "base"))
        grid = _mapping(mapping, "grid")
        for key, values in grid.items():
            if not isinstance(values, list | tuple) or not values:
                raise UnweaveError(f"grid: {key} must be a list of values, got {values!r}")
        variants = _mapping(mapping, "variants") or {"": {}}
        for label, settings in variants.items():
            if not isinstance(settings, Mapping):
                raise UnweaveError(f"variants: {label} must hold key: value lines, got {settings!r}")
        seeds = seeds_of(mapping.get("seeds", 1))
        search = _mapping(mapping, "search")
        runs: list[PlannedRun] = []
        seen: dict[str, str] = {}
        for (label, own), point in itertools.product(variants.items(), _points(grid)):
            changed = merge(nested(own), nested(point))
            shown = {**flatten(own), **{key: _named(value) for key, value in point.items()}}
            told = " ".join(part for part in (label, *_words(point, grid)) if part)
            try:
                # Checked once for all seeds: a large study has thousands of runs.
                config = Config.of({**merge(base, changed), "seed": min(seeds)}) if not search else None
            except UnweaveError as error:
                raise UnweaveError(f"{told + ': ' if told else ''}{error}") from error
            # As all variants have the same seeds, two of them are the same if they are so at one seed.
            if config is not None and _is_new(config, told or "base", seen):
                several = (dataclasses.replace(config, seed=seed) for seed in dict.fromkeys(seeds))
                runs += [PlannedRun(told or "base", shown, each) for each in several]
        title = str(mapping.get("title", ""))
        target = str(mapping.get("target", ""))
        metrics = metrics_of(mapping.get("metrics") or ())
        found = cls(str(mapping.get("name", name)), tuple(runs), title, search, base, seeds, target, metrics)
        if "/" in found.name or not found.name:
            raise UnweaveError(f"name: a study's name is also its folder's, got {found.name!r}")
        return found

    @classmethod
    def from_configs(
        cls, configs: "Mapping[str, Any] | Iterable[Any]", *, name: str, title: str = ""
    ) -> "Study":
        """A study from configs (or the mappings of config files), given as a list or by the name of their variant.

        Example:
            >>> configs = [{"data": "circles", "objective.beta": b, "seed": s} for b in (1, 4) for s in (0, 1)]
            >>> list(Study.from_configs(configs, name="betas").variants)
            ['beta=1.0', 'beta=4.0']
        """
        if isinstance(configs, Mapping):
            pairs = [
                (label, _config(each))
                for label, value in configs.items()
                for each in (value if isinstance(value, list | tuple) else [value])
            ]
            return cls(name, _once([PlannedRun(str(label), {}, config) for label, config in pairs]), title)
        made = [_config(value) for value in configs]
        if not made:
            raise UnweaveError(f"{name} has no configs: the function must return at least one")
        flats = [flatten(config.to_mapping()) for config in made]
        keys = list(dict.fromkeys(key for flat in flats for key in flat if key != "seed"))
        varied = {
            key: [flat[key] for flat in flats if key in flat]
            for key in keys
            if len({str(flat.get(key)) for flat in flats}) > 1
        }
        runs = []
        for config, flat in zip(made, flats, strict=True):
            shown = {key: flat[key] for key in varied if key in flat}
            runs.append(PlannedRun(" ".join(_words(shown, varied)) or "base", shown, config))
        return cls(name, _once(runs), title)

    def with_seeds(self, seeds: "int | Sequence[int]") -> "Study":
        """The same variants over other seeds; runs that exist keep their folders.

        Example:
            >>> study = Study.of({"base": {"data": "circles"}, "seeds": 2}, name="s")
            >>> [run.config.seed for run in study.with_seeds(3).runs]
            [0, 1, 2]
        """
        numbers = seeds_of(seeds)
        runs = [
            dataclasses.replace(group[0], config=dataclasses.replace(group[0].config, seed=seed))
            for group in self.variants.values()
            for seed in numbers
        ]
        return dataclasses.replace(self, runs=tuple(runs), seeds=numbers)


def load(target: str) -> Study:
    r"""The study that a word of the command line names: a YAML file, ``file.py``, or ``module:function``.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "betas.yaml"
        >>> _ = file.write_text("base: {data: circles}\ngrid: {objective.beta: [1, 4]}\nseeds: 3\n")
        >>> len(load(str(file)).runs)
        6
    """
    if target.endswith((".yaml", ".yml")):
        file = Path(target)
        content = read_file(file)
        if "data" in content and "base" not in content:
            raise UnweaveError(f"{file} is the config of one run, not a study: use unweave train {file}")
        return Study.of(content, name=file.stem)
    reference = f"{target}:study" if target.endswith(".py") else target
    if not is_reference(reference):
        raise UnweaveError(f"a study is a .yaml file, a .py file or module:function, got {target!r}")
    place, function = split_reference(reference)
    logger.info("running the code of %s, which is not part of unweave", place)
    configs = import_object(reference)
    if not callable(configs):
        raise UnweaveError(f"{function!r} of {place} is not a function that returns the configs of a study")
    made = configs()
    if isinstance(made, Study):
        return made
    return Study.from_configs(made, name=f"{place.split('/')[-1].removesuffix('.py')}-{function}")


def seeds_of(given: Any) -> tuple[int, ...]:
    """Seeds as a study file gives them: a number of seeds, or a list.

    Example:
        >>> seeds_of(3), seeds_of([5, 7])
        ((0, 1, 2), (5, 7))
    """
    several = list(range(given)) if isinstance(given, int) and not isinstance(given, bool) else given
    whole = isinstance(several, list | tuple) and all(
        isinstance(seed, int) and not isinstance(seed, bool) for seed in several
    )
    if not whole or not several or len(set(several)) < len(several):
        raise UnweaveError(
            f"seeds must be a number of at least 1 or a list of different numbers, got {given!r}"
        )
    return tuple(several)


def metrics_of(given: Any) -> tuple[str, ...]:
    """Metrics by name or reference, as a list or separated by commas; ``all`` stays ``all``.

    Example:
        >>> metrics_of("MIG,dci"), metrics_of(["all"])
        (('mig', 'dci'), ('all',))
    """
    from unweave.metrics import metric_spelling
    from unweave.model_metrics import model_metrics

    names = given.split(",") if isinstance(given, str) else [str(name) for name in given]
    chosen = [name.strip() for name in names if name.strip()]
    if any(name.lower() == "all" for name in chosen):
        return ("all",)
    return tuple(dict.fromkeys(metric_spelling(name, more=model_metrics()) for name in chosen))


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as the mapping of mappings that a config file holds.

    Example:
        >>> nested({"objective.beta": 4, "decoder": "Deconv", "decoder.depth": 3, "steps": 5})
        {'objective': {'beta': 4}, 'decoder': {'name': 'Deconv', 'depth': 3}, 'steps': 5}
    """
    made: dict[str, Any] = {}
    for key, value in flat.items():
        slot, dot, option = str(key).partition(".")
        new = {option: value} if dot else value
        old = made.get(slot)
        if isinstance(old, str) and isinstance(new, Mapping):
            old = {"name": old}
        if isinstance(new, str) and isinstance(old, Mapping):
            new = {"name": new}
        made[slot] = {**old, **new} if isinstance(old, Mapping) and isinstance(new, Mapping) else new
    return made


def _points(grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _words(point: Mapping[str, Any], varied: Mapping[str, Sequence[Any]]) -> list[str]:
    """What distinguishes a point of a grid: ``beta=4``, or just the name where a part varies."""
    short = [key.split(".")[-1] for key in varied]
    words = []
    for key, value in point.items():
        if len({str(other) for other in varied[key]}) < 2:
            continue
        last = key.split(".")[-1]
        name = last if short.count(last) == 1 else key
        value = _shortened(_named(value), [_named(other) for other in varied[key]])
        words.append(str(value) if isinstance(value, str) and "." not in key else f"{name}={value}")
    return words


def _shortened(value: Any, others: Sequence[Any]) -> Any:
    """A reference without its module or file, if no other value has the same name; other values unchanged."""
    if not (isinstance(value, str) and is_reference(value)):
        return value
    short = split_reference(value)[1]
    same = {str(other) for other in others if str(other).endswith((f":{short}", short))}
    return short if len(same) == 1 else value


def _named(value: Any) -> Any:
    """The name of a part with options; other values unchanged."""
    if isinstance(value, Mapping):
        return str(value.get("name", "")) or " ".join(f"{k}={v}" for k, v in value.items())
    return value


def _mapping(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = mapping.get(key) or {}
    if not isinstance(value, Mapping):
        raise UnweaveError(f"{key} of a study must hold key: value lines, got {value!r}")
    return {str(k): v for k, v in value.items()}


def _config(value: Any) -> Config:
    if isinstance(value, Config):
        return value
    if isinstance(value, Mapping):
        return Config.of(nested(value))
    raise UnweaveError(f"a study's function must return configs or mappings, got {type(value).__name__}")


def _once(runs: Sequence[PlannedRun]) -> tuple[PlannedRun, ...]:
    seen: dict[str, str] = {}
    return tuple(run for run in runs if _is_new(run.config, run.variant, seen))


def _is_new(config: Config, variant: str, seen: dict[str, str]) -> bool:
    """Whether no config of the same identity was seen; two variants with the same are refused."""
    identity = config.identity
    if identity not in seen:
        seen[identity] = variant
        return True
    if seen[identity] != variant:
        raise UnweaveError(f"the variants {seen[identity]!r} and {variant!r} are the same config")
    return False
