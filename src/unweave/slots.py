"""Slots and the parts that fit them: by name, by reference, as a class or as an instance, all resolved here.

The constructor of a part *is* its schema. A few parameters are context that the program supplies (image shape, latent
size); all others are options that a user may set, with their types and defaults. So a config value, a command-line
word and a Python argument are one and the same thing, written once.

A part is one of: a name that unweave or an installed package registers, a reference (``package.module:Name`` or
``path/to/file.py:Name``), a class, or an instance.
"""

import contextlib
import dataclasses
import functools
import inspect
import logging
import math
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from unweave.errors import LARGEST_NUMBER, UnweaveError, plain, unknown
from unweave.memory import Budget
from unweave.references import (
    Provenance,
    Reference,
    UntrustedPartError,
    absolute,
    entry_points_of,
    import_object,
    is_reference,
    load_entry_point,
    provenance_of,
    reference_to,
    split_reference,
)

logger = logging.getLogger("unweave")

Part = TypeVar("Part", covariant=True)

CONTEXT = {
    *("image_shape", "output_shape", "features", "latents"),
    *("encoder", "posterior", "prior", "decoder", "likelihood", "pairing", "dataset"),
}
"""Parameters that the program supplies; every other parameter of a part is an option."""


class Form(NamedTuple):
    """An equation of a paper that a part computes, where it is printed, and the words of a command that choose it.

    Example:
        >>> Form("E_q[-log p(x|z)] + KL(q(z|x) || p(z))", "FAC section 2", "objective=BetaVAE").words
        'objective=BetaVAE'
    """

    equation: str
    reference: str
    words: str


@dataclasses.dataclass(frozen=True)
class Choice:
    """A part by name with the value of every one of its options, and where its code is from if it is not unweave's.

    Example:
        >>> from unweave.objectives import OBJECTIVES
        >>> OBJECTIVES.choose({"name": "beta-vae", "beta": 4})
        Choice(name='BetaVAE', options={'beta': 4.0})
    """

    name: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    code: Provenance | None = dataclasses.field(default=None, repr=False)

    @property
    def label(self) -> str:
        """The name of the part itself, without the module or file of a reference.

        Example:
            >>> Choice("my_parts:TinyDecoder").label
            'TinyDecoder'
        """
        return split_reference(self.name)[1] if is_reference(self.name) else self.name

    def to_config(self) -> dict[str, Any]:
        """The mapping that a config file holds: the name, the origin of outside code, and all options."""
        code = {} if self.code is None else {"code": self.code.to_config()}
        return {"name": self.name, **code, **{k: _as_plain(v) for k, v in self.options.items()}}


PartLike = str | type | Mapping[str, Any] | Choice
"""How a part may be given, besides as an instance."""

_RESERVED = ("name", "code")
"""Keys of a part's mapping that are not options."""


