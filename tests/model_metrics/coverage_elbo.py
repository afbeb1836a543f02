"""How often the intervals of ELBO, NLL and KL cover, for the images of each kept model: 2,000 repetitions.

    python tests/model_metrics/coverage_elbo.py [benchmarks/results/coverage_elbo.json]

Of each model 8,000 images are measured once. Their mean is the truth; a repetition draws n of them with replacement
and asks whether the interval of `unweave.metrics.elbo_scores` holds it.
"""

import sys
from pathlib import Path

import numpy as np
import torch

import unweave
from unweave import atomic
from unweave.metrics import elbo_scores
from unweave.models.places import kept
from unweave.vae import as_tensor

IMAGES, REPETITIONS, SIZES = 8_000, 2_000, (500, 2_000)
SCORES = ("elbo", "nll", "kl")


@torch.no_grad()
def measured(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """NLL (n,), KL (n, latents) and standard deviations (n, latents) of images of a kept model's data."""
    loaded = unweave.load(name)
    model = loaded.model
    torch.manual_seed(61)
    images = loaded.config.make_dataset().sample(IMAGES, np.random.default_rng(61)).images
    parts = []
    for block in np.array_split(images, IMAGES // 100):
        found = model.measure(as_tensor(block))
        parts.append((found.nll, found.kl, found.scales))
    nll, kls, scales = (torch.cat(column).double().numpy() for column in zip(*parts, strict=True))
    return nll, kls, scales


def count(
    nll: np.ndarray, kl: np.ndarray, scales: np.ndarray, n: int, rng: np.random.Generator
) -> dict[str, float]:
    """The share of intervals that hold the mean of all images, by score."""
    truth = {"nll": nll.mean(), "kl": kl.sum(1).mean(), "elbo": -(nll + kl.sum(1)).mean()}
    covered = dict.fromkeys(SCORES, 0)
    for _ in range(REPETITIONS):
        rows = rng.integers(0, len(nll), n)
        found = elbo_scores(nll[rows], kl[rows], scales[rows])
        for name in SCORES:
            score = found[name]
            assert score.low is not None and score.high is not None
            covered[name] += bool(score.low <= truth[name] <= score.high)
    return {name: share / REPETITIONS for name, share in covered.items()}


def main() -> None:
    """Count all of them and print a table."""
    results = {}
    for number, name in enumerate(kept()):
        values = measured(name)
        for n in SIZES:
            results[f"{name}|{n}"] = count(*values, n, np.random.default_rng([61, number, n]))
            print(name, n, results[f"{name}|{n}"], flush=True)
    if len(sys.argv) > 1:
        atomic.write_json(Path(sys.argv[1]), results)


if __name__ == "__main__":
    main()
