"""How much both metrics depend on their settings, on one fixed beta-VAE (FAC figures 16 and 17)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.metrics import Sensitivity
from unweave.metrics.adagrad import AdagradSoftmax
from unweave.metrics.beta_vae import mean_differences
from unweave.metrics.interventions import plan_pairs
from unweave.metrics.validation import factor_classes
from unweave.recipes.fac.models import beta_vaes, study_2d
from unweave.recipes.recipe import Job, Scale
from unweave.recipes.shortfall import shortfall
from unweave.runs.evaluation import codes_of

Floats = NDArray[np.float64]

SAMPLES = {"smoke": (20, 50), "small": (25, 50, 100, 200), "paper": (25, 50, 100, 200, 400)}
"""Values of L, the samples of one point."""

ITERATIONS = {"smoke": (20, 60), "small": (1000, 3000, 10_000), "paper": (1000, 3000, 10_000, 30_000)}
"""Numbers of steps of Adagrad."""

_POINTS_AT_ONCE = 5000


def one_beta_vae(scale: Scale) -> dict[str, Any]:
    """One fixed beta-VAE on 2D Shapes."""
    return {**study_2d(scale, beta_vaes([4])), "seeds": 1}


def fixed_codes(job: Job) -> tuple[Floats, Floats, NDArray[Any]]:
    """Codes, their deviations and the factors of that beta-VAE."""
    job.note(shortfall(job))
    codes = codes_of(job.runs(job.variants[0])[0])
    assert codes.factors is not None
    return codes.means.astype(float), codes.scales.astype(float), codes.factors


def adagrad_scores(
    codes: Floats,
    factors: NDArray[Any],
    rng: np.random.Generator,
    *,
    samples: int,
    iterations: Sequence[int],
    batch: int = 10,
    rate: float = 0.01,
    tested: int = 800,
) -> list[float]:
    """The metric of Higgins et al. with its classifier trained by Adagrad, after each number of ``iterations``.

    A softmax classifier of mean absolute differences starts at zero. Each iteration is a step of Adagrad on ``batch``
    fresh points. Its accuracy is measured on ``tested`` others.

    Args:
        codes: (n, latents).
        factors: (n, K).
        rng: source of all draws.
        samples: L, the pairs of one point.
        iterations: ascending.
        batch: points of one step.
        rate: learning rate.
        tested: points of the accuracy.

    Reference: FAC appendix B and figure 16.

    Example:
        >>> v = np.stack(np.meshgrid(range(6), range(6)), -1).reshape(-1, 2)
        >>> adagrad_scores(v * 1.0, v, np.random.default_rng(0), samples=50, iterations=[2000])[0] > 0.9
        True
    """
    classes, sizes = factor_classes(factors)

    def draw(points: int) -> tuple[Floats, NDArray[np.int64]]:
        plan = plan_pairs(classes, sizes, points, samples, rng)
        return mean_differences(codes, plan), plan.asked

    model = AdagradSoftmax.start(codes.shape[1], len(sizes), rate)
    test, answer = draw(tested)
    scores, done = [], 0
    for stop in iterations:
        while done < stop:
            steps = min(_POINTS_AT_ONCE // batch, stop - done)
            model.train(*draw(steps * batch), batch)
            done += steps
        scores.append(float(np.mean(model.predict(test) == answer)))
    return scores


def higgins_by_settings(job: Job, codes: Floats, factors: NDArray[Any]) -> Floats:
    """The metric of Higgins et al., (L, iterations, seeds)."""
    found = []
    for samples in SAMPLES[job.scale]:
        job.tell(f"Adagrad with L = {samples}")
        found.append(
            [
                adagrad_scores(
                    codes,
                    factors,
                    np.random.default_rng(seed),
                    samples=samples,
                    iterations=ITERATIONS[job.scale],
                )
                for seed in range(repeats(job))
            ]
        )
    return np.array(found).transpose(0, 2, 1)


def repeats(job: Job) -> int:
    """How often each metric is computed with each setting."""
    number: int = job.pick(smoke=2, small=10, paper=10)
    return number


def sensitivity_of(name: str, grid: Mapping[str, Sequence[int]], values: Floats) -> Sensitivity:
    """Mean and deviation over the last axis."""
    return Sensitivity(name, dict(grid), values.shape[-1], values.mean(axis=-1), values.std(axis=-1, ddof=1))