class Slot(Mapping[str, type[Part]], Generic[Part]):
    """A place that one of several parts fills; a mapping of the names of its parts to their classes.

    The names are those of unweave and, behind them, those that installed packages register under the entry-point group
    ``group``, which are imported when they are asked for.

    Args:
        name: of the slot, as config files spell it.
        group: of the entry points.
        base: the class that a part from outside must inherit from.
        parts: what unweave itself offers.
        otherwise: what an error says after the names, if something else may be given too.

    Example:
        >>> class Scale:
        ...     def __init__(self, latents: int, *, by: float = 2.0) -> None:
        ...         self.value = latents * by
        >>> scales = Slot("scale", "unweave.scales", Scale, {"Scale": Scale})
        >>> scales.make({"name": "scale", "by": 3}, latents=10).value
        30.0
    """

    def __init__(
        self, name: str, group: str, base: type, parts: Mapping[str, type[Part]], *, otherwise: str = ""
    ) -> None:
        self.name = name
        self.group = group
        self.base = base
        self.parts = dict(parts)
        self.otherwise = otherwise
        for part in self.parts.values():
            _check_constructor(name, part)
            _remember_options(part)

    def __getitem__(self, name: str) -> type[Part]:
        if name in self.parts:
            return self.parts[name]
        return self._checked(name, load_entry_point(entry_points_of(self.group)[name]))

    def __iter__(self) -> Iterator[str]:
        yield from self.parts
        yield from (name for name in entry_points_of(self.group) if name not in self.parts)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Slot({self.name!r}: {', '.join(self)})"

    def loadable(self) -> Iterator[tuple[str, type[Part]]]:
        """Names and classes, without those whose package is broken; a warning names these.

        Example:
            >>> from unweave.objectives import OBJECTIVES
            >>> next(OBJECTIVES.loadable())[0]
            'BetaVAE'
        """
        for name in self:
            try:
                yield name, self[name]
            except UnweaveError as error:
                logger.warning("%s", error)

    def find(self, name: str, code: Provenance | None = None) -> tuple[str, type[Part]]:
        """The full name and the class that a name or a reference stands for.

        Case, hyphens and underscores of names do not count.

        Example:
            >>> from unweave.networks import DECODERS
            >>> DECODERS.find("spatial-broadcast")[0]
            'SpatialBroadcast'
        """
        by_plain = {plain(known): known for known in self}
        if plain(name) in by_plain:
            return by_plain[plain(name)], self[by_plain[plain(name)]]
        if not is_reference(name):
            raise unknown(self.name, name, self, self.otherwise)
        found = import_object(name, code)
        return absolute(name), self._checked(name, found)

    def choose(self, value: object) -> Choice:
        """Check a part and its options, and fill in the defaults.

        A part from outside whose mapping records the origin of its code is taken as recorded: it was checked when the
        record was written, and is not imported before it is built.

        Args:
            value: a name, a reference, a class, an instance, a mapping with any of these as ``name`` and options, or a
                :class:`Choice`.

        Example:
            >>> from unweave.networks import DECODERS
            >>> DECODERS.choose("spatial_broadcast").name
            'SpatialBroadcast'
        """
        if isinstance(value, Choice):
            if value.code is not None:
                return value
            value = {"name": value.name, **value.options}
        if not isinstance(value, Mapping):
            value = {"name": value}
        given, options = value.get("name"), {k: v for k, v in value.items() if k not in _RESERVED}
        recorded = value.get("code")
        if isinstance(given, str) and isinstance(recorded, Mapping) and given not in self.parts:
            return Choice(
                given, {k: _as_tuple(v) for k, v in options.items()}, Provenance.of_config(recorded)
            )
        if isinstance(given, str):
            name, part = self.find(given)
        elif isinstance(given, type):
            name, part = self._name_of(given), self._checked(given.__name__, given)
        elif isinstance(given, self.base) and not isinstance(given, Mapping):
            name, part = self._name_of(type(given)), self._checked(type(given).__name__, type(given))
            options = {**self._options_of_instance(given), **options}
        else:
            raise UnweaveError(
                f"{self.name} must be a name or a mapping with a 'name', got {_shown(value, given)} "
                f"(there are: {', '.join(sorted(self))})"
            )
        outside = name not in self.parts
        options = self._complete(name, part, options)
        # What an option names was typed like the part itself, and is recorded like it.
        options = {k: v.recorded() if isinstance(v, Reference) else v for k, v in options.items()}
        return Choice(name, options, provenance_of(part) if outside else None)

    def build(self, choice: Choice, **context: Any) -> Part:
        """Make the chosen part: its class called with its options and those of the context's values that it takes.

        Example:
            >>> from unweave.priors import PRIORS
            >>> PRIORS.build(Choice("StandardNormal"), latents=3)().event_shape
            torch.Size([3])
        """
        if choice.code is None:
            part = self.find(choice.name)[1]
            return part(**accepted(part, **context), **choice.options)
        try:
            name, part = self.find(choice.name, choice.code)
        except UntrustedPartError:
            raise
        except UnweaveError as error:
            raise UnweaveError(
                f"the {self.name} {choice.label} comes from {choice.code} and is missing ({error}): put it back to "
                f"train, score or open the model; histories, scores and pages that exist can be read without it"
            ) from error
        options = self._complete(name, part, dict(choice.options), choice.code.record)
        try:
            return part(**accepted(part, **context), **options)
        except UnweaveError:
            raise
        except Exception as error:  # whatever the code of a stranger raises
            raise UnweaveError(
                f"{self.name} {choice.label} of {choice.code} cannot be built: {type(error).__name__}: {error}"
            ) from error

    def make(self, value: object, **context: Any) -> Part:
        """A part from any of its forms: an instance as it is, everything else chosen and built.

        Example:
            >>> from unweave.priors import PRIORS, StandardNormal
            >>> PRIORS.make(StandardNormal, latents=3)().event_shape
            torch.Size([3])
        """
        value = self.chosen(value)
        return self.build(value, **context) if isinstance(value, Choice) else typing.cast(Part, value)

    def chosen(self, value: object) -> object:
        """An instance as it is, everything else as a :class:`Choice`.

        Example:
            >>> from unweave.priors import PRIORS, StandardNormal
            >>> PRIORS.chosen("standard-normal")
            Choice(name='StandardNormal', options={})
        """
        if isinstance(value, self.base) and not isinstance(value, str | type | Mapping | Choice):
            return value
        return self.choose(value)

    def _name_of(self, part: type) -> str:
        """The name of a known class, otherwise the reference to it."""
        for known, known_part in self.parts.items():
            if known_part is part:
                return known
        return reference_to(part)

    def _checked(self, name: str, part: object) -> type[Part]:
        """The part, if it is a class that fits this slot."""
        if isinstance(part, type) and issubclass(part, self.base) and not inspect.isabstract(part):
            for key in options_of(part):
                if key in _RESERVED:
                    raise UnweaveError(f"{self.name} {name} has an option {key!r}, a word that is reserved")
            return typing.cast(type[Part], part)
        wanted = f"{self.base.__module__}.{self.base.__qualname__}".removeprefix("builtins.")
        if isinstance(part, type) and inspect.isabstract(part):
            missing = ", ".join(sorted(getattr(part, "__abstractmethods__", ())))
            raise UnweaveError(f"{self.name} {name} is not complete: it does not define {missing}")
        came = "a class of another kind" if isinstance(part, type) else f"a {type(part).__name__}"
        raise UnweaveError(f"{self.name} {name} must be a class that inherits from {wanted}, got {came}")

    def _complete(self, name: str, part: type, given: Mapping[str, Any], record: str = "") -> dict[str, Any]:
        """The value of every option, converted to its annotated type; ``record``: the run whose record gives them."""
        declared = options_of(part)
        label = split_reference(name)[1] if is_reference(name) else name
        for key in given:
            if key not in declared:
                raise unknown(f"option of {self.name} {label}", str(key), declared)
        hints = type_hints(part)
        options = {}
        for key, parameter in declared.items():
            if key in given:
                value = convert(f"{self.name}.{key}", given[key], hints.get(key, Any))
                options[key] = Reference.of_config(value, record) if isinstance(value, Reference) else value
            elif parameter.default is inspect.Parameter.empty:
                raise UnweaveError(f"{self.name} {label} needs the option {self.name}.{key}")
            else:
                options[key] = parameter.default
        return options

    def _options_of_instance(self, part: object) -> dict[str, Any]:
        """The options of an instance: its attributes of the same names, else what its constructor was given."""
        options, made_with = {}, vars(part).get(_MADE_WITH, {})
        for key in options_of(type(part)):
            if key in made_with and key not in vars(part):
                options[key] = made_with[key]
            elif hasattr(part, key):
                options[key] = getattr(part, key)
            elif _MADE_WITH not in vars(part):
                raise UnweaveError(
                    f"{self.name} {type(part).__name__} cannot be recorded as an instance: it does not keep its "
                    f"option {key!r} as an attribute; give the class and its options instead"
                )
        return options


