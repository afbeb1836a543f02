"""How often the 95 % intervals cover what they should: eight kinds of representation, 400 repetitions of each case.

    python tests/metrics/coverage.py RESULTS.json [--only NAME ...] [--kinds KIND ...] [--repetitions 400]
    python tests/metrics/coverage.py RESULTS.json --table        the table of docs/metrics.md, from the results

It adds to the file of results after each case, and leaves out what the file has: stop and start it as you like.

The truth never comes from the repetitions. It is the mean of the corrected values (or values, where nothing is
corrected) of independent large samples; of IRS and DCI, which have no large-sample limit in general, that of
independent samples of the same number of codes. Fewer intervals than one in twenty repetitions count as none.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unweave import metrics
from unweave.metrics import Score

SIZES = np.array([3, 4, 5])
Codes = tuple[np.ndarray, np.ndarray]
Measure = Callable[[np.ndarray, np.ndarray, np.random.Generator], dict[str, Score]]
MIXED = np.eye(3, 5) + 0.25 * np.random.default_rng(2).normal(size=(3, 5))


def factors(n: int, rng: np.random.Generator, rare: bool = False) -> np.ndarray:
    if not rare:
        return np.stack([rng.integers(0, s, n) for s in SIZES], 1)
    shares = [0.6 * 0.35 ** np.arange(s) for s in SIZES]
    return np.stack([rng.choice(len(p), n, p=p / p.sum()) for p in shares], 1)


def clean(v: np.ndarray) -> np.ndarray:
    return (v - (SIZES - 1) / 2) / SIZES * 3.0


def even(rng: np.random.Generator, shape: tuple[int, ...], spread: float = 0.35) -> np.ndarray:
    """Bounded noise of a standard deviation."""
    return spread * np.sqrt(3) * rng.uniform(-1, 1, shape)


def aligned(n: int, rng: np.random.Generator) -> Codes:
    v = factors(n, rng)
    return clean(v) @ (np.eye(3) + 0.15 * np.roll(np.eye(3), 1, axis=1)) + even(rng, (n, 3)), v


def entangled(n: int, rng: np.random.Generator) -> Codes:
    v = factors(n, rng)
    return clean(v) @ MIXED + even(rng, (n, 5)), v


def noise_latent(n: int, rng: np.random.Generator) -> Codes:
    z, v = aligned(n, rng)
    return np.hstack([z, even(rng, (n, 1), 0.6)]), v


def heavy_tails(n: int, rng: np.random.Generator) -> Codes:
    v = factors(n, rng)
    return clean(v) @ MIXED + 0.25 * rng.standard_t(3, (n, 5)), v


def rare_classes(n: int, rng: np.random.Generator) -> Codes:
    v = factors(n, rng, rare=True)
    return clean(v) @ MIXED + even(rng, (n, 5)), v


def heavy_and_rare(n: int, rng: np.random.Generator) -> Codes:
    v = factors(n, rng, rare=True)
    return clean(v) @ MIXED + 0.25 * rng.standard_t(3, (n, 5)), v


def gaussian(n: int, rng: np.random.Generator) -> Codes:
    """Normal noise, as the means of a VAE have it: light tails without an end."""
    v = factors(n, rng)
    return clean(v) @ MIXED + 0.35 * rng.normal(size=(n, 5)), v


def folded(n: int, rng: np.random.Generator) -> Codes:
    """Two latents share a factor, one of them folded, one latent is dead, and a factor is in no latent."""
    v = factors(n, rng)
    z = clean(v)
    return np.stack([z[:, 0], np.abs(z[:, 1]), z[:, 1], 0 * z[:, 0]], 1) + even(rng, (n, 4)) * [1, 1, 1, 0], v


KINDS: dict[str, Callable[[int, np.random.Generator], Codes]] = {
    "aligned": aligned,
    "entangled": entangled,
    "noise latent": noise_latent,
    "heavy tails": heavy_tails,
    "rare classes": rare_classes,
    "heavy tails, rare classes": heavy_and_rare,
    "normal noise": gaussian,
    "folded, dead, missing": folded,
}


@dataclass(frozen=True)
class Case:
    """Scores of ``n`` codes; the truth is the mean over ``draws`` samples of ``large`` codes, by ``truth`` if given."""

    measure: Measure
    n: tuple[int, ...]
    large: int = 300_000
    draws: int = 4
    truth: Measure | None = None


def one(score: Score) -> dict[str, Score]:
    return {score.name: score}


CASES = {
    "mig": Case(lambda z, v, r: one(metrics.mig(z, v)), (500, 1_500, 20_000)),
    "modularity": Case(lambda z, v, r: one(metrics.modularity(z, v)), (500, 1_500, 20_000)),
    "infomec": Case(lambda z, v, r: metrics.infomec(z, v), (500, 1_500, 5_000), 50_000, 3),
    "explicitness": Case(lambda z, v, r: one(metrics.explicitness(z, v, r)), (500, 1_500, 5_000), 50_000, 3),
    "downstream_accuracy": Case(
        lambda z, v, r: one(metrics.downstream_accuracy(z, v, r)), (500, 1_500, 5_000), 50_000, 3
    ),
    "sap": Case(lambda z, v, r: one(metrics.sap(z, v, r)), (1_500, 5_000), 300_000),
    "factor_vae_score": Case(
        lambda z, v, r: one(metrics.factor_vae_score(z, v, r)),
        (500, 1_500, 20_000),
        truth=lambda z, v, r: one(metrics.factor_vae_score(z, v, r, votes=10_000, evaluation_votes=40_000)),
    ),
    "beta_vae_score": Case(
        lambda z, v, r: one(metrics.beta_vae_score(z, v, r, samples=50)),
        (500, 1_500, 20_000),
        truth=lambda z, v, r: one(
            metrics.beta_vae_score(z, v, r, samples=50, votes=10_000, evaluation_votes=40_000)
        ),
    ),
    "irs": Case(
        lambda z, v, r: one(metrics.irs(z, v)),
        (1_500, 20_000),
        0,
        400,
        lambda z, v, r: one(metrics.irs(z, v, interval=False)),
    ),
    "hoyer": Case(lambda z, v, r: one(metrics.hoyer(z)), (500, 20_000)),
    "gaussian_total_correlation": Case(
        lambda z, v, r: one(metrics.gaussian_total_correlation(z)), (1_500, 20_000)
    ),
    "dci": Case(
        lambda z, v, r: metrics.dci(z, v, r),
        (1_500,),
        0,
        200,
        lambda z, v, r: metrics.dci(z, v, r, interval=False),
    ),
}
SEED = 17
LARGE_DRAWS: int | None = None
"""Fewer large samples than a case says, for a quick look."""


def truths(name: str, kind: str, n: int) -> dict[str, float]:
    """What the intervals of a case have to cover."""
    case, values = CASES[name], {}
    for k in range(LARGE_DRAWS or case.draws):
        rng = np.random.default_rng([5, k])
        for key, score in (case.truth or case.measure)(*KINDS[kind](case.large or n, rng), rng).items():
            found = score.value if score.corrected is None else score.corrected[0]
            values.setdefault(key, []).append(found)
    return {key: float(np.mean(found)) for key, found in values.items()}


def count(name: str, kind: str, n: int, repetitions: int) -> dict[str, dict[str, float | str]]:
    """For each score the truth, the share of repetitions with an interval, and of these the share that cover."""
    truth = truths(name, kind, n)
    printed: dict[str, list[bool]] = {key: [] for key in truth}
    beside = dict.fromkeys(truth, 0)
    why = dict.fromkeys(truth, "")
    for repetition in range(repetitions):
        rng = np.random.default_rng([SEED, repetition])
        for key, score in CASES[name].measure(*KINDS[kind](n, rng), rng).items():
            low, high = score.corrected[1:] if score.corrected else (score.low, score.high)
            if low is None or high is None:
                why[key] = score.no_interval
                continue
            printed[key].append(low <= truth[key] <= high)
            if score.low is not None and not score.low <= score.value <= high:
                beside[key] += 1
    return {
        key: {
            "truth": truth[key],
            "printed": len(found) / repetitions,
            "covered": float(np.mean(found)) if found else float("nan"),
            "beside": beside[key],
            "why": why[key],
        }
        for key, found in printed.items()
    }


def table(results: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """Lines of markdown: a score and a number of codes a line, a kind a column."""
    lines = [f"| score | codes | {' | '.join(KINDS)} |", f"|---|---|{'---|' * len(KINDS)}"]
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for key, found in results.items():
        _, kind, n = key.split("|")
        for score, each in found.items():
            text = "none" if each["printed"] < 0.05 else f"{100 * each['covered']:.1f}"
            if 0.05 <= each["printed"] < 0.995:
                text += f" ({100 * each['printed']:.0f} %)"
            cells.setdefault((score, int(n)), {})[kind] = text
    for (score, n), row in cells.items():
        lines.append(f"| {metrics.label_of(score)} | {n:,} | {' | '.join(row.get(k, '-') for k in KINDS)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*", default=list(CASES))
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--sizes", nargs="*", type=int)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    if options.table:
        print("\n".join(table(results)))
        return
    for name in options.only:
        for n in CASES[name].n:
            for kind in options.kinds:
                key = f"{name}|{kind}|{n}"
                if key in results or (options.sizes and n not in options.sizes):
                    continue
                start = time.perf_counter()
                results[key] = count(name, kind, n, options.repetitions)
                options.results.write_text(json.dumps(results, indent=1) + "\n")
                print(f"{key} {time.perf_counter() - start:.0f} s", results[key], flush=True)


if __name__ == "__main__":
    main()
