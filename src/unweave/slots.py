"""Parts chosen by name: a class, and the options that its own signature declares.

The constructor of a part *is* its schema. A few parameters are context that the program supplies (image shape, latent
size); all others are options that a user may set, with their types and defaults. So a config value, a command-line
word and a Python argument are one and the same thing, written once.
"""

import dataclasses
import inspect
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

from unweave.errors import UnweaveError, plain, unknown

Table = Mapping[str, type]

CONTEXT = {
    *("image_shape", "output_shape", "features", "latents"),
    *("encoder", "posterior", "prior", "decoder", "likelihood", "pairing", "dataset"),
}
"""Parameters that the program supplies; every other parameter of a part is an option."""


class Form(NamedTuple):
    """A row of the papers' inventory that a part realises, with its equation and the words that choose it.

    Example:
        >>> Form("OBJ-1", "E_q[-log p(x|z)] + KL(q(z|x) || p(z))", "FAC section 2", "objective=BetaVAE").row
        'OBJ-1'
    """

    row: str
    equation: str
    reference: str
    words: str


@dataclasses.dataclass(frozen=True)
class Choice:
    """A part by name with the value of every one of its options.

    Example:
        >>> from unweave.objectives import OBJECTIVES
        >>> choose("objective", OBJECTIVES, {"name": "beta-vae", "beta": 4})
        Choice(name='BetaVAE', options={'beta': 4.0})
    """

    name: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def to_config(self) -> dict[str, Any]:
        """The mapping that a config file holds: the name and all options."""
        return {"name": self.name, **{k: _as_plain(v) for k, v in self.options.items()}}


def lookup(kind: str, table: Table, name: str) -> type:
    """The class that ``name`` stands for; case, hyphens and underscores do not count.

    Example:
        >>> lookup("decoder", {"SpatialBroadcast": int}, "spatial-broadcast")
        <class 'int'>
    """
    by_plain = {plain(known): known for known in table}
    if plain(name) not in by_plain:
        raise unknown(kind, name, table)
    return table[by_plain[plain(name)]]


def options_of(part: type) -> dict[str, inspect.Parameter]:
    """The options of a part: the parameters of its constructor that are not context.

    Example:
        >>> class Part:
        ...     def __init__(self, latents: int, *, depth: int = 3) -> None: ...
        >>> list(options_of(Part))
        ['depth']
    """
    return {name: p for name, p in inspect.signature(part).parameters.items() if name not in CONTEXT}


def choose(kind: str, table: Table, value: "str | Mapping[str, Any] | Choice") -> Choice:
    """Check a name and its options against the table; fill in the defaults.

    Args:
        kind: what is chosen (``"objective"``), for the error messages.
        table: name -> class.
        value: a name, a mapping with ``name`` and options, or a :class:`Choice`.

    Example:
        >>> choose("x", {"A": type("A", (), {"__init__": lambda self: None})}, "a")
        Choice(name='A', options={})
    """
    if isinstance(value, Choice):
        value = value.to_config()
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise UnweaveError(
            f"{kind} must be a name or a mapping with a 'name', got {value!r} (there are: {', '.join(sorted(table))})"
        )
    part = lookup(kind, table, value["name"])
    name = next(known for known, known_part in table.items() if known_part is part)
    declared = options_of(part)
    for key in value:
        if key != "name" and key not in declared:
            raise unknown(f"option of {kind} {name}", str(key), declared)
    hints = typing.get_type_hints(part.__init__)  # type: ignore[misc]
    options = {}
    for key, parameter in declared.items():
        if key in value:
            options[key] = convert(f"{kind}.{key}", value[key], hints.get(key, Any))
        elif parameter.default is inspect.Parameter.empty:
            raise UnweaveError(f"{kind} {name} needs the option {kind}.{key}")
        else:
            options[key] = parameter.default
    return Choice(name, options)


def build(kind: str, table: Table, choice: Choice, *context: Any) -> Any:
    """Make the chosen part: the class called with its context and its options.

    Example:
        >>> class Scale:
        ...     def __init__(self, latents: int, *, by: float = 2.0) -> None:
        ...         self.value = latents * by
        >>> build("part", {"Scale": Scale}, Choice("Scale", {"by": 3.0}), 10).value
        30.0
    """
    return lookup(kind, table, choice.name)(*context, **choice.options)


def accepted(part: type, **context: Any) -> dict[str, Any]:
    """Those of the context's values that the constructor of a part asks for.

    Example:
        >>> class Part:
        ...     def __init__(self, latents: int, *, depth: int = 3) -> None: ...
        >>> accepted(Part, latents=10, image_shape=(1, 64, 64))
        {'latents': 10}
    """
    return {name: value for name, value in context.items() if name in inspect.signature(part).parameters}


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
            try:
                return convert(key, value, argument)
            except UnweaveError:
                continue
    elif origin is typing.Literal:
        matches = [
            a for a in arguments if a == value or (isinstance(a, str) and plain(a) == plain(str(value)))
        ]
        if matches:
            return matches[0]
    elif origin is tuple and isinstance(value, list | tuple):
        if arguments[-1] is Ellipsis:
            return tuple(convert(key, v, arguments[0]) for v in value)
        if len(arguments) == len(value):
            return tuple(convert(key, v, a) for v, a in zip(value, arguments, strict=True))
    elif hint is Any:
        return value
    elif hint is bool:
        words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
        if isinstance(value, bool) or str(value).lower() in words:
            return value if isinstance(value, bool) else words[str(value).lower()]
    elif hint in (int, float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if hint is float and math.isfinite(number):
            return number
        if hint is int and number == math.floor(number if math.isfinite(number) else 0.5):
            return int(value) if not isinstance(value, str) else int(number)
    elif hint is str and isinstance(value, str | int | float):
        return str(value)
    raise UnweaveError(f"{key} must be {describe(hint)}, got {value!r}")


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
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return f"a list of {_plural(describe(arguments[0]))}"
        return f"a list of {len(arguments)} values"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "none"}
    return words.get(hint, "a value")


def _plural(phrase: str) -> str:
    if phrase.startswith("a list "):
        return "lists " + phrase.removeprefix("a list ")
    return phrase.removeprefix("a ") + "s" if phrase.startswith("a ") else phrase


def _as_plain(value: Any) -> Any:
    return [_as_plain(v) for v in value] if isinstance(value, list | tuple) else value


# lead replaces this
def is_reference(text: str) -> bool:
    """Whether a text has the form ``package.module:Name`` or ``path/to/file.py:Name``.

    Example:
        >>> is_reference("my_parts:TinyDecoder"), is_reference("TinyDecoder")
        (True, False)
    """
    place, colon, name = text.rpartition(":")
    return bool(colon) and bool(place) and name.isidentifier()


# lead replaces this
def import_object(reference: str) -> object:
    """The object that a reference names.

    Example:
        >>> import_object("math:pi")
        3.141592653589793
    """
    import importlib
    import importlib.util

    place, _, name = reference.rpartition(":")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(f"outside_{abs(hash(place))}", place)
            if spec is None or spec.loader is None:
                raise ImportError(f"no file {place}")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
        found: object = getattr(module, name)
    except Exception as error:
        raise UnweaveError(f"cannot import {reference}: {error}") from error
    return found
