"""What an experiment is: every choice that decides its result, and nothing else."""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unweave import atomic
from unweave.data import DATASETS, SAMPLINGS, Channels, Dataset
from unweave.data.dataset import check_declared
from unweave.data.registry import own_data
from unweave.errors import UnweaveError, check_positive, plain
from unweave.gan import GANS
from unweave.likelihoods import LIKELIHOODS
from unweave.networks import DECODERS, ENCODERS
from unweave.objectives import OBJECTIVES, Annealed, Averaged, Objective, Ramp, Ramped
from unweave.objectives.ramps import read_ramps
from unweave.optimizers import OPTIMIZERS
from unweave.pairing import PAIRINGS
from unweave.posteriors import POSTERIORS
from unweave.priors import PRIORS
from unweave.references import Provenance, Reference, is_reference, provenance_of, split_reference
from unweave.runs.key_hints import choose, unknown_key
from unweave.runs.recommended import with_training
from unweave.schedules import SCHEDULES
from unweave.slots import Choice, Slot, convert, options_of, type_hints
from unweave.standalone import StandaloneModel
from unweave.standardise import standardise
from unweave.training.weight_average import check_average
from unweave.vae import VAE, Model

MODELS: Slot[Model] = Slot("model", "unweave.models", StandaloneModel, {"VAE": VAE, **GANS})

SLOTS: dict[str, Slot[object]] = {
    "data": DATASETS,
    "model": MODELS,
    "encoder": ENCODERS,
    "decoder": DECODERS,
    "posterior": POSTERIORS,
    "prior": PRIORS,
    "likelihood": LIKELIHOODS,
    "objective": OBJECTIVES,
    "pairing": PAIRINGS,
    "sampling": SAMPLINGS,
    "optimizer": OPTIMIZERS,
    "critic_optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
    "critic_schedule": SCHEDULES,
}
"""The parts that a config chooses by name, and what there is to choose from."""

VAE_ONLY = (
    *("encoder", "decoder", "posterior", "prior", "likelihood", "objective", "pairing"),
    *("averaged", "capacity", "capacity_steps", "standardise"),
)
"""What a GAN has in another form or not at all."""

NONE = Choice("none")

LARGEST = 1 << 20
"""Bytes of a config file at most."""

MOST_VALUES = 100_000
"""Values in a config at most, after aliases are followed."""


