"""Adam as published, AdamW by its formula, and the options that both have."""

import pytest
import torch
from torch import nn

from unweave.optimizers import OPTIMIZERS, Adam, AdamW, Trained
from unweave.slots import options_of


@pytest.mark.parametrize(
    ("rule", "added", "shrunk"),
    [(Adam(), 0.0, 0.0), (Adam(weight_decay=0.3), 0.3, 0.0), (AdamW(), 0.0, 0.01)],
)
def test_five_steps_are_those_of_the_published_rule(rule: Adam | AdamW, added: float, shrunk: float) -> None:
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(4, 3, 2, 2, generator=generator)
    weight = nn.Parameter(start.contiguous(memory_format=torch.channels_last))
    optimizer = rule.build(Trained([weight], betas=(0.5, 0.9)), 0.01)
    assert optimizer.defaults["fused"]
    expected, m, v = start.double(), torch.zeros(4, 3, 2, 2).double(), torch.zeros(4, 3, 2, 2).double()
    for t in range(1, 6):
        gradient = torch.randn(4, 3, 2, 2, generator=generator)
        weight.grad = gradient.contiguous(memory_format=torch.channels_last)
        optimizer.step()
        g = gradient + added * expected
        m = 0.5 * m + 0.5 * g
        v = 0.9 * v + 0.1 * g**2
        expected = (1 - 0.01 * shrunk) * expected - 0.01 * (m / (1 - 0.5**t)) / (
            (v / (1 - 0.9**t)).sqrt() + 1e-8
        )
    torch.testing.assert_close(weight.detach().double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rule", [Adam(), AdamW()])
def test_there_is_a_plain_form_where_there_is_no_fused_one(rule: Adam | AdamW) -> None:
    weight = nn.Parameter(torch.zeros(2, device="meta"))
    assert not rule.build(Trained([weight]), 0.1).defaults["fused"]


def test_adamw_inherits_the_options_of_adam_and_has_its_own_decay() -> None:
    shared = {"betas": None, "eps": 1e-8, "amsgrad": False}
    assert {k: p.default for k, p in options_of(Adam).items()} == {**shared, "weight_decay": 0.0}
    assert {k: p.default for k, p in options_of(AdamW).items()} == {**shared, "weight_decay": 0.01}
    chosen = OPTIMIZERS.make({"name": "AdamW", "betas": [0.5, 0.9], "eps": "1e-6"})
    assert isinstance(chosen, AdamW)
    assert (chosen.betas, chosen.eps, chosen.weight_decay) == ((0.5, 0.9), 1e-6, 0.01)
