"""Memory is asked for before it is taken: what cannot fit is refused in a sentence instead of ending the process."""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unweave.errors import UnweaveError

COPIES = 4
"""A trained weight is held this often: itself, its gradient and the two moments of Adam."""

_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def available() -> int | None:
    """Bytes of memory that this process may still take, by the machine and its control group; ``None`` if unknown.

    Example:
        >>> available() is None or available() > 0
        True
    """
    found = [free for free in (_of_machine(), *(_of_group(*paths) for paths in _LIMITS)) if free is not None]
    return min(found, default=None)


def check(needed: float, what: str, remedy: str) -> None:
    """Raise an error if something needs more memory than there is.

    Args:
        needed: bytes.
        what: needs them, as the beginning of a sentence.
        remedy: what to do.

    Example:
        >>> check(1e18, "a batch", "choose a smaller data.size")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: a batch needs at least 1e+09 GB of memory, ... choose a smaller data.size
    """
    free = available()
    if free is not None and needed > free:
        raise UnweaveError(
            f"{what} needs at least {_told(needed)} of memory, {_told(free)} are free: {remedy}"
        )


_FACTORIES = (
    "empty",
    "zeros",
    "ones",
    "rand",
    "randn",
    "full",
    "arange",
    "new_empty",
    "new_zeros",
    "new_ones",
)
"""Functions of torch whose first argument is the shape of a new tensor (of ``arange``: its length, if it is alone)."""

MOST_TENSORS = 100_000
"""Tensors of one part at most: more layers than that take longer to build than anybody waits."""


class Budget:
    """Inside, torch allocates no tensors that together need more memory than there is; asked before each of them.

    Args:
        what: is being built.
        copies: how often each tensor will be held.

    Example:
        >>> import torch
        >>> with Budget("the model"):
        ...     _ = torch.nn.Linear(10**9, 10**9)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: the model needs at least 1.6e+10 GB of memory, ...
    """

    def __init__(self, what: str, copies: int = COPIES) -> None:
        overrides: Any = sys.modules.get("torch.overrides")  # without torch there is nothing to count

        def counted(
            mode: object,
            func: Any,
            types: Any,
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            name = getattr(func, "__name__", "")
            if name == "arange" and len(args) > 1 and all(isinstance(each, int) for each in args[:2]):
                self.ask([max(0, args[1] - args[0])], {})
            elif name in _FACTORIES:
                self.ask(args, kwargs or {})
            return func(*args, **(kwargs or {}))

        self.what, self.copies, self.taken, self.tensors = what, copies, 0.0, 0
        self.free = available()
        mode: Any = getattr(overrides, "TorchFunctionMode", None)
        self.mode: Any = mode and type("Counting", (mode,), {"__torch_function__": counted})()

    def __enter__(self) -> "Budget":
        if self.mode is not None:
            self.mode.__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        if self.mode is not None:
            self.mode.__exit__(*problem)

    def ask(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Count the bytes of a tensor that is about to be made, if the arguments are a shape."""
        arguments = [
            each for each in arguments if not hasattr(each, "device")
        ]  # without the tensor of a method
        shape = options.get("size", arguments[0] if arguments else ())
        if isinstance(shape, int):
            shape = arguments if all(isinstance(side, int) for side in arguments) else (shape,)
        self.tensors += 1
        if self.tensors > MOST_TENSORS:
            raise UnweaveError(f"{self.what} has more than {MOST_TENSORS:,} tensors: choose fewer layers")
        if not isinstance(shape, list | tuple) or not all(isinstance(side, int) for side in shape):
            return
        self.taken += 4.0 * math.prod(shape)
        if self.free is not None and self.taken * self.copies > self.free:
            remedy = "choose fewer channels, hidden units, latents or smaller images"
            check(self.taken * self.copies, self.what, remedy)


def _of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return None


def _of_group(limit: Path, used: Path) -> int | None:
    try:
        return max(0, int(limit.read_text()) - int(used.read_text()))
    except (OSError, ValueError):  # no such group, or no limit ("max")
        return None


def _told(size: float) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e8 else f"{size / 1e6:.3g} MB"