@dataclasses.dataclass(frozen=True)
class Config:
    """Everything that decides the result of a run. Two runs with equal configs are the same run.

    Args:
        data: the data set.
        model: the VAE that the parts below make, or another model in its place, see ``unweave.standalone``.
        encoder: see ``unweave.networks``.
        decoder: see ``unweave.networks``.
        posterior: see ``unweave.posteriors``.
        prior: see ``unweave.priors``.
        likelihood: see ``unweave.likelihoods``.
        objective: see ``unweave.objectives``.
        pairing: see ``unweave.pairing``.
        sampling: which of the data are seen in training, see ``unweave.data.sampling``.
        optimizer: see ``unweave.optimizers``.
        critic_optimizer: that of the objective's critic, if it has one.
        schedule: how training changes over its steps, see ``unweave.schedules``.
        critic_schedule: the same for the critic, of which the rate alone counts.
        ramps: weights of the objective that begin at another value, see :class:`unweave.objectives.Ramp`.
        weight_average: decay of a moving average of the weights, which takes the place of the last ones; none: off.
        clip_norm: longer gradients are shortened to this norm; none: off.
        standardise: let networks and loss see standardised images (REC appendix B.4).
        averaged: quote the objective's weights in the averaged units of REC appendix B.1.
        capacity: nats at which the objective's KL is held in the end, see :class:`unweave.objectives.Annealed`.
        capacity_steps: steps until that capacity is reached; none: the whole run.
        latents: size of the code.
        steps: number of updates.
        batch_size: images in a batch, or pairs of images.
        learning_rate: the optimiser's step size, before the schedule.
        seed: of weights, batches, noise and scores.

    Example:
        >>> config = Config.of({"data": "circles", "objective": {"name": "beta-vae", "beta": 4}, "steps": 100})
        >>> config.objective
        Choice(name='BetaVAE', options={'beta': 4.0})
        >>> config == Config.of(config.to_mapping())
        True
    """

    data: Choice
    model: Choice = Choice("VAE")
    encoder: Choice = Choice("Conv")
    decoder: Choice = Choice("Deconv")
    posterior: Choice = Choice("DiagonalNormal")
    prior: Choice = Choice("StandardNormal")
    likelihood: Choice = Choice("Bernoulli")
    objective: Choice = Choice("BetaVAE")
    pairing: Choice = NONE
    sampling: Choice = Choice("Uniform")
    optimizer: Choice = Choice("Adam")
    critic_optimizer: Choice = Choice("Adam")
    schedule: Choice = Choice("Constant")
    critic_schedule: Choice = Choice("Constant")
    ramps: Mapping[str, Any] | None = None
    weight_average: float | None = None
    clip_norm: float | None = None
    standardise: bool = False
    averaged: bool = False
    capacity: float | None = None
    capacity_steps: int | None = None
    latents: int = 10
    steps: int = 5000
    batch_size: int = 64
    learning_rate: float = 1e-4
    seed: int = 0

    @classmethod
    def of(cls, mapping: Mapping[str, Any]) -> "Config":
        """Check a mapping as a config file holds it; fill in every default, and what ``training`` stands for."""
        fields = {f.name: f for f in dataclasses.fields(cls)}
        for key in mapping:
            if key not in (*fields, "training"):
                asked = {name: mapping.get(name, fields[name].default) for name in SLOTS}
                raise unknown_key(str(key), SLOTS, asked, (*fields, "training"))
        if "data" not in mapping:
            raise UnweaveError(
                f"no data set is named: set data to one of {', '.join(sorted(DATASETS))}, or a path"
            )
        mapping = with_training(mapping, SLOTS["data"].choose(_with_own_data(mapping["data"])).name)
        values: dict[str, Any] = {}
        replaced = _replaced_by_gan(mapping)
        for name, field in fields.items():
            if name in replaced:
                values[name] = replaced[name]
            elif name in SLOTS:
                chosen = mapping.get(name, field.default)
                if isinstance(chosen, Mapping) and isinstance(field.default, Choice):
                    chosen = {"name": field.default.name, **chosen}
                values[name] = choose(SLOTS, name, _with_own_data(chosen) if name == "data" else chosen)
            elif name == "ramps":
                values[name] = read_ramps(mapping.get(name))
            else:
                values[name] = convert(name, mapping.get(name, field.default), field.type)
        for name in ("latents", "steps", "batch_size"):
            if values[name] < 1:
                raise UnweaveError(f"{name} must be at least 1, got {values[name]}")
        if values["learning_rate"] <= 0:
            raise UnweaveError(f"learning_rate must be greater than 0, got {values['learning_rate']:g}")
        check_positive("clip_norm", values["clip_norm"])
        if values["weight_average"] is not None:
            check_average(values["weight_average"])
        if values["seed"] < 0:
            raise UnweaveError(f"seed must be at least 0, got {values['seed']}")
        return cls(**values)

    @classmethod
    def read(cls, file: Path | None = None, words: Sequence[str] = ()) -> "Config":
        """A config from a YAML file, changed by words such as ``objective.beta=4``.

        Example:
            >>> Config.read(words=["data=circles", "data.hole=center", "learning_rate=3e-4"]).learning_rate
            0.0003
        """
        return cls.of(merge(_read_config(file) if file else {}, read_words(words)))

    def to_mapping(self) -> dict[str, Any]:
        """As a config file holds it: plain values, every option filled in."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {k: v.to_config() if isinstance(v, Choice) else v for k, v in values.items()}

    def to_yaml(self) -> str:
        """The config file of this run."""
        from omegaconf import OmegaConf

        return OmegaConf.to_yaml(OmegaConf.create(self.to_mapping()))

    @property
    def identity(self) -> str:
        """A hash of the whole config: equal configs have equal identities.

        Example:
            >>> Config.read(words=["data=circles"]).identity == Config.read(words=["data=Circles"]).identity
            True
        """
        canonical = json.dumps(_canonical(self), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def label(self) -> str:
        """A short name for people and folders.

        Example:
            >>> Config.read(words=["data=circles", "seed=3"]).label.rsplit("-", 1)[0]
            'Circles-BetaVAE-Deconv-seed3'
        """
        return f"{self.data.label}-{'-'.join(self.method)}-seed{self.seed}-{self.identity[:8]}"

    @property
    def method(self) -> tuple[str, ...]:
        """What is trained, in a few names: objective, pairing if any, decoder; or the GAN.

        Example:
            >>> Config.read(words=["data=circles", "pairing=AdaGVAE"]).method
            ('BetaVAE', 'AdaGVAE', 'Deconv')
        """
        if self.model.name != "VAE":
            return (self.model.label,)
        paired = () if self.pairing == NONE else (self.pairing.label,)
        return (self.objective.label, *paired, self.decoder.label)

    @property
    def training(self) -> str:
        """How it is trained, in one line.

        Example:
            >>> Config.read(words=["data=circles"]).training
            'Adam at 0.0001, Constant, 5,000 steps of 64 images'
        """
        images = "pairs" if self.pairing != NONE else "images"
        return (
            f"{self.optimizer.label} at {self.learning_rate:g}, {self.schedule.label}, {self.steps:,} steps of "
            f"{self.batch_size} {images}"
        )

    @property
    def outside_parts(self) -> dict[str, Choice]:
        """The parts whose code is not unweave's, by slot.

        Example:
            >>> Config.read(words=["data=circles"]).outside_parts
            {}
        """
        chosen = {name: getattr(self, name) for name in SLOTS}
        return {name: choice for name, choice in chosen.items() if choice.code is not None}

    @property
    def outside_code(self) -> dict[str, tuple[str, Provenance]]:
        """What all code that is not unweave's is called and where it comes from, by slot, or by key of an option.

        Example:
            >>> config = Config.read(words=["data=circles", "likelihood.augmentation=torch:sigmoid"])
            >>> config.outside_code["likelihood.augmentation"][1].package
            'torch'
        """
        parts = {slot: (part.label, part.code) for slot, part in self.outside_parts.items()}
        named = {key: (str(value), value.code) for key, value in self.outside_options.items()}
        return {key: (label, code) for key, (label, code) in {**parts, **named}.items() if code is not None}

    @property
    def outside_options(self) -> dict[str, Reference]:
        """The options of parts that name code, by their keys.

        Example:
            >>> Config.read(words=["data=circles", "likelihood.augmentation=torch:sigmoid"]).outside_options
            {'likelihood.augmentation': 'torch:sigmoid'}
        """
        options = {
            f"{name}.{key}": value for name in SLOTS for key, value in getattr(self, name).options.items()
        }
        return {key: value for key, value in options.items() if isinstance(value, Reference)}

    def changed_parts(self) -> list[str]:
        """A sentence for each outside part or option whose code is no longer the one that this config recorded.

        Example:
            >>> Config.read(words=["data=circles"]).changed_parts()
            []
        """
        told = []
        for name, choice in self.outside_parts.items():
            assert choice.code is not None
            now = provenance_of(SLOTS[name].find(choice.name, choice.code)[1])
            if now.identity != choice.code.identity:
                told.append(
                    f"the {name} {choice.label} of {choice.code} has changed since this config was made"
                )
        for name, named in self.outside_options.items():
            if named.identity and named.now().identity != named.identity:
                told.append(f"the {name} {named} of {named.code} has changed since this config was made")
        return told

    def make_dataset(self) -> Dataset:
        """The data set of this config."""
        dataset = DATASETS.build(self.data)
        if self.data.code is not None:
            check_declared(dataset)
        if self.sampling.name != "Uniform":
            dataset = SAMPLINGS.build(self.sampling, dataset=dataset)
        return dataset

    def make_model(self, image_shape: tuple[int, int, int], channels: Channels | None = None) -> Model:
        """The model of this config with fresh weights from torch's global generator.

        Args:
            image_shape: of the data.
            channels: what to standardise by, if that is asked for; none: what is loaded with the weights.
        """
        if self.model.name != "VAE":
            return MODELS.build(self.model, image_shape=image_shape, latents=self.latents)
        vae = VAE.assemble(
            image_shape,
            self.latents,
            encoder=self.encoder,
            decoder=self.decoder,
            posterior=self.posterior,
            prior=self.prior,
            likelihood=self.likelihood,
            pairing=self.pairing,
        )
        if self.standardise:
            unit = (0.0,) * image_shape[0], (1.0,) * image_shape[0]
            standardise(vae, *((channels.mean, channels.std) if channels else unit))
        return vae

    def make_objective(self, model: Model) -> Objective:
        """The objective of this config for a model of it."""
        if isinstance(model, StandaloneModel):
            objective: Objective = model.game()
        else:
            objective = OBJECTIVES.build(self.objective, latents=self.latents)
            if self.capacity is not None:
                objective = Annealed(objective, capacity=self.capacity, steps=self.capacity_steps)
            objective = Averaged(objective) if self.averaged else objective
        if self.ramps is None:
            return objective
        return Ramped(objective, {name: Ramp.of(f"ramps.{name}", ramp) for name, ramp in self.ramps.items()})


def _replaced_by_gan(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """With a GAN as model, the values of all that is the VAE's alone; none of it may have been asked for."""
    asked = mapping.get("model", "VAE")
    model = choose(SLOTS, "model", {"name": "VAE", **asked} if isinstance(asked, Mapping) else asked)
    if model.name == "VAE":
        return {}
    absent = {
        name: NONE if name in SLOTS else False if name in ("averaged", "standardise") else None
        for name in VAE_ONLY
    }
    replaced: dict[str, Any] = dict(absent)
    if model.name in GANS:
        replaced["latents"] = model.options["continuous"] + len(model.options["categorical"])
    for name, value in replaced.items():
        plain = value.to_config() if isinstance(value, Choice) else value
        if name in mapping and mapping[name] not in (plain, "none"):
            raise UnweaveError(
                f"model {model.label} takes the place of the VAE's {name}: omit {name}, or choose model=VAE"
                + (f" (its codes have {value} columns by its own options)" if name == "latents" else "")
            )
    return replaced


