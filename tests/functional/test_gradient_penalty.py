import torch

from unweave.functional.gradient_penalty import gradient_penalty


def test_the_penalty_of_a_linear_critic_is_exact() -> None:
    """D(x) = w . x has the gradient w everywhere: the penalty is (|w| - 1)^2, its gradient 2 (|w| - 1) w / |w|."""
    torch.manual_seed(0)
    w = torch.randn(12, dtype=torch.float64, requires_grad=True)
    real, fake = torch.rand(2, 5, 3, 2, 2, dtype=torch.float64)
    penalty = gradient_penalty(lambda x: x.flatten(1) @ w, real, fake)
    size = w.detach().norm()
    torch.testing.assert_close(penalty, (size - 1) ** 2)
    penalty.backward()
    torch.testing.assert_close(w.grad, 2 * (size - 1) * w.detach() / size)


def test_the_penalty_is_taken_between_real_and_fake() -> None:
    """D(x) = x^2 / 2 has gradient x: the penalty is that of u real + (1 - u) fake for the drawn u."""
    real, fake = torch.full((4, 1), 3.0), torch.full((4, 1), -1.0)
    torch.manual_seed(3)
    found = gradient_penalty(lambda x: 0.5 * x.square().sum(1), real, fake)
    torch.manual_seed(3)
    u = torch.rand(4, 1)
    between = u * 3 + (1 - u) * -1
    torch.testing.assert_close(found, (between.abs() - 1).square().mean())
    assert not real.requires_grad
