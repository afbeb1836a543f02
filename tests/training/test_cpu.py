"""Machine settings: harmless to repeat, same numbers in every process, Adam as published."""

import platform
import subprocess
import sys

import pytest
import torch
from torch import nn

from unweave.errors import UnweaveError
from unweave.training import cpu

TRAIN = """
import hashlib, sys, torch
from unweave.networks import Conv, Deconv, SpatialBroadcast
from unweave.training import cpu
cpu.prepare(1)
cpu.prepare(1)
torch.manual_seed(0)
shape = (3, 16, 16)
encoder = Conv(shape, 4)
decoders = Deconv(4, shape), SpatialBroadcast(4, shape, width=16)
weights = [w for part in (encoder, *decoders) for w in part.parameters()]
optimizer = cpu.adam(weights, 1e-3)
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


def test_adam_is_the_published_one() -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(4, 3, 2, 2, generator=generator)
    weight = nn.Parameter(start.contiguous(memory_format=torch.channels_last))
    optimizer = cpu.adam([weight], 0.01, (0.5, 0.9))
    assert optimizer.defaults["fused"]
    expected, m, v = start.double(), torch.zeros(4, 3, 2, 2).double(), torch.zeros(4, 3, 2, 2).double()
    for t in range(1, 6):
        gradient = torch.randn(4, 3, 2, 2, generator=generator)
        weight.grad = gradient.contiguous(memory_format=torch.channels_last)
        optimizer.step()
        m = 0.5 * m + 0.5 * gradient
        v = 0.9 * v + 0.1 * gradient**2
        expected -= 0.01 * (m / (1 - 0.5**t)) / ((v / (1 - 0.9**t)).sqrt() + 1e-8)
    torch.testing.assert_close(weight.detach().double(), expected, rtol=1e-5, atol=1e-6)


def test_adam_falls_back_where_there_is_no_fused_form() -> None:
    weight = nn.Parameter(torch.zeros(2, device="meta"))
    assert not cpu.adam([weight], 0.1).defaults["fused"]
