"""Representations whose scores are known."""

from collections.abc import Callable

import numpy as np
import pytest

SIZES = (2, 3, 4)
Make = Callable[[np.ndarray], np.ndarray]


def grid(repeats: int = 40) -> np.ndarray:
    """Every combination of three factors, many times: the factors are independent to the last digit."""
    v = np.stack(np.meshgrid(*[np.arange(s) for s in SIZES], indexing="ij"), -1).reshape(-1, 3)
    return np.tile(v, (repeats, 1))


def standardised(v: np.ndarray) -> np.ndarray:
    return (v - v.mean(0)) / v.std(0)


def turned(v: np.ndarray) -> np.ndarray:
    """The last two factors turned by 45 degrees against the latents."""
    z = standardised(v)
    z[:, 1:] = z[:, 1:] @ np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    return z


def noise(v: np.ndarray, latents: int = 4) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(len(v), latents))


CODES: dict[str, Make] = {
    "identity": standardised,
    "permuted": lambda v: standardised(v)[:, [2, 0, 1]] * [-1.0, 1.0, -1.0],
    "duplicated": lambda v: np.hstack([standardised(v), standardised(v)]),
    "constant": lambda v: np.hstack([standardised(v), np.full((len(v), 1), 0.3)]),
    "dead": lambda v: np.full((len(v), 4), -1.7),
    "rotated": turned,
    "noisy": lambda v: standardised(v) + noise(v, 3),
    "unrelated": noise,
    "folded": lambda v: np.abs(v - v.mean(0)),
}


@pytest.fixture(scope="session")
def factors() -> np.ndarray:
    return grid()


@pytest.fixture(scope="session")
def representations(factors: np.ndarray) -> dict[str, np.ndarray]:
    return {name: make(factors) for name, make in CODES.items()}
