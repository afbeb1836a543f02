"""Settings of training that are recommended where nothing else is said, by data set."""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unweave.errors import unknown

TRAININGS = ("recommended", "plain")
"""What ``training`` can be: the settings of this module, or those of the papers that :class:`Config` has."""

_TOGETHER = ("optimizer", "learning_rate", "schedule")
"""Values that were measured together: who names one of them chooses all of them."""


def with_training(mapping: Mapping[str, Any], data: str) -> dict[str, Any]:
    """A config's mapping without its key ``training``; what that stands for is filled in where nothing was said.

    Args:
        mapping: as a config file holds it.
        data: name of its data set.

    Example:
        >>> with_training({"data": "dsprites", "training": "recommended"}, "DSprites")["optimizer"]["name"]
        'Muon'
        >>> with_training({"data": "dsprites", "training": "recommended", "learning_rate": 1e-3}, "DSprites")
        {'data': 'dsprites', 'learning_rate': 0.001}
        >>> with_training({"data": "dsprites"}, "DSprites")
        {'data': 'dsprites'}
        >>> with_training({"data": "pinwheel", "training": "recommended"}, "Pinwheel")["decoder"]["name"]
        'MLP'
    """
    asked = str(mapping.get("training", "plain")).lower()
    if asked not in TRAININGS:
        raise unknown("training", asked, TRAININGS)
    own = {key: value for key, value in mapping.items() if key != "training"}
    if asked == "plain":
        return own
    own = _filled(own, _table()["data"].get(data, {}).get("parts", {}))
    if _named(own) or _name(own.get("model", "VAE")).lower() != "vae":
        return own
    return _filled(own, recommended(data, own))


def _filled(own: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """What a config says itself, and values where it says nothing; options of a part join those of its value."""
    filled = {**own}
    for key, value in values.items():
        given = own.get(key)
        if isinstance(value, Mapping) and isinstance(given, Mapping) and not given.get("name"):
            filled[key] = {**value, **given}
        else:
            filled.setdefault(key, value)
    return filled


def recommended(data: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """The recommended values for a data set, given what a config says itself.

    Example:
        >>> recommended("DSprites", {"steps": 100})["schedule"]["name"]  # too short to unfold
        'Linear'
        >>> recommended("BusySprites", {"data": {"ground": "noise"}})["schedule"]["name"]  # measured on black alone
        'Linear'
    """
    table = _table()
    row = table["data"].get(data, table["other"])
    options = own["data"] if isinstance(own.get("data"), Mapping) else {}
    if any(options.get(key, value) != value for key, value in row.get("only", {}).items()):
        row = table["other"]
    way = table["ways"][row["way"]]
    steps = own.get("steps", row["steps"])
    while "otherwise" in way and not (_fits(own) and isinstance(steps, int) and steps >= way["least_steps"]):
        way = table["ways"][way["otherwise"]]
    return {"steps": row["steps"], **{key: way[key] for key in _TOGETHER}}


def _fits(own: Mapping[str, Any]) -> bool:
    """Whether latents can be opened and turned: layers that face the code are known, and the posterior is Gaussian.

    And no weight has a ramp of its own, which the falling weight of the KL would multiply.
    """
    outside = any(
        ":" in _name(own.get(slot, "")) for slot in ("encoder", "decoder", "posterior", "objective")
    )
    paired = _name(own.get("pairing", "none")).lower() not in ("none", "null")
    return not (outside or paired or own.get("posterior") or own.get("ramps"))


def _named(own: Mapping[str, Any]) -> bool:
    """Whether a config names an optimiser, a schedule or a learning rate itself."""
    return "learning_rate" in own or any(bool(_name(own.get(slot, ""))) for slot in ("optimizer", "schedule"))


def _name(part: Any) -> str:
    """The name in what a config says of a part; empty if it gives options alone."""
    return str(part.get("name", "")) if isinstance(part, Mapping) else str(part)


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "recommended.toml").read_text())
