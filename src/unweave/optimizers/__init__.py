"""Optimisers: rules by which gradients change weights, chosen like every other part."""

from unweave.optimizers.adam import Adam, AdamW
from unweave.optimizers.core import Optimizer, Trained
from unweave.optimizers.muon import Muon
from unweave.slots import Slot

_OPTIMIZERS: dict[str, type[Optimizer]] = {"Adam": Adam, "AdamW": AdamW, "Muon": Muon}
OPTIMIZERS: Slot[Optimizer] = Slot("optimizer", "unweave.optimizers", Optimizer, _OPTIMIZERS)

__all__ = ["OPTIMIZERS", "Adam", "AdamW", "Muon", "Optimizer", "Trained"]