_MADE_WITH = "_made_with"


def _remember_options(part: type) -> None:
    """Makes instances of a part remember what their constructor was given, from which a config names them."""
    constructor: Any = part.__init__  # type: ignore[misc]
    if getattr(constructor, "remembers", False):
        return
    signature = inspect.signature(constructor)

    @functools.wraps(constructor)
    def remembering(self: Any, *given: Any, **named: Any) -> None:
        if type(self).__init__ is remembering:  # a class derived from it has options of its own
            with contextlib.suppress(TypeError):  # the constructor itself says what is wrong
                arguments = signature.bind(self, *given, **named).arguments
                vars(self)[_MADE_WITH] = {**arguments, **named}
        constructor(self, *given, **named)

    remembering.remembers = True  # type: ignore[attr-defined]
    part.__init__ = remembering  # type: ignore[misc]


def parameters_of(part: type) -> dict[str, inspect.Parameter]:
    """The named parameters of a part's constructor; one that takes ``**inherited`` has those of its base class too.

    Example:
        >>> class Part:
        ...     def __init__(self, latents: int, *, depth: int = 3) -> None: ...
        >>> class Deeper(Part):
        ...     def __init__(self, latents: int, *, more: int = 1, **inherited: Any) -> None: ...
        >>> list(parameters_of(Deeper))
        ['latents', 'depth', 'more']
    """
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found: dict[str, inspect.Parameter] = {}
    for constructed in (part, *_bases_with_constructor(part)):
        try:
            parameters = inspect.signature(constructed).parameters.values()
        except ValueError:  # a class without a constructor of its own
            break
        found = {**{p.name: p for p in parameters if p.kind in named}, **found}
        if all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters):
            break
    return found


