"""The MMD of DecompositionVAE by loops: widths 2 latents x scale, the six scales by default, both kernels."""

import math
from typing import Any

import pytest
import torch
from numpy.typing import NDArray

from unweave.objectives import DecompositionVAE, Progress
from unweave.vae import VAE

SHAPE = (1, 8, 8)
TINY = {"encoder": {"name": "MLP", "hidden": [8]}, "decoder": {"name": "MLP", "hidden": [8]}}
DEFAULT = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def kernel(name: str, norm: str, a: NDArray[Any], b: NDArray[Any], width: float) -> float:
    square = float(((a - b) ** 2).sum())
    if name == "gaussian":
        return math.exp(-square / width)
    return width / (width + (square if norm == "squared" else math.sqrt(square)))


def by_hand(name: str, norm: str, scales: tuple[float, ...], x: NDArray[Any], y: NDArray[Any]) -> float:
    n, total = len(x), 0.0
    for width in (2 * x.shape[1] * scale for scale in scales):
        for i in range(n):
            for j in range(n):
                total -= 2 * kernel(name, norm, x[i], y[j], width) / n**2
                if i != j:
                    among = kernel(name, norm, x[i], x[j], width) + kernel(name, norm, y[i], y[j], width)
                    total += among / (n * (n - 1))
    return total


@pytest.mark.parametrize("latents", [2, 5])
@pytest.mark.parametrize("options", [{}, {"scales": (0.5, 3.0)}], ids=["default scales", "two scales"])
@pytest.mark.parametrize(("name", "norm"), [("imq", "squared"), ("imq", "plain"), ("gaussian", "squared")])
def test_the_mmd_term_by_loops(latents: int, options: dict[str, Any], name: Any, norm: Any) -> None:
    torch.manual_seed(0)
    vae = VAE.assemble(SHAPE, latents, **TINY).double()
    with torch.no_grad():
        vae.encoder.linear[-1].weight.mul_(30)  # type: ignore[index, union-attr]  # so that the codes differ
    images = torch.rand(7, *SHAPE, dtype=torch.float64)
    objective = DecompositionVAE(divergence="mmd", kernel=name, norm=norm, **options)
    torch.manual_seed(1)
    ours = objective(vae, images, Progress(0, 1)).terms["mmd"].item()
    torch.manual_seed(1)
    with torch.no_grad():
        _, z, _ = vae(images)
        samples = vae.prior().rsample((7,))
    expected = by_hand(name, norm, options.get("scales", DEFAULT), z.numpy(), samples.double().numpy())
    assert abs(expected) > 1e-3
    assert ours == pytest.approx(expected, rel=1e-6)


def test_default_weights_are_those_of_the_table() -> None:
    objective = DecompositionVAE()
    assert (objective.alpha, objective.beta, objective.scales) == (1.0, 1.0, DEFAULT)
    assert (objective.kernel, objective.norm) == ("imq", "squared")
