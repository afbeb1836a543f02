"""Muon against the polar factor, against Adam where it leaves weights to Adam, and across a saved state."""

import copy
import io
import math

import pytest
import torch
from torch import nn

from unweave.errors import UnweaveError
from unweave.optimizers import Adam, AdamW, Muon, Trained
from unweave.optimizers.muon import OrthogonalMomentum, as_matrix, is_matrix, orthogonalise


def polar(matrix: torch.Tensor) -> torch.Tensor:
    """The nearest matrix with orthonormal rows or columns, by singular values."""
    u, _, v = torch.linalg.svd(matrix.double(), full_matrices=False)
    return u @ v


@pytest.mark.parametrize("shape", [(32, 32), (24, 200), (200, 24), (160, 300), (300, 160)])
def test_orthogonalise_has_the_singular_vectors_and_values_near_one(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(shape)
    [found] = orthogonalise([matrix], iterations=5)
    values = torch.linalg.svdvals(found)
    assert values.min() > 0.6
    assert values.max() < 1.25
    # The same singular vectors: with all values set to one it is the polar factor itself.
    torch.testing.assert_close(polar(found), polar(matrix), atol=2e-3, rtol=0)


def test_equal_shapes_in_one_batch_give_what_each_gives_alone() -> None:
    torch.manual_seed(1)
    matrices = [torch.randn(32, 64), torch.randn(64, 32), torch.randn(32, 64), torch.randn(48, 48)]
    together = orthogonalise(matrices)
    for one, alone in zip(together, (orthogonalise([m])[0] for m in matrices), strict=True):
        torch.testing.assert_close(one, alone, atol=1e-5, rtol=1e-5)


def test_a_step_has_the_stated_size_and_direction() -> None:
    torch.manual_seed(2)
    weight = nn.Parameter(torch.randn(32, 96))
    before, gradient = weight.detach().clone(), torch.randn(32, 96)
    rule = Muon(iterations=5).build(Trained([weight]), learning_rate=0.01)
    weight.grad = gradient.clone()
    rule.step()
    step = (before - weight.detach()) / (0.01 * 0.2 * math.sqrt(96))
    # Nesterov's direction after one step is a multiple of the gradient, so it has the gradient's polar factor.
    torch.testing.assert_close(polar(step), polar(gradient), atol=2e-3, rtol=0)
    assert 0.6 < torch.linalg.svdvals(step).min() <= torch.linalg.svdvals(step).max() < 1.25


def test_momentum_averages_gradients() -> None:
    torch.manual_seed(3)
    weight = nn.Parameter(torch.randn(32, 32))
    gradients = [torch.randn(32, 32) for _ in range(3)]
    rule = Muon(momentum=0.9, iterations=5).build(Trained([weight]), learning_rate=0.01)
    buffer = torch.zeros(32, 32)
    for gradient in gradients:
        before = weight.detach().clone()
        weight.grad = gradient.clone()
        rule.step()
        buffer = 0.9 * buffer + 0.1 * gradient
    direction = 0.1 * gradients[-1] + 0.9 * buffer
    torch.testing.assert_close(polar(before - weight.detach()), polar(direction), atol=5e-3, rtol=0)


def test_kernels_are_taken_in_either_memory_layout_alike() -> None:
    torch.manual_seed(4)
    kernel, gradient = torch.randn(32, 8, 4, 4), torch.randn(32, 8, 4, 4)
    results = []
    for layout in (torch.contiguous_format, torch.channels_last):
        weight = nn.Parameter(kernel.clone().contiguous(memory_format=layout))
        rule = Muon().build(Trained([weight]), learning_rate=0.01)
        weight.grad = gradient.clone().contiguous(memory_format=layout)
        rule.step()
        results.append(weight.detach())
        assert as_matrix(weight).data_ptr() == weight.data_ptr()
    torch.testing.assert_close(*results, atol=1e-6, rtol=1e-5)


def test_biases_thin_weights_and_layers_that_face_the_code_get_adam_at_its_own_rate() -> None:
    torch.manual_seed(5)
    shapes = [(32,), (32, 3, 1, 1), (64, 20)]
    ours = [nn.Parameter(torch.randn(shape)) for shape in shapes]
    theirs = [nn.Parameter(p.detach().clone()) for p in ours]
    rule = Muon(adam_rate=0.3).build(Trained(ours, facing_code=[ours[2]]), learning_rate=0.01)
    adam = Adam().build(Trained(theirs), learning_rate=0.003)
    assert [is_matrix(p) for p in ours] == [False, False, True]
    for _ in range(3):
        for one, two in zip(ours, theirs, strict=True):
            one.grad = torch.randn_like(one)
            two.grad = one.grad.clone()
        rule.step()
        adam.step()
    for one, two in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, two)


