"""Schedules: how training changes from its first step to its last, chosen like every other part."""

from unweave.schedules.code_layers import CodeLayers
from unweave.schedules.core import Schedule, Stage
from unweave.schedules.rates import Constant, Cosine, Linear
from unweave.schedules.unfolding import Unfolding, independent_directions
from unweave.slots import Slot

_SCHEDULES: dict[str, type[Schedule]] = {
    "Constant": Constant,
    "Linear": Linear,
    "Cosine": Cosine,
    "Unfolding": Unfolding,
}
SCHEDULES: Slot[Schedule] = Slot("schedule", "unweave.schedules", Schedule, _SCHEDULES)

__all__ = [
    "SCHEDULES",
    "CodeLayers",
    "Constant",
    "Cosine",
    "Linear",
    "Schedule",
    "Stage",
    "Unfolding",
    "independent_directions",
]
