"""Options of priors: the documented defaults and the limits of every number."""

import math
from typing import Any

import pytest
import torch
from scipy import stats

from unweave.errors import UnweaveError
from unweave.priors import PRIORS, AnisotropicNormal, GaussianMixture, LpNested
from unweave.priors.exponents import Exponents
from unweave.priors.student import FactoredStudentT
from unweave.runs import Config

DEFAULTS: dict[str, dict[str, Any]] = {
    "StandardNormal": {},
    "AnisotropicNormal": {"scales": "shares", "learned": False, "images": 4096},
    "StudentT": {"nu": 5.0},
    "GaussianMixture": {"components": 4, "variance": 0.03, "means": None, "weights": None},
    "SparseMixture": {"gamma": 0.9, "sigma0": 0.05},
    "GeneralizedNormal": {"p": 1.0, "tau": None, "learned": False, "kappa": None},
    "LpNested": {
        **{"tree": None, "p": 2.1, "s": None, "learned": False, "learned_root": False},
        "radial": "power",
    },
    "ISA": {"subspaces": None, "p0": 2.1, "p": None, "s": None, "learned": False},
}
RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("AnisotropicNormal", {"images": 2}),
    ("StudentT", {"nu": 0.1}),
    ("GaussianMixture", {"components": 1}),
    ("GaussianMixture", {"variance": 1e-4}),
    ("GaussianMixture", {"means": ((0.0, 1.0, 2.0, 3.0),)}),
    ("SparseMixture", {"gamma": 0.0}),
    ("SparseMixture", {"gamma": 1.0}),
    ("GeneralizedNormal", {"tau": 0.01}),
    ("GeneralizedNormal", {"kappa": -0.9}),
    *(("LpNested", {"radial": name}) for name in ("half_normal", "log_normal", "gamma")),
    ("GeneralizedNormal", {"p": (1.0, 2.0, 3.0, 4.0)}),
    ("GeneralizedNormal", {"p": 0.51, "learned": True}),
    ("GeneralizedNormal", {"p": 19.9, "learned": True}),
    ("GeneralizedNormal", {"p": 0.3}),
    ("LpNested", {"s": 0.1}),
    ("LpNested", {"tree": [1, [1, 2]]}),
    ("ISA", {"s": 0.1}),
    ("ISA", {"subspaces": (1, 3)}),
    ("ISA", {"subspaces": (1, 1, 1, 1)}),
    ("ISA", {"p": (2.0, 3.0)}),
]
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("AnisotropicNormal", {"images": 1}, "prior.images must be at least 2"),
    ("StudentT", {"nu": 0.0}, "prior.nu must be greater than 0"),
    ("GaussianMixture", {"components": 0}, "prior.components must be at least 1"),
    ("GaussianMixture", {"variance": 0.0}, "prior.variance must be greater than 0"),
    ("GaussianMixture", {"means": ()}, "prior.means must be lists of 4 numbers"),
    ("GaussianMixture", {"means": ((0.0, 0.0, 0.0, 0.0), (1.0,))}, "prior.means must be lists of 4 numbers"),
    ("GaussianMixture", {"weights": (1.0, 1.0)}, "prior.weights must be 4 positive numbers"),
    ("GaussianMixture", {"weights": (1.0, 1.0, 1.0, 0.0)}, "prior.weights must be 4 positive numbers"),
    ("SparseMixture", {"gamma": 1.01}, "prior.gamma must lie between 0 and 1"),
    ("SparseMixture", {"gamma": -0.01}, "prior.gamma must lie between 0 and 1"),
    ("SparseMixture", {"sigma0": 0.0}, "prior.sigma0 must be greater than 0"),
    ("GeneralizedNormal", {"tau": 0.0}, "prior.tau must be greater than 0"),
    ("GeneralizedNormal", {"p": 0.0}, "prior.p must be greater than 0"),
    ("GeneralizedNormal", {"kappa": -1.0}, "prior.kappa must be greater than -1, got -1"),
    ("GeneralizedNormal", {"p": float("inf")}, "prior.p must be a finite number"),
    ("GeneralizedNormal", {"p": (1.0, 2.0)}, "prior.p must be one number or 4 numbers"),
    ("GeneralizedNormal", {"p": 0.5, "learned": True}, "prior.p must lie between 0.5 and 20"),
    ("GeneralizedNormal", {"p": 20.0, "learned": True}, "prior.p must lie between 0.5 and 20"),
    ("LpNested", {"s": 0.0}, "prior.s must be greater than 0"),
    ("LpNested", {"tree": [1, [1, 1]]}, "prior.tree has 3 leaves, but there are 4 latents"),
    ("LpNested", {"p": (2.0, 2.0)}, "prior.p must be one number or 1 numbers"),
    ("ISA", {"s": 0.0}, "prior.s must be greater than 0"),
    ("ISA", {"p0": 0.0}, "prior.p0 must be greater than 0"),
    ("ISA", {"subspaces": ()}, "prior.subspaces must be whole numbers of at least 1"),
    ("ISA", {"subspaces": (4, 0)}, "prior.subspaces must be whole numbers of at least 1"),
    ("ISA", {"subspaces": (4, 1)}, "have 5 latents in all, but there are 4"),
]


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_of_the_papers(name: str) -> None:
    assert Config.of({"data": "circles", "prior": name}).prior.options == DEFAULTS[name]
    assert set(DEFAULTS) == set(PRIORS)