def _bases_with_constructor(part: type) -> list[type]:
    return [owner for owner in part.__mro__ if "__init__" in vars(owner)][1:]


def _check_constructor(slot: str, part: type) -> None:
    """Let the constructor of a part refuse numbers that no computation can hold, and sizes that no memory can.

    A config is converted and checked before a part is built; whoever calls the constructor from Python gets the same
    answer here.
    """
    original: Any = getattr(part, "__init__")  # noqa: B009  mypy distrusts the attribute
    if original is object.__init__ or hasattr(original, "checks_numbers"):
        return

    @functools.wraps(original)
    def checked(self: object, *arguments: Any, **options: Any) -> None:
        for key, value in options.items():
            check_numbers(key if key in CONTEXT else f"{slot}.{key}", value)
        name = f"{slot} {type(self).__name__}"
        try:
            with Budget(name, copies=1):
                original(self, *arguments, **options)
        except MemoryError as error:  # of numpy, whose arrays the budget does not count
            raise UnweaveError(
                f"{name} needs more memory than there is ({error}): choose smaller sizes"
            ) from error

    setattr(checked, "checks_numbers", True)  # noqa: B010
    setattr(part, "__init__", checked)  # noqa: B010


def check_numbers(key: str, value: object) -> None:
    """Raise an error if a number, or one in a list, is not finite or too large for 32-bit floats or 64-bit integers.

    Example:
        >>> check_numbers("objective.beta", float("nan"))
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: objective.beta must be a finite number of at most 3.4e+38, got nan
    """
    if isinstance(value, list | tuple):
        for each in value:
            check_numbers(key, each)
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= LARGEST_WHOLE:
        raise UnweaveError(f"{key} must be a whole number of at most 64 bits, got {_brief(value)}")
    elif isinstance(value, float) and not abs(value) <= LARGEST_NUMBER:
        raise UnweaveError(f"{key} must be a finite number of at most {LARGEST_NUMBER:g}, got {value:g}")


def options_of(part: type) -> dict[str, inspect.Parameter]:
    """The options of a part: the parameters of its constructor that are not context.

    Example:
        >>> class Part:
        ...     def __init__(self, latents: int, *, depth: int = 3) -> None: ...
        >>> list(options_of(Part))
        ['depth']
    """
    return dict(_options_of(part))


@functools.lru_cache(maxsize=1024)
def _options_of(part: type) -> dict[str, inspect.Parameter]:
    """Once for each class: the identity of every run of a study asks for the options of all its parts."""
    return {name: parameter for name, parameter in parameters_of(part).items() if name not in CONTEXT}


def type_hints(part: type) -> dict[str, Any]:
    """The annotated types of a part's options; of those that cannot be resolved, none.

    Example:
        >>> class Part:
        ...     def __init__(self, latents: int, *, depth: int = 3) -> None: ...
        >>> type_hints(Part)["depth"]
        <class 'int'>
    """
    return dict(_type_hints(part))


@functools.lru_cache(maxsize=1024)
def _type_hints(part: type) -> dict[str, Any]:
    """Once for each class, as the options."""
    hints: dict[str, Any] = {}
    for owner in reversed(part.__mro__):
        # An annotation of a stranger may name what is not there.
        with contextlib.suppress(Exception):
            hints |= typing.get_type_hints(vars(owner).get("__init__"))
    return hints