_FIRST_KEYS: dict[str, Any] = json.loads((Path(__file__).parent / "first_keys.json").read_text())
"""The keys of a config and the options of every part in the first format of run folders."""


def _canonical(config: Config) -> dict[str, Any]:
    """What the identity is a hash of.

    Keys and options that were added after the first format are absent at their defaults, so that an older run keeps
    its identity. An outside part is told by its name and its code, wherever its file lies.
    """
    canonical: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        default = _default_part(field.name) if field.name in SLOTS else field.default
        if field.name not in _FIRST_KEYS["keys"] and value == default:
            continue
        canonical[field.name] = _canonical_part(field.name, value) if isinstance(value, Choice) else value
    return canonical


@functools.cache
def _default_part(slot: str) -> Choice | None:
    """Once for each slot: the identities of a large study ask for it thousands of times. The data have no default."""
    field = next(field for field in dataclasses.fields(Config) if field.name == slot)
    return None if field.default is dataclasses.MISSING else SLOTS[slot].choose(field.default)


def _canonical_part(slot: str, choice: Choice) -> dict[str, Any]:
    if choice.code is not None:
        return {**choice.to_config(), "name": choice.label, "code": choice.code.identity}
    plain = choice.to_config()
    for key, value in choice.options.items():
        if isinstance(value, Reference) and value.identity:  # older runs recorded the name alone
            plain[key] = {"name": split_reference(value)[1], "code": value.identity}
    if choice == NONE:
        return plain
    first = _FIRST_KEYS["options"].get(slot, {}).get(choice.name, [])
    defaults = {name: p.default for name, p in options_of(SLOTS[slot].parts[choice.name]).items()}
    return {k: v for k, v in plain.items() if k == "name" or k in first or choice.options[k] != defaults[k]}


