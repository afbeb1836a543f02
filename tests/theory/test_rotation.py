"""DEC theorem 2: only the isotropic prior cannot tell a rotated representation from the original."""

import numpy as np
import pytest
import torch

from unweave.theory.rotation import informative_vae, objective, preferred_angles, random_rotation, rotations


@pytest.fixture(scope="module")
def turned() -> dict[str, np.ndarray]:
    return rotations()


def test_the_isotropic_prior_notices_none_of_a_hundred_rotations(turned: dict[str, np.ndarray]) -> None:
    assert turned["StandardNormal"].shape == (100, 16)
    assert np.abs(turned["StandardNormal"]).max() < 1e-4


def test_every_other_prior_notices_each_of_them(turned: dict[str, np.ndarray]) -> None:
    """Some data point's objective changes by more than 0.1 nats, whichever the rotation, and so it does on average."""
    others = {name: np.abs(change) for name, change in turned.items() if name != "StandardNormal"}
    assert {"AnisotropicNormal", "StudentT", "ISA", "GeneralizedNormal", "LpNested"} <= set(others)
    for name, change in others.items():
        assert change.max(1).min() > 0.1, name
        assert change.mean() > 0.1, name


@pytest.mark.parametrize("beta", [0.5, 4.0])
def test_invariance_holds_for_any_beta_and_in_float32(beta: float) -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(8, 1, 8, 8, generator=generator, dtype=torch.float64)
    noise = torch.randn(32, 8, 6, generator=generator, dtype=torch.float64)
    vae = informative_vae(6, "StandardNormal", x, seed=1)
    turn = random_rotation(6, generator)
    plain = objective(vae, x, noise, beta)
    assert (objective(vae, x, noise, beta, turn) - plain).abs().max() < 1e-9
    vae.float()
    single = objective(vae, x.float(), noise.float(), beta, turn.float())
    assert (single - plain).abs().max() < 1e-3  # of about 45 nats


def test_the_check_fails_if_the_decoder_is_not_turned_back() -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(8, 1, 8, 8, generator=generator, dtype=torch.float64)
    noise = torch.randn(32, 8, 6, generator=generator, dtype=torch.float64)
    vae = informative_vae(6, "StandardNormal", x, seed=1)
    turn = random_rotation(6, generator)
    plain = objective(vae, x, noise, 1.0)
    vae.decoder.linear[0].weight.data @= turn  # as if the decoder saw R^T R^T z
    assert (objective(vae, x, noise, 1.0, turn) - plain).abs().max() > 0.1


def test_a_reflection_of_the_axes_is_not_noticed_by_a_symmetric_prior() -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(4, 1, 8, 8, generator=generator, dtype=torch.float64)
    noise = torch.randn(16, 4, 4, generator=generator, dtype=torch.float64)
    signs = torch.diag(torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64))
    vae = informative_vae(4, {"name": "ISA", "subspaces": (2, 2)}, x, seed=1)
    assert (objective(vae, x, noise, 1.0, signs) - objective(vae, x, noise, 1.0)).abs().max() < 1e-9


def test_a_leptokurtic_prior_stands_a_square_on_its_corner_and_a_platykurtic_one_lays_it_flat() -> None:
    angles = np.linspace(0, np.pi / 2, 91)
    assert angles[preferred_angles(1.0, angles).argmax()] == pytest.approx(np.pi / 4, abs=0.03)
    assert preferred_angles(2.4, angles).argmax() in (0, 90)
    assert np.ptp(preferred_angles(2.0, angles)) < 1e-6
