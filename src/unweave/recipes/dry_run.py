"""What reproducing would take: runs, data, stand-ins and cost, before anything is read, drawn or trained."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from unweave.data.catalogue import MADE
from unweave.data.registry import DATASETS
from unweave.errors import UnweaveError
from unweave.gan import GAN
from unweave.networks.critics import Discriminator
from unweave.recipes.published_results import published_result
from unweave.recipes.recipe import Recipe, Scale
from unweave.recipes.reproduce import POOL, Cost
from unweave.runs.config import Config
from unweave.runs.status import is_done, seconds_taken
from unweave.runs.study import Study
from unweave.slots import Choice
from unweave.vae import VAE

RATE = 9e10
"""Floating-point operations that a core does in a second: about the median of the recorded costs."""

_IMAGES = 2
"""Passed through a network to count its operations; batch norm needs more than one."""

_FILE_SHAPES = {"SmallNORB": (1, 64), "Faces3D": (1, 64), "MNIST": (1, 28), "FashionMNIST": (1, 28)}
"""Channels and side of the images of data sets that are read from files; those of the others are (3, 64)."""


@dataclass(frozen=True)
class DryRun:
    """What reproducing a recipe would take.

    Args:
        id: of the recipe.
        runs: their number, variants and steps, as a phrase.
        done: how many of them are finished.
        data: what is read.
        stand_ins: a sentence for each data set that is not the paper's.
        cost: of all runs.
        source: of the cost.

    Example:
        >>> DryRun("isa-b3", "nothing to train", 0, "none", [], Cost(0, 0.0, 0.0), "").lines[0]
        'isa-b3: nothing to train'
    """

    id: str
    runs: str
    done: int
    data: str
    stand_ins: list[str]
    cost: Cost
    source: str

    @property
    def lines(self) -> list[str]:
        """As the terminal shows it."""
        found = [f"{self.id}: {self.runs}" + (f", {self.done} of them done" if self.done else "")]
        found.append(f"    data       {self.data}")
        found += [f"    stand-in   {sentence}" for sentence in self.stand_ins] or ["    stand-in   none"]
        cost = f"{self.cost.text} on one core ({self.source})" if self.cost.runs else self.source
        return [*found, f"    cost       {cost}"]


def dry_run(recipe: Recipe, scale: Scale, root: Path, changes: Mapping[str, Any] | None = None) -> DryRun:
    """What reproducing a recipe would take; nothing is written, drawn, opened or timed.

    The cost is the recorded one of the same number of runs, otherwise it is counted: three times the multiplications
    and additions of the networks for each image, at :data:`RATE`.

    Args:
        recipe: what to reproduce.
        scale: how large.
        root: folder of everything that is reproduced.
        changes: what the user changed of the paper's protocol.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> dry_run(RECIPES["sbd-fig4"], "paper", Path("nowhere")).runs
        '30 runs (2 variants x 15 seeds), 500,000 steps each'
    """
    study = recipe.study(scale, changes)
    stand_ins = [stand_in.sentence for stand_in in recipe.stand_ins(scale, changes)]
    if study is None:
        read = [dict(each) for each in recipe.data()] if recipe.data is not None else []
        names = ", ".join(dict.fromkeys(str(each["name"]) for each in read)) or "none"
        return DryRun(
            recipe.id, "nothing to train", 0, names, stand_ins, Cost(0, 0.0, 0.0), _conclusion_cost(recipe)
        )
    pool = root / POOL
    folders = [pool / run.config.label for run in study.runs] if pool.exists() else []
    done = [folder for folder in folders if folder.exists() and is_done(folder, study.metrics)]
    cost, source = _cost(recipe, scale, study, changes)
    if len(done) == len(study.runs):
        cost, source = Cost(len(done), sum(map(seconds_taken, done)), 0.0), "as measured"
    return DryRun(recipe.id, _runs_phrase(study), len(done), _data_phrase(study), stand_ins, cost, source)


def _runs_phrase(study: Study) -> str:
    groups = study.variants
    sizes = {len(runs) for runs in groups.values()}
    each = f" x {sizes.pop()} seeds" if len(sizes) == 1 else ""
    steps = sorted({run.config.steps for run in study.runs})
    told = f"{steps[0]:,} steps each" if len(steps) == 1 else f"{steps[0]:,} to {steps[-1]:,} steps"
    return f"{len(study.runs)} runs ({len(groups)} variants{each}), {told}"


def _data_phrase(study: Study) -> str:
    names = (_data_words(run.config.data) for run in study.runs)
    return ", ".join(dict.fromkeys(names))


def _data_words(data: Choice) -> str:
    part = DATASETS.parts.get(data.name)
    made = part is not None and (not part.originals or data.name in MADE)
    source = str(data.options.get("source", "rendered")) if made else "file"
    return f"{data.label} ({'from its file' if source == 'file' else 'made here'})"


def _conclusion_cost(recipe: Recipe) -> str:
    """What is known of the time of a conclusion without runs."""
    measured = [cost.conclusion for cost in published_result(recipe.id).costs.values() if cost.conclusion]
    return "the conclusion alone" + (f", {Cost(0, 0.0, max(measured)).text} so far" if measured else "")


def _cost(recipe: Recipe, scale: Scale, study: Study, changes: Mapping[str, Any] | None) -> tuple[Cost, str]:
    recorded = published_result(recipe.id).costs.get(scale)
    if recorded is not None and recorded.runs == len(study.runs) and not changes:
        return recorded, "as recorded"
    try:
        return Cost(len(study.runs), counted_seconds(study), 0.0), "counted operations"
    except UnweaveError as error:
        return Cost(len(study.runs), 0.0, 0.0), f"not known before the data are opened: {error}"


def counted_seconds(study: Study) -> float:
    """Seconds of training on one core, from the number of operations of the networks.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> one, two = (counted_seconds(RECIPES["sbd-fig4"].study(scale)) for scale in ("small", "paper"))
        >>> two > 100 * one
        True
    """
    total = 0.0
    for runs in study.variants.values():  # the runs of a variant differ in their seeds alone
        config = runs[0].config
        pairs = 2 if config.pairing.name != "none" else 1
        total += len(runs) * operations(config) * pairs * config.batch_size * config.steps / RATE
    return total


def operations(config: Config) -> float:
    """Floating-point operations of one image in one step: forwards and, twice as much, backwards.

    Example:
        >>> one, two = (Config.read(words=["data=dsprites", f"encoder.channels={c}"]) for c in ("[8,8]", "[32,32]"))
        >>> operations(two) > operations(one) > 0
        True
    """
    chosen = (config.model, config.encoder, config.decoder, config.posterior, config.likelihood)
    parts = [choice.to_config() for choice in chosen]
    critic = {k: v for k, v in config.objective.options.items() if k.startswith("critic")}
    if config.model.name != "VAE":
        parts[0] = {**parts[0], "lambda_mi": None, "critic_learning_rate": None}
    data = json.dumps(config.data.to_config(), sort_keys=True)
    if data not in _shapes:
        _shapes[data] = image_shape_of(config.data)
    key = json.dumps([*parts, critic, config.latents, _shapes[data]], sort_keys=True)
    if key not in _counted:
        _counted[key] = 3 * _count(config, _shapes[data])
    return _counted[key]


def image_shape_of(data: Choice) -> tuple[int, int, int]:
    """The shape of the images of a data set without opening its files.

    Example:
        >>> image_shape_of(Choice("Cars3D", {"size": 64})), image_shape_of(Choice("DSprites", {}))
        ((3, 64, 64), (1, 64, 64))
    """
    part = DATASETS.parts.get(data.name)
    if part is None or data.name in ("Folder", "Arrays"):
        raise UnweaveError(f"the shape of the images of {data.label} is not known")
    if part.originals and (data.name not in MADE or data.options.get("source") == "file"):
        channels, side = _FILE_SHAPES.get(data.name, (1 if data.name == "DSprites" else 3, 64))
        channels, side = data.options.get("channels", channels), data.options.get("size", side)
        return int(channels), int(side), int(side)
    return DATASETS.build(data).image_shape


_shapes: dict[str, tuple[int, int, int]] = {}
"""Shapes of images by data set and options."""

_counted: dict[str, float] = {}
"""Operations by what decides them: counted once for each kind of network."""


class _NoDraws(TorchFunctionMode):
    """Weights are zero and not drawn: only their number matters.

    The functions of ``torch.nn.init`` are seen here as one call each: what they call is no longer seen.
    """

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        if getattr(function, "__module__", "") == "torch.nn.init":
            return args[0] if args else options["tensor"]
        if function in (Tensor.normal_, Tensor.uniform_, Tensor.erfinv_):
            return args[0]
        return (torch.zeros if function is torch.empty else function)(*args, **options)


def _count(config: Config, shape: tuple[int, int, int]) -> float:
    """Of all convolutions and linear layers: two for each weight and each place where it is used."""
    counted = 0.0

    def count(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal counted
        weight = module.weight
        assert isinstance(weight, Tensor)
        over = inputs[0] if isinstance(module, nn.ConvTranspose2d) else output
        places = over.numel() / over.shape[1] if over.dim() == 4 else over.numel() / over.shape[-1]
        counted += 2.0 * weight.numel() * places

    # Two images pass in milliseconds. The device of shapes alone, "meta", would import torch's compiler: a second.
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        with _NoDraws():
            model = config.make_model(shape)
            objective = config.make_objective(model)
        layers = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
        for module in (*model.modules(), *objective.modules()):
            if isinstance(module, layers):
                module.register_forward_hook(count)
        images = torch.zeros(_IMAGES, *shape)
        if isinstance(model, GAN):
            for _ in range(2):  # a step of the generator, one of the critic, which also sees the real images
                model.critic(model.generate(model.draw(_IMAGES)))
            model.critic(images)
        elif isinstance(model, VAE):
            model.decode(model.encode(images).sample())
            for critic in (m for m in objective.modules() if isinstance(m, Discriminator)):
                for _ in range(3):  # once in the step of the VAE, twice in its own
                    critic(torch.zeros(_IMAGES, config.latents))
    return counted / _IMAGES