def test_muon_takes_over_when_its_time_has_come() -> None:
    weight = nn.Parameter(torch.randn(32, 32))
    part = Muon(begins=0.5)
    rule = part.build(Trained([weight]), learning_rate=0.01)
    for fraction, kept in ((0.0, "exp_avg"), (0.49, "exp_avg"), (0.5, "momentum")):
        part.before_step(rule, fraction)
        weight.grad = torch.ones(32, 32)
        rule.step()
        assert kept in rule.state[weight]
        assert len(rule.state[weight]) == (1 if kept == "momentum" else 3)


def test_a_saved_state_goes_on_to_the_bit() -> None:
    torch.manual_seed(6)
    weights = [nn.Parameter(torch.randn(32, 48)), nn.Parameter(torch.randn(32))]
    gradients = [[torch.randn_like(w) for w in weights] for _ in range(4)]

    def step(rule: torch.optim.Optimizer, parameters: list[nn.Parameter], number: int) -> None:
        for parameter, gradient in zip(parameters, gradients[number], strict=True):
            parameter.grad = gradient.clone()
        rule.step()

    rule = Muon().build(Trained(weights), learning_rate=0.01)
    step(rule, weights, 0)
    step(rule, weights, 1)
    buffer = io.BytesIO()
    torch.save({"weights": [w.detach() for w in weights], "rule": rule.state_dict()}, buffer)
    buffer.seek(0)
    saved = torch.load(buffer, weights_only=True)
    others = [nn.Parameter(w.clone()) for w in saved["weights"]]
    again = Muon().build(Trained(others), learning_rate=0.01)
    again.load_state_dict(copy.deepcopy(saved["rule"]))
    for number in (2, 3):
        step(rule, weights, number)
        step(again, others, number)
    for one, two in zip(weights, others, strict=True):
        assert torch.equal(one, two)


def test_adam_has_every_option_of_torch() -> None:
    weight = nn.Parameter(torch.ones(2))
    made = Adam(betas=(0.5, 0.9), eps=1e-6, amsgrad=True, weight_decay=0.1).build(Trained([weight]), 0.1)
    group = made.param_groups[0]
    assert (group["betas"], group["eps"], group["amsgrad"], group["weight_decay"]) == (
        (0.5, 0.9),
        1e-6,
        True,
        0.1,
    )
    assert Adam().build(Trained([weight], betas=(0.5, 0.999)), 0.1).param_groups[0]["betas"] == (0.5, 0.999)
    assert isinstance(AdamW().build(Trained([weight]), 0.1), torch.optim.AdamW)


@pytest.mark.parametrize(
    "options",
    [
        {"momentum": 1.0},
        {"iterations": 0},
        {"adam_rate": 0.0},
        {"begins": 2.0},
        {"weight_decay": -1.0},
        {"eps": 0.0},
    ],
)
def test_wrong_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UnweaveError, match=f"optimizer.{next(iter(options))} must be"):
        Muon(**options)  # type: ignore[arg-type]


def test_weight_decay_shrinks_matrices_only() -> None:
    weights = [nn.Parameter(torch.ones(32, 32)), nn.Parameter(torch.ones(32))]
    rule = OrthogonalMomentum(weights, 0.1, weight_decay=0.5)
    for weight in weights:
        weight.grad = torch.zeros_like(weight)
    rule.step()
    torch.testing.assert_close(weights[0].detach(), torch.full((32, 32), 0.95))
    torch.testing.assert_close(weights[1].detach(), torch.ones(32))
