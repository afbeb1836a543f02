"""Hints toward the key or part that was meant, for those who know other programs."""

from collections.abc import Mapping, Sequence
from typing import Any

from unweave.errors import UnweaveError, plain, unknown
from unweave.slots import Choice, Slot, options_of

MEANT = {
    **dict.fromkeys(("lr", "rate", "step_size"), "learning_rate"),
    **dict.fromkeys(("epochs", "epoch", "iterations", "iters", "max_steps", "num_steps"), "steps"),
    **dict.fromkeys(("bs", "batch", "batchsize"), "batch_size"),
    **dict.fromkeys(
        ("z_dim", "zdim", "latent_dim", "latent_size", "n_latents", "num_latents", "dim"), "latents"
    ),
    **dict.fromkeys(("dataset", "images"), "data"),
    **dict.fromkeys(("loss", "method", "algorithm"), "objective"),
    **dict.fromkeys(("random_seed", "random_state"), "seed"),
    "ema": "weight_average",
    **dict.fromkeys(("grad_clip", "gradient_clip", "clip"), "clip_norm"),
}
"""What other programs call a key, and what it is called here."""


def choose(slots: Mapping[str, Slot[object]], slot: str, value: Any) -> Choice:
    """A part for a slot; the name of a part of another slot is told as such.

    Example:
        >>> from unweave.runs.config import SLOTS
        >>> choose(SLOTS, "model", "FactorVAE")
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: FactorVAE is not a model but an objective: write objective=FactorVAE
    """
    name = value.get("name") if isinstance(value, Mapping) else value
    if isinstance(name, str) and name != "none" and plain(name) not in map(plain, slots[slot]):
        for other, parts in slots.items():
            known = next((each for each in parts if plain(each) == plain(name)), None)
            if known is not None:
                raise UnweaveError(f"{known} is not {_a(slot)} but {_a(other)}: write {other}={known}")
    return slots[slot].choose(value)


def unknown_key(
    key: str, slots: Mapping[str, Slot[object]], asked: Mapping[str, Any], keys: Sequence[str]
) -> UnweaveError:
    """An error for a key that no config has, with a hint toward the one that was meant.

    Args:
        key: the unknown one.
        slots: the parts that a config chooses.
        asked: what is chosen for each slot, in any form.
        keys: that exist.

    Example:
        >>> from unweave.runs.config import SLOTS
        >>> print(unknown_key("lr", SLOTS, {}, ("learning_rate",)))
        unknown option 'lr': it is called learning_rate here
        >>> print(unknown_key("beta", SLOTS, {"objective": "BetaVAE"}, ("steps",)))
        unknown option 'beta': it is an option of the objective, write objective.beta=...
    """
    if key.lower() in MEANT:
        is_epoch = key.lower().startswith("epoch")
        more = "; an epoch of N images is N / batch_size steps" if is_epoch else ""
        return UnweaveError(f"unknown option {key!r}: it is called {MEANT[key.lower()]} here{more}")
    chosen: list[str] = []
    possible: list[str] = []
    for slot, parts in slots.items():
        value = asked.get(slot)
        name = value.get("name") if isinstance(value, Mapping) else getattr(value, "name", value)
        for known, part in parts.parts.items():
            if key in options_of(part):
                (chosen if plain(known) == plain(str(name)) else possible).append(slot)
    if owners := chosen + sorted(possible, key=lambda slot: slot != "objective"):
        return UnweaveError(
            f"unknown option {key!r}: it is an option of the {owners[0]}, write {owners[0]}.{key}=..."
        )
    return unknown("option", key, keys)


def _a(slot: str) -> str:
    return f"{'an' if slot[0] in 'aeiou' else 'a'} {slot}"
