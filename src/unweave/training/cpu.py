"""Settings of the processor and the C library that make training fast.

Measured on one core (70 ms a step for the convolutional networks of FactorVAE's appendix A with batch 64, 230 ms for a
Spatial Broadcast VAE):

* Every step allocates and frees the same few hundred megabytes of feature maps. By default the C library gets large
  blocks from the kernel and returns them when they are freed, so every step faults its pages in again: 7,000 and 19,000
  page faults a step, 13 % of the time and up to a third on other machines. If the library retains freed memory, there
  are almost none.
* Several runs that each use all cores slow each other down tenfold. One thread per run and as many runs as cores use a
  machine best.
* Numbers below 1e-38 (denormal) take the processor up to a hundred times as long; dead latents and decayed moments
  produce them by the million. They become zero.
"""

import contextlib
import ctypes
import platform
from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import nn

from unweave.errors import UnweaveError

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4  # <malloc.h>
_MEBIBYTE = 2**20

M = TypeVar("M", bound=nn.Module)


def prepare(threads: int = 1) -> None:
    """Set the number of CPU threads and let the C library retain freed memory; may be called repeatedly.

    Of these settings, only the number of threads changes the results of a run: sums are taken in another order.

    Args:
        threads: CPU threads of one operation; at least 1.

    Example:
        >>> prepare(threads=1)
        >>> torch.get_num_threads()
        1
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise UnweaveError(f"threads must be a whole number of at least 1, got {threads}")
    torch.set_num_threads(threads)
    # The pool for parallel operations can be sized only before its first use; a run never uses it.
    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)
    keep_freed_memory()


@contextlib.contextmanager
def flushed_denormals() -> Iterator[None]:
    """Inside, numbers below 1e-38 are zero where the processor can do that; afterwards they are as they were.

    The setting is that of a thread, which those that it starts inherit, so it must precede the first parallel
    operation.

    Example:
        >>> with flushed_denormals():
        ...     (torch.tensor([1e-38]) * 0.01).item()
        0.0
        >>> (torch.tensor([1e-38]) * 0.01).item() > 0
        True
    """
    before = (torch.tensor([1e-38]) * 0.01).item() == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def keep_freed_memory() -> bool:
    """Configure glibc not to return freed blocks to the kernel; ``False`` where the C library is not glibc.

    All blocks then come from the heap (none has a mapping of its own, whatever its size). The heap grows by 64 MiB at a
    time and shrinks only when more than 1 GiB at its end is unused.

    Example:
        >>> keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
        True
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = (
        (_MMAP_MAX, 0),
        (_MMAP_THRESHOLD, 32 * _MEBIBYTE),
        (_TRIM_THRESHOLD, 1024 * _MEBIBYTE),
        (_TOP_PAD, 64 * _MEBIBYTE),
    )
    accepted = [mallopt(ctypes.c_int(name), ctypes.c_int(value)) == 1 for name, value in settings]
    return all(accepted)


def channels_last(model: M) -> M:
    """Store the weights of convolutions channel by channel within a pixel, the layout of the images; in place.

    Example:
        >>> channels_last(nn.Conv2d(3, 8, 4)).weight.is_contiguous(memory_format=torch.channels_last)
        True
    """
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]
