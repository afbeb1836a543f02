"""Configs with flat, dotted keys."""

from collections.abc import Mapping
from typing import Any


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config with dotted keys: a part under the name of its slot, its options after it.

    Args:
        config: values, and parts as mappings with a ``name`` or as objects with ``name`` and ``options``.

    Example:
        >>> flatten({"objective": {"name": "BetaVAE", "beta": 4.0}, "steps": 10})
        {'objective': 'BetaVAE', 'objective.beta': 4.0, 'steps': 10}
    """
    flat: dict[str, Any] = {}
    for key, value in config.items():
        inner = part_mapping(value)
        if inner is None:
            flat[str(key).removesuffix(".name")] = value
        else:
            flat |= flatten({f"{key}.{option}": setting for option, setting in inner.items()})
    return flat


def part_mapping(value: object) -> Mapping[str, Any] | None:
    """The mapping of a part of a config: name and options, without the origin of its code; ``None`` if it is no part.

    Example:
        >>> from unweave.slots import Choice
        >>> part_mapping(Choice("Deconv", {"depth": 4})), part_mapping(10)
        ({'name': 'Deconv', 'depth': 4}, None)
    """
    if isinstance(value, Mapping):
        return {key: inner for key, inner in value.items() if key != "code"}
    name, options = getattr(value, "name", None), getattr(value, "options", None)
    return {"name": name, **options} if isinstance(name, str) and isinstance(options, Mapping) else None
