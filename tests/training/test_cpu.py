"""Machine settings: harmless to repeat, same numbers in every process."""

import math
import platform
import subprocess
import sys

import pytest
import torch

from unweave.errors import UnweaveError
from unweave.training import cpu

TRAIN = """
import hashlib, sys, torch
from unweave.networks import Conv, Deconv, SpatialBroadcast
from unweave.optimizers import Adam, Trained
from unweave.training import cpu
cpu.prepare(1)
cpu.prepare(1)
torch.manual_seed(0)
shape = (3, 16, 16)
encoder = Conv(shape, 4)
decoders = Deconv(4, shape), SpatialBroadcast(4, shape, width=16)
weights = [w for part in (encoder, *decoders) for w in part.parameters()]
optimizer = Adam().build(Trained(weights), 1e-3)
for _ in range(5):
    images = torch.rand(8, *shape)
    loss = sum((decoder(encoder(images)) - images).square().sum() for decoder in decoders)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
digest = hashlib.sha256(b"".join(w.detach().contiguous().numpy().tobytes() for w in weights)).hexdigest()
print(digest, torch.get_num_threads(), torch.get_num_interop_threads())
"""


def test_two_processes_train_the_same_weights() -> None:
    runs = [
        subprocess.Popen([sys.executable, "-c", TRAIN], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    first, second = (run.communicate()[0].split() for run in runs)
    assert len(first[0]) == 64
    assert first == second
    assert first[1:] == ["1", "1"]


def test_prepare_sets_threads_and_may_be_repeated() -> None:
    before = torch.get_num_threads()
    try:
        cpu.prepare(2)
        assert torch.get_num_threads() == 2
        cpu.prepare()
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True])
def test_threads_must_be_positive(threads: object) -> None:
    with pytest.raises(UnweaveError, match="threads must be a whole number of at least 1"):
        cpu.prepare(threads)  # type: ignore[arg-type]


def test_freed_memory_is_kept_only_where_glibc_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cpu.keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert cpu.keep_freed_memory() is False


@pytest.mark.parametrize(("decay", "left"), [(0.9, 4), (0.95, 9)])
def test_a_moment_without_gradient_stays_denormal_for_ever_unless_flushed(decay: float, left: int) -> None:
    """k times the smallest number, times the decay, rounds to k again where k (1 - decay) < 1/2: it never is zero."""
    smallest = 2.0**-149
    moment = torch.tensor([1e-37])
    for _ in range(20_000):
        moment.mul_(decay)
    assert moment.item() == left * smallest
    flushed = torch.tensor([1e-37])
    with cpu.flushed_denormals():
        for _ in range(round(87 / -math.log(decay))):
            flushed.mul_(decay)
    assert flushed.item() == 0
