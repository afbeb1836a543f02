"""Where runs are executed: this machine, a Ray cluster or a SLURM cluster, behind one interface."""

from typing import Any

from unweave.errors import UnweaveError, check_choice
from unweave.runs.executors.executor import Event, Executor, Stop, Tell
from unweave.runs.executors.local import Inline, Local
from unweave.runs.executors.ray_cluster import OnRay, read_resources
from unweave.runs.executors.slurm import OnSlurm

__all__ = [
    "EXECUTORS",
    "Event",
    "Executor",
    "Inline",
    "Local",
    "OnRay",
    "OnSlurm",
    "Stop",
    "Tell",
    "make",
    "read_resources",
]

EXECUTORS: dict[str, type] = {"local": Local, "inline": Inline, "ray": OnRay, "slurm": OnSlurm}


def make(name: str, **options: Any) -> Executor:
    """The executor of that name with its options; an option that is ``None`` takes its default.

    Example:
        >>> type(make("local", workers=3, address=None)).__name__
        'Local'
    """
    import inspect

    check_choice("executor", name, EXECUTORS)
    known = inspect.signature(EXECUTORS[name]).parameters
    for key, value in options.items():
        if value is not None and key not in known:
            raise UnweaveError(f"the {name} executor has no option {key}")
    executor: Executor = EXECUTORS[name](
        **{key: value for key, value in options.items() if value is not None and key in known}
    )
    return executor
