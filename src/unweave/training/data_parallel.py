"""One run over several processes: each takes its rows of every batch, and all make the same update.

Started by torch's own launcher, on one machine or several::

    torchrun --nproc-per-node 2 -m unweave train dsprites batch_size=128

Every process draws the whole batch of a step and the whole noise of its posteriors from the seed and the step, and
then uses its own rows. Gradients and losses are averaged. The number of processes is therefore no part of the
experiment: where the loss is a mean over images, two processes follow the curve of one up to rounding. Terms that
couple the images of a batch (a total correlation, a covariance) are computed within each share and then averaged, as is
usual in data-parallel training.
"""

import contextlib
import gc
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import torch
import torch.distributed as processes
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from unweave.errors import UnweaveError
from unweave.objectives import Loss

T = TypeVar("T")


class _Rows(Protocol):
    """An array, a tensor or a list."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> Any: ...


R = TypeVar("R", bound=_Rows)


@dataclass(frozen=True)
class Share:
    """Which part of every batch this process takes: part ``rank`` of ``count``.

    Example:
        >>> Share().rows([0, 1, 2, 3]), Share(rank=1, count=2).rows([0, 1, 2, 3])
        ([0, 1, 2, 3], [2, 3])
    """

    rank: int = 0
    count: int = 1

    def check(self, batch_size: int) -> None:
        """Refuse a batch that cannot be divided into equal parts."""
        if batch_size % self.count:
            raise UnweaveError(
                f"batch_size must be a multiple of the number of processes, "
                f"got {batch_size} for {self.count} processes"
            )

    def rows(self, whole: R) -> R:
        """This process's rows of an array or tensor."""
        each = len(whole) // self.count
        part: R = whole[self.rank * each : (self.rank + 1) * each]
        return part

    def noise(self, rows: int) -> contextlib.AbstractContextManager[Any]:
        """While active, a random tensor of ``rows`` rows consists of this process's rows of the whole batch's noise."""
        return contextlib.nullcontext() if self.count == 1 else _WholeNoise(self, rows)

    def average_loss(self, loss: Loss) -> Loss:
        """The mean of a loss over all processes, for logs; it carries no gradients."""
        if self.count == 1:
            return loss
        given = {"total": loss.total, "reconstruction": loss.reconstruction, **loss.terms}
        named: dict[str, Tensor] = {name: value for name, value in given.items() if value is not None}
        flat = torch.cat([value.detach().reshape(-1).float() for value in named.values()])
        processes.all_reduce(flat)
        parts = torch.split(flat / self.count, [value.numel() for value in named.values()])
        mean: dict[str, Any] = {
            k: part.reshape(v.shape) for (k, v), part in zip(named.items(), parts, strict=True)
        }
        return replace(
            loss, total=mean.pop("total"), reconstruction=mean.pop("reconstruction", None), terms=mean
        )

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace every gradient by its mean over all processes."""
        gradients = [p.grad for p in parameters if p.grad is not None] if self.count > 1 else []
        if not gradients:
            return
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        processes.all_reduce(flat)
        flat /= self.count
        for gradient, part in zip(
            gradients, torch.split(flat, [gradient.numel() for gradient in gradients]), strict=True
        ):
            gradient.copy_(part.reshape(gradient.shape))

    def any(self, *flags: bool) -> tuple[bool, ...]:
        """Each flag, true if it is true in any process."""
        if self.count == 1:
            return flags
        summed = torch.tensor(flags, dtype=torch.float32, device=_device())
        processes.all_reduce(summed)
        return tuple(bool(value > 0) for value in summed.tolist())

    def first(self, find: Callable[[], T]) -> T:
        """What ``find`` returns in the first process, which alone calls it, for all processes."""
        if self.count == 1:
            return find()
        box: list[Any] = [find() if self.rank == 0 else None]
        processes.broadcast_object_list(box, device=_device())
        found: T = box[0]
        return found


ALONE = Share()
"""The only process of a run."""


@contextlib.contextmanager
def launched(device: str = "cpu", environment: Mapping[str, str] = os.environ) -> Iterator[tuple[Share, str]]:
    """This process's share and device from the variables of torch's launcher; the whole batch without a launcher.

    Example:
        >>> with launched(environment={}) as (share, device):
        ...     share, device
        (Share(rank=0, count=1), 'cpu')
    """
    count = int(environment.get("WORLD_SIZE", "1"))
    if count == 1:
        yield ALONE, device
        return
    if device.startswith("cuda"):
        device = f"cuda:{environment.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    processes.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Share(int(environment["RANK"]), count), device
    finally:
        # Reference cycles in torch's wrapper keep the group alive. If it lives until the interpreter ends, its threads
        # sometimes abort the process.
        gc.collect()
        processes.destroy_process_group()


_IN_PLACE = (Tensor.normal_, Tensor.uniform_, Tensor.exponential_, Tensor.bernoulli_)


class _WholeNoise(TorchFunctionMode):
    """Draws noise for the whole batch and returns the rows of one share."""

    def __init__(self, share: Share, rows: int) -> None:
        super().__init__()
        self.share = share
        self.rows = rows

    def __torch_function__(
        self, function: Any, kinds: Any, arguments: Any = (), options: Mapping[str, Any] | None = None
    ) -> Any:
        options = dict(options or {})
        if function in (torch.normal, torch.randn_like, torch.rand_like) and self._is_batch(arguments[0]):
            whole = [self._whole(a) if isinstance(a, Tensor) else a for a in arguments]
            return self.share.rows(function(*whole, **options))
        if function in _IN_PLACE and self._is_batch(arguments[0]):
            drawn = function(self._whole(arguments[0]), *arguments[1:], **options)
            return arguments[0].copy_(self.share.rows(drawn))
        if function in (torch.randn, torch.rand):
            size = arguments[0] if isinstance(arguments[0], tuple | list) else arguments
            if len(size) and size[0] == self.rows:
                return self.share.rows(function((self.rows * self.share.count, *size[1:]), **options))
        return function(*arguments, **options)

    def _is_batch(self, value: object) -> bool:
        return isinstance(value, Tensor) and value.dim() > 0 and len(value) == self.rows

    def _whole(self, part: Tensor) -> Tensor:
        return part.repeat(self.share.count, *(1 for _ in part.shape[1:]))


def _device() -> torch.device:
    return torch.device("cuda" if processes.get_backend() == "nccl" else "cpu")