@pytest.mark.parametrize(("name", "options"), RIGHT)
def test_numbers_within_their_limits(name: str, options: dict[str, Any]) -> None:
    law = PRIORS[name](4, **options)()
    assert torch.isfinite(law.log_prob(torch.full((4,), 0.3)))


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_numbers_beyond_their_limits(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        PRIORS[name](4, **options)


@pytest.mark.parametrize(
    ("count", "latents", "expected"),
    [
        (1, 2, [[0, 0]]),
        (2, 3, [[0, 0, 0], [1, 1, 1]]),
        (4, 2, [[0, 0], [1, 0], [0, 1], [1, 1]]),
        (5, 3, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]),
        (3, 5, [[0, 0, 0, 0, 0], [1, 0, 1, 0, 1], [0, 1, 0, 1, 0]]),
    ],
)
def test_components_lie_on_the_corners_of_the_cube(
    count: int, latents: int, expected: list[list[int]]
) -> None:
    assert GaussianMixture(latents, components=count).means.tolist() == expected


def test_scales_from_principal_components_by_numpy() -> None:
    """D softmax(s_j / sqrt(n)) of the centred images, whose mean is not zero and whose number matters."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(300, 1, 2, 3, generator=generator) * torch.tensor([3.0, 1.0, 0.3]) + 5
    prior = AnisotropicNormal(3, scales="pca", images=300)
    asked: list[int] = []

    def draw(n: int) -> torch.Tensor:
        asked.append(n)
        return images

    prior.initialise(draw)
    flat = images.flatten(1).double()
    values = torch.linalg.svdvals(flat - flat.mean(0))[:3] / 300**0.5
    expected = 3 * torch.softmax(values, 0)
    torch.testing.assert_close(prior().stddev.double(), expected, rtol=1e-4, atol=1e-5)
    assert prior().mean.tolist() == [0.0, 0.0, 0.0]
    assert asked == [300]


@pytest.mark.parametrize("root", [False, True])
def test_which_exponents_are_learned(root: bool) -> None:
    prior = LpNested(4, tree=[[1, 1], [1, 1]], p=(2.1, 1.5, 3.0), learned=True, learned_root=root)
    assert prior.exponents.learned.tolist() == [root, True, True]
    torch.testing.assert_close(prior.exponents(), torch.tensor([2.1, 1.5, 3.0]))
    with torch.no_grad():
        prior.exponents.raw.fill_(-1e9)
    torch.testing.assert_close(prior.exponents(), torch.tensor([0.5 if root else 2.1, 0.5, 0.5]))


def test_a_learned_exponent_is_the_sigmoid_between_its_bounds() -> None:
    exponents = Exponents([1.0, 7.0], [True, True])
    with torch.no_grad():
        exponents.raw.copy_(torch.tensor([0.0, 1.5]))
    share = torch.sigmoid(torch.tensor([0.0, 1.5]))
    torch.testing.assert_close(exponents(), 0.5 * 40.0**share)
    assert set(exponents.state_dict()) == {"raw"}
    assert not list(Exponents([1.0], [False]).parameters())


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_is_stored_with_the_weights(name: str) -> None:
    """Only what was learned or taken from the data: what the options say is not in the weights of any run."""
    own = {"AnisotropicNormal": {"log_variance"}}
    assert set(PRIORS[name](4).state_dict()) == own.get(name, set())
    if "learned" in DEFAULTS[name]:
        learned = {"log_variance"} if name == "AnisotropicNormal" else {"exponents.raw"}
        options = {"tree": [[2], [2]]} if name == "LpNested" else {}
        assert set(PRIORS[name](4, learned=True, **options).state_dict()) == learned


@pytest.mark.parametrize("name", [name for name in DEFAULTS if name != "GaussianMixture"])
def test_priors_have_mean_zero(name: str) -> None:
    assert PRIORS[name](3)().mean.tolist() == [0.0, 0.0, 0.0]


def test_student_laws_of_other_scales_and_places() -> None:
    nu, loc, scale = torch.tensor([1.5, 5.0]), torch.tensor([0.3, -2.0]), torch.tensor([2.0, 0.5])
    law, value = FactoredStudentT(nu, loc, scale), torch.tensor([1.0, -1.5])
    theirs = stats.t(nu.numpy(), loc.numpy(), scale.numpy())
    torch.testing.assert_close(law.log_prob(value), torch.from_numpy(theirs.logpdf(value.numpy())).float())
    torch.testing.assert_close(law.entropy(), torch.from_numpy(theirs.entropy()).float())


@pytest.mark.parametrize(("kappa", "p"), [(0.0, 2.0), (1.0, 1.0), (-0.5, 4.0)])
def test_kappa_is_the_measure_of_kurtosis(kappa: float, p: float) -> None:
    """ISA section 3.1: p = 2 / (1 + kappa); 0 normal, above leptokurtic, below platykurtic."""
    law, same = PRIORS["GeneralizedNormal"](2, kappa=kappa)(), PRIORS["GeneralizedNormal"](2, p=p)()
    z = torch.tensor([[0.3, -2.0], [1.0, 0.1]])
    torch.testing.assert_close(law.log_prob(z), same.log_prob(z))
    torch.manual_seed(0)
    drawn = law.sample((200_000,))[:, 0].double()
    excess = (drawn**4).mean() / (drawn**2).mean() ** 2 - 3
    assert (excess.abs() < 0.05) if kappa == 0 else bool(excess * kappa > 0.2)


@pytest.mark.parametrize("radial", ["half_normal", "log_normal", "gamma"])
def test_other_laws_of_the_radius(radial: str) -> None:
    """ISA Eq. 7 with another psi: the density integrates to 1, and f(z) of samples has the law that was asked for."""
    typed = Config.read(words=["data=circles", "prior=LpNested", f"prior.radial={radial}"])
    assert typed.prior.options["radial"] == radial
    prior = PRIORS["LpNested"](2, p=1.5, s=1.2, radial=radial).double()
    law = prior()
    axis = torch.linspace(-12, 12, 2400, dtype=torch.float64)  # 0 is between two nodes
    z = torch.cartesian_prod(axis, axis)
    assert (law.log_prob(z).exp().sum() * (24 / 2399) ** 2).item() == pytest.approx(1, abs=0.01)
    torch.manual_seed(0)
    radii = law.sample((50_000,)).abs().pow(1.5).sum(-1).pow(1 / 1.5)
    expected = {
        "half_normal": 1.2 * math.sqrt(2 / math.pi),
        "log_normal": 1.2 * math.exp(0.125),
        "gamma": 1.2,
    }
    assert radii.mean().item() == pytest.approx(expected[radial], rel=0.02)
    independent = PRIORS["LpNested"](2, p=1.5).double()()
    points = torch.tensor([[2.0, 2.0], [2.0, 0.3], [0.3, 2.0], [0.3, 0.3]], dtype=torch.float64)

    def interaction(each: torch.Tensor) -> float:
        return float(each[0] - each[1] - each[2] + each[3])

    assert abs(interaction(independent.log_prob(points))) < 1e-9
    assert abs(interaction(law.log_prob(points))) > 0.1
