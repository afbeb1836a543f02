"""Maximising leaves alone what belongs to the caller."""

import torch

from unweave.theory.maximise import maximise


def test_gradients_of_the_caller_stay() -> None:
    x = torch.zeros(2, requires_grad=True)
    other = torch.tensor(3.0, requires_grad=True)
    x.grad, other.grad = torch.tensor([7.0, -7.0]), torch.tensor(5.0)
    maximise(lambda: -(x - other).square().sum(), [x], steps=20)
    torch.testing.assert_close(x.detach(), torch.full((2,), 3.0))
    assert torch.equal(x.grad, torch.tensor([7.0, -7.0]))
    assert torch.equal(other.grad, torch.tensor(5.0))
    y = torch.zeros(1, requires_grad=True)
    maximise(lambda: -(y - 1).square().sum(), [y], steps=20)
    assert y.grad is None
