"""Constructors of all parts, called from Python with numbers of every size."""

import inspect
import math
import random
import traceback
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaign.fuzz import BATCH, Counted, counted

NUMBERS = (
    math.nan,
    math.inf,
    -math.inf,
    -1.0,
    0.0,
    -0.0,
    1e-320,
    1e-30,
    0.5,
    1.0,
    2.0,
    7.5,
    1e10,
    1e38,
    3.5e38,
    1e308,
)
WHOLE = (-(2**70), -(2**31), -7, -1, 0, 1, 2, 3, 4, 8, 2**20, 2**31, 2**63, 10**400)


def constructors(seed: int, folder: Path, number: int) -> Counted:
    """A batch of constructors: what they were counted as, by slot, and what was wrong."""
    return counted(seed, folder, number, "constructor", _constructor_batch)


def _constructor_batch(chance: random.Random, place: Path) -> Iterator[tuple[str, str, str]]:
    from unweave.runs.config import SLOTS as PARTS
    from unweave.slots import accepted, type_hints

    context: dict[str, Any] = {
        "image_shape": (1, 16, 16),
        "output_shape": (2, 16, 16),
        "features": 16,
        "latents": 3,
    }
    heavy = {
        "dsprites",
        "coloredsprites",
        "busysprites",
        "shapes3d",
        "objects3d",
        "glyphs",
        "folder",
        "arrays",
    }
    slots = [name for name in PARTS if name not in ("model", "critic_optimizer")]
    for _ in range(BATCH):
        slot = chance.choice(slots)
        part = PARTS[slot].parts[
            chance.choice(sorted(n for n in PARTS[slot].parts if n.lower() not in heavy))
        ]
        hints, parameters = type_hints(part), inspect.signature(part).parameters
        if "dataset" in parameters:
            context["dataset"] = PARTS["data"].parts["Circles"](size=32)  # type: ignore[call-arg]
        options = {
            name: _value(hints.get(name), chance)
            for name, parameter in parameters.items()
            if name not in context and parameter.kind is parameter.KEYWORD_ONLY and chance.random() < 0.5
        }
        yield slot, *_construct(part, accepted(part, **context), options)


def _construct(part: type, context: dict[str, Any], options: dict[str, Any]) -> tuple[str, str]:
    from unweave.errors import UnweaveError

    told = f"{part.__name__}({', '.join(f'{k}={v!r:.60}' for k, v in options.items())})"
    try:
        part(**context, **options)
    except UnweaveError:
        return "sentence", ""
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return (
            "traceback",
            f"{told}: {type(error).__name__}: {error!s:.200} at {Path(last.filename).name}:{last.lineno}",
        )
    odd = [
        k for k, v in options.items() if any(isinstance(x, float) and not math.isfinite(x) for x in _flat(v))
    ]
    return ("traceback", f"{told} takes {odd}") if odd else ("ok", "")


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _value(hint: Any, chance: random.Random) -> Any:
    """A value of the annotated kind, whatever its size."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return chance.choice([*inner, "no such choice"])
    if origin is tuple and inner and inner[-1] is not Ellipsis:
        return tuple(_value(each, chance) for each in inner)
    if origin is tuple and inner:
        return tuple(_value(inner[0], chance) for _ in range(chance.choice([0, 1, 2, 3])))
    if inner:
        return _value(chance.choice(inner), chance)
    if hint is bool:
        return chance.random() < 0.5
    if hint is float:
        return chance.choice(NUMBERS)
    if hint is int:
        return chance.choice(WHOLE)
    return (
        None
        if hint in (type(None), None)
        else chance.choice(["", "x", "a\0b"])
        if hint is str
        else chance.choice(NUMBERS)
    )
