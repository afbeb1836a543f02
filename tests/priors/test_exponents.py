"""Learned exponents: gradients, bounds, recovery by maximum likelihood."""

import pytest
import torch
from torch import nn

from unweave.errors import UnweaveError
from unweave.priors import ISA, GeneralizedNormal, LpNested, LpNestedSymmetric, Tree
from unweave.priors.exponents import HIGHEST, LOWEST, Exponents


@pytest.mark.parametrize(
    ("tree", "p"),
    [
        ([3], (0.7,)),
        ([1, [1, 1]], (1.4, 3.0)),
        ([[4], [4], [2]], (2.1, 2.2, 0.5, 18.0)),
        ([1, [2, [3]], [[1], 1]], (1.3, 0.9, 2.5, 4.0, 6.0)),
    ],
)
@pytest.mark.parametrize("radial", [False, True])
def test_gradients_with_respect_to_every_exponent_and_the_scale(tree: list, p: tuple, radial: bool) -> None:
    shape = Tree.parse(tree)
    law = torch.distributions.LogNormal(
        torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    )
    z = torch.randn(6, shape.leaves, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    z[0, 0] = 0.0

    def density(values: torch.Tensor) -> torch.Tensor:
        return LpNestedSymmetric(shape, values[:-1], values[-1], law if radial else None).log_prob(z)

    at = torch.tensor([*p, 1.7], dtype=torch.float64, requires_grad=True)
    analytic = torch.autograd.functional.jacobian(density, at)
    assert torch.isfinite(analytic).all()
    for k in range(len(at)):
        h = torch.zeros_like(at)
        h[k] = 1e-5
        numeric = (density(at + h) - density(at - h)).detach() / 2e-5
        torch.testing.assert_close(analytic[:, k], numeric, rtol=1e-6, atol=1e-6)


def test_gradients_with_respect_to_the_code() -> None:
    law = LpNested(5, tree=[1, [2, [1]], 1], p=(1.4, 3.0, 0.8)).double()()
    z = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(law.log_prob, (z,))


def test_entropy_has_the_gradient_of_the_density() -> None:
    law = ISA(4, p0=1.7, p=3.0, learned=True).double()
    torch.manual_seed(0)
    law().entropy().backward()
    assert torch.isfinite(law.exponents.raw.grad).all() and law.exponents.raw.grad[1:].abs().min() > 0


@pytest.mark.parametrize(
    ("truth", "start"),
    [
        (
            lambda: LpNested(7, tree=[[2], [3], [2]], p=(1.5, 1.0, 2.3, 1.8)),
            lambda: LpNested(7, tree=[[2], [3], [2]], p=2.0, learned=True, learned_root=True),
        ),
        (
            lambda: LpNested(6, tree=[1, [2, [3]]], p=(2.1, 0.9, 1.6)),
            lambda: LpNested(6, tree=[1, [2, [3]]], p=2.0, learned=True, learned_root=True),
        ),
        (
            lambda: ISA(20, p0=2.1, p=(1.9, 1.95, 2.0, 2.2, 2.5)),
            lambda: ISA(20, p0=2.1, learned=True),
        ),
        (lambda: GeneralizedNormal(3, p=(0.8, 1.7, 2.4)), lambda: GeneralizedNormal(3, p=1.5, learned=True)),
    ],
    ids=["depth two", "depth three", "ISA of the paper", "generalised normal"],
)
def test_maximum_likelihood_recovers_the_exponents(truth: object, start: object) -> None:
    torch.manual_seed(0)
    true: nn.Module = truth()
    samples = true().sample((50_000,)).double()
    model: nn.Module = start().double()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=25, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = -model().log_prob(samples).mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    # 50,000 samples fix an exponent near 2 to about 0.02, one of 4 only to 0.05: the truth here is near the papers'.
    found, wanted = model.exponents().detach(), true.exponents().double()
    assert (found - wanted).abs().max() < 0.05, (found, wanted)


def test_no_step_takes_a_learned_exponent_out_of_its_range() -> None:
    for raw in (-1e30, -50.0, 50.0, 1e30):
        prior = ISA(6, learned=True)
        with torch.no_grad():
            prior.exponents.raw.fill_(raw)
        p = prior.exponents()[1:]
        assert ((p >= LOWEST) & (p <= HIGHEST)).all()
        assert torch.isfinite(prior().log_prob(torch.ones(6)))
        assert prior.exponents()[0].item() == pytest.approx(2.1)  # p0 stays


def test_learned_exponents_start_where_they_are_told() -> None:
    torch.testing.assert_close(ISA(20, learned=True).exponents(), torch.tensor([2.1, 2, 2, 2, 2, 2]))
    torch.testing.assert_close(ISA(20).exponents(), torch.tensor([2.1, 2.2, 2.2, 2.2, 2.2, 2.2]))
    torch.testing.assert_close(LpNested(2, p=1.9, learned_root=True).exponents(), torch.tensor([1.9]))


def test_mistakes_are_told() -> None:
    with pytest.raises(UnweaveError, match=r"\[2, 2\] have 4 latents in all, but there are 5: set latents=4"):
        ISA(5, subspaces=(2, 2))
    with pytest.raises(UnweaveError, match="5 leaves, but there are 4 latents"):
        LpNested(4, tree=[[2], [3]])
    with pytest.raises(UnweaveError, match=r"one number or 3 numbers, one for each norm, got 2"):
        LpNested(4, tree=[[2], [2]], p=(1.0, 2.0))
    with pytest.raises(UnweaveError, match=r"nested lists .* got 'a'"):
        LpNested(4, tree=[[2], "a"])
    with pytest.raises(UnweaveError, match=r"nested lists .* got 0"):
        Tree.parse([0])
    with pytest.raises(UnweaveError, match=r"prior.p must be greater than 0, got -1"):
        GeneralizedNormal(2, p=-1.0)
    with pytest.raises(UnweaveError, match=r"between 0.5 and 20 to be learned, got 0.2"):
        Exponents([0.2], [True])
    with pytest.raises(UnweaveError, match=r"prior.p0 must be greater than 0"):
        ISA(4, p0=0.0)
    with pytest.raises(UnweaveError, match=r"prior.subspaces must be whole numbers of at least 1"):
        ISA(4, subspaces=(5, -1))