def accepted(part: type, **context: Any) -> dict[str, Any]:
    """Those of the context's values that the constructor of a part asks for.

    Example:
        >>> class Part:
        ...     def __init__(self, latents: int, *, depth: int = 3) -> None: ...
        >>> accepted(Part, latents=10, image_shape=(1, 64, 64))
        {'latents': 10}
    """
    known = parameters_of(part)
    return {name: value for name, value in context.items() if name in known}


LARGEST_WHOLE = 2.0**63
"""Whole numbers must be smaller: arrays, generators and databases hold them in 64 bits."""


def convert(key: str, value: Any, hint: Any) -> Any:
    """``value`` as the annotated type of the option ``key``, or an error that says what was expected.

    Example:
        >>> convert("objective.beta", "4", float), convert("decoder.channels", [64, 64], tuple[int, ...])
        (4.0, (64, 64))
        >>> convert("objective.beta", "four", float)
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: objective.beta must be a number, got 'four'
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if type(None) in arguments and (value is None or str(value).lower() == "none"):
            return None
        for argument in arguments:
            with contextlib.suppress(UnweaveError):
                return convert(key, value, argument)
    elif origin is typing.Literal:
        for known in arguments:
            if known == value or (isinstance(known, str) and plain(known) == plain(str(value))):
                return known
    elif origin in (Sequence, tuple) and isinstance(value, list | tuple):
        if origin is Sequence or arguments[-1] is Ellipsis:
            return tuple(convert(key, v, arguments[0]) for v in value)
        if len(arguments) == len(value):
            return tuple(convert(key, v, a) for v, a in zip(value, arguments, strict=True))
    elif hint is Any:
        return value
    elif hint is Reference:
        if (named := Reference.of_config(value)) is not None:
            return named
    elif hint is bool:
        words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
        if isinstance(value, bool) or str(value).lower() in words:
            return value if isinstance(value, bool) else words[str(value).lower()]
    elif hint in (int, float) and (number := _number(value, hint)) is not None:
        return number
    elif hint is str and isinstance(value, str | int | float):
        return str(value)
    raise UnweaveError(f"{key} must be {describe(hint)}, got {_brief(value)}")


def _number(value: Any, kind: type) -> float | None:
    """A value as a whole number or a number; none if it is no such number, or too large for 64 or 32 bits."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if kind is float and abs(number) <= LARGEST_NUMBER:
        return number
    if kind is int and abs(number) < LARGEST_WHOLE and number == math.floor(number):
        return int(value) if not isinstance(value, str) else int(number)
    return None


def _brief(value: object) -> str:
    """A value as an error quotes it: whole numbers of more than 4,300 digits cannot even be printed."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:150]}... ({len(text):,} characters)"


def describe(hint: Any) -> str:
    """A type in words, for error messages and help texts.

    Example:
        >>> describe(tuple[int, ...]), describe(int | None), describe(typing.Literal["a", "b"])
        ('a list of whole numbers', 'a whole number or none', 'one of a, b')
        >>> describe(tuple[tuple[float, ...], ...])
        'a list of lists of numbers'
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe(a) for a in arguments)
    if origin is typing.Literal:
        return "one of " + ", ".join(str(a) for a in arguments)
    if origin in (tuple, Sequence):
        if origin is Sequence or arguments[-1] is Ellipsis:
            return f"a list of {_plural(describe(arguments[0]))}"
        return f"a list of {len(arguments)} values"
    if origin is Mapping:
        return "names with values"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "none"}
    return {**words, Reference: "package.module:name or file.py:name"}.get(hint, "a value")


def _plural(phrase: str) -> str:
    if phrase.startswith("a list "):
        return "lists " + phrase.removeprefix("a list ")
    return phrase.removeprefix("a ") + "s" if phrase.startswith("a ") else phrase


def _as_plain(value: Any) -> Any:
    if isinstance(value, Reference):
        return value.to_config()
    return [_as_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(v) for v in value) if isinstance(value, list | tuple) else value


def _shown(value: Mapping[str, Any], given: object) -> str:
    return repr(given) if set(value) == {"name"} else repr(dict(value))