def _with_own_data(value: Any) -> Any:
    """A path where a data set's name is expected stands for the user's own images: a folder or a file."""
    name = value.get("name") if isinstance(value, Mapping) else value
    if not isinstance(name, str) or not ("/" in name or "." in name or _is_own_name(name)):
        return value
    if is_reference(name) and not Path(name).expanduser().exists():
        return value
    others = {k: v for k, v in value.items() if k != "name"} if isinstance(value, Mapping) else {}
    return {**own_data(name), **others}


def _is_own_name(name: str) -> bool:
    """Whether a plain name is no data set's, but that of a folder or file here."""
    return bool(name) and plain(name) not in map(plain, DATASETS) and Path(name).exists()


def _read_config(file: Path) -> dict[str, Any]:
    """A config file; in one that stands in the folder of a run, every reference is marked as named by that run.

    Such a file may come from somebody else: reading it imports nothing, see :func:`unweave.references.check_record`.
    """
    mapping = read_file(file)
    if "base" in mapping and "data" not in mapping:
        command = "tune" if "search" in mapping else "sweep"
        raise UnweaveError(f"{file} is a study, not the config of one run: use unweave {command} {file}")
    return with_record(mapping, file.parent) if (file.parent / "run.json").exists() else mapping


def with_record(mapping: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """A config that was stored, in which every reference is marked as named by what is stored in this folder.

    Example:
        >>> with_record({"decoder": "my_parts:Tiny", "seed": 3}, Path("/run"))
        {'decoder': {'name': 'my_parts:Tiny', 'code': {'record': '/run'}}, 'seed': 3}
    """
    marked = dict(mapping)
    for slot in SLOTS.keys() & marked.keys():
        part = marked[slot] if isinstance(marked[slot], dict) else {"name": marked[slot]}
        if isinstance(name := part.get("name"), str) and is_reference(name):
            code = part["code"] if isinstance(part.get("code"), dict) else {}
            marked[slot] = {**part, "code": {**code, "record": str(place)}}
            continue
        named = {key: part[key] for key in _reference_options(slot, name) & part.keys()}
        found = {key: Reference.of_config(value, str(place)) for key, value in named.items()}
        if any(found.values()):
            marked[slot] = {**part, **found}
    return marked


def _reference_options(slot: str, name: object) -> set[str]:
    """The options that name code, of a part that is unweave's own; those of others are marked when they are built."""
    names = {plain(known): known for known in SLOTS[slot].parts}
    part = SLOTS[slot].parts.get(names.get(plain(str(name)), ""))
    hints = {} if part is None else type_hints(part)
    return {key for key, hint in hints.items() if Reference in typing.get_args(hint)}


def read_file(file: Path) -> dict[str, Any]:
    """What a YAML file holds, as plain values.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.yaml"
        >>> _ = file.write_text("learning_rate: 3e-4")
        >>> read_file(file)
        {'learning_rate': 0.0003}
    """
    import yaml
    from omegaconf import OmegaConf

    if not os.path.lexists(file):
        raise UnweaveError(f"there is no config file {file}")
    text = atomic.read(file)
    if len(text) > LARGEST:
        raise UnweaveError(f"{file} is not a config file: it has {len(text):,} bytes, more than {LARGEST:,}")
    with _reading(f"{file} is not a config file"):
        node = yaml.compose(text.decode(), Loader=yaml.SafeLoader)
        _check_yaml(node)
        if node is not None and not isinstance(node, yaml.MappingNode):
            raise UnweaveError("it must hold key: value lines")
        content = OmegaConf.to_container(OmegaConf.create(text.decode()), resolve=True)
    if not isinstance(content, dict):
        raise UnweaveError(f"{file} is not a config file: it must hold key: value lines")
    return {str(key): value for key, value in content.items()}


@contextlib.contextmanager
def _reading(problem: str) -> Iterator[None]:
    """Inside, whatever YAML and OmegaConf raise for a text becomes one sentence that begins with the problem."""
    import yaml
    from omegaconf.errors import OmegaConfBaseException

    kinds = (yaml.YAMLError, OmegaConfBaseException, ValueError, TypeError, AttributeError, RecursionError)
    try:
        yield
    except kinds as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UnweaveError(f"{problem}: {' '.join(reason.split())[:200]}") from error


def _check_yaml(node: Any) -> None:
    """Refuse resolvers, which read the environment or call functions, and aliases that multiply without end."""
    count, left = 0, [node]
    while left:
        node = left.pop()
        value = getattr(node, "value", None)
        count += 1
        if count > MOST_VALUES:
            raise UnweaveError(f"it holds more than {MOST_VALUES:,} values")
        if isinstance(value, list):  # of a sequence, or pairs of a mapping
            left += [part for each in value for part in (each if isinstance(each, tuple) else (each,))]
        elif isinstance(value, str) and (found := re.search(r"\$\{[^}]*:", value)):
            raise UnweaveError(f"{found[0]}...}} is not taken: write the value itself")


def read_words(words: Sequence[str]) -> dict[str, Any]:
    """What ``key=value`` words say, as a config file would hold it.

    Example:
        >>> read_words(["prior=isa", "objective.beta=4"])
        {'prior': {'name': 'isa'}, 'objective': {'beta': 4}}
    """
    if not words:  # the packages below take a while to import
        return {}
    import yaml
    from omegaconf import OmegaConf

    dotted, names = [], {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UnweaveError(f"expected key=value, got {word!r}")
        if key in SLOTS and is_reference(value):  # a path is no YAML
            dotted.append(f"{key}.name=reference")
            names[key] = value
        else:
            dotted.append(f"{key}.name={value}" if key in SLOTS else word)
    with _reading(f"cannot read {' '.join(words)[:300]}"):
        for word in dotted:
            _check_yaml(yaml.compose(word.partition("=")[2], Loader=yaml.SafeLoader))
        content = OmegaConf.to_container(OmegaConf.from_dotlist(dotted), resolve=True)
    assert isinstance(content, dict)
    found: dict[str, Any] = {str(key): value for key, value in content.items()}
    for key, name in names.items():
        found[key]["name"] = name
    return found


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """``above`` over ``below``; a slot that is given another name loses the options it had below.

    Example:
        >>> merge({"objective": {"name": "BetaVAE", "beta": 4}}, {"objective": {"beta": 2}})
        {'objective': {'name': 'BetaVAE', 'beta': 2}}
    """
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if key in SLOTS and isinstance(under, str):
            under = {"name": under}
        if key in SLOTS and isinstance(value, Mapping):
            keep = (
                under if isinstance(under, Mapping) and value.get("name") in (None, under.get("name")) else {}
            )
            value = {**keep, **value}
        if key == "ramps" and isinstance(under, Mapping) and isinstance(value, Mapping):
            value = {**under, **{name: _over(under.get(name), ramp) for name, ramp in value.items()}}
        merged[key] = value
    return merged


def _over(below: object, above: object) -> object:
    """The options of a ramp over those below it; a number stands for its start."""
    if below is None:
        return above
    return {
        **(below if isinstance(below, Mapping) else {"start": below}),
        **(above if isinstance(above, Mapping) else {"start": above}),
    }
