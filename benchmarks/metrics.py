"""Metrics against their literal definitions, as ratios measured in one run.

    python benchmarks/metrics.py [--rounds 3] [--dsprites] [--trees] [--out benchmarks/results/metrics.json]

The literal ones, below, are what most projects have: loops over scikit-learn for MIG, votes drawn and computed one by
one, boosted trees of scikit-learn for DCI. Both get the same 10,000 codes x 10 latents x 5 factors of dSprites' sizes.
Variants take turns and the median of the rounds counts, so that what else runs on the machine falls on all alike.

`--trees` times scikit-learn's trees on these sizes in full (seven minutes and more, once); without it they are timed on
the two smallest factors and scaled by the number of classes, which is only an estimate. `--dsprites` adds sampled MIG
with the exact mixture over all 737,280 codes, its time and memory.
"""

import argparse
import json
import os
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mutual_info_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from unweave import metrics
from unweave.metrics import Encoded, interval_limits, score_all

SIZES = (3, 6, 40, 32, 32)
SAMPLES, LATENTS = 10_000, 10
ENCODED_PER_SECOND = 5_000
"""Images a second of the fastest encoder of PERF.md; slower ones would only raise the ratio."""
REQUIRED = {
    "MIG": 15,
    "MIG, no interval": 30,
    "modularity": 15,
    "modularity, no interval": 30,
    "FactorVAE score, votes alone": 15,
    "FactorVAE score, votes alone, no interval": 30,
    "FactorVAE score, with the encoding it saves": 300,
    "beta-VAE score, votes alone": 15,
    "beta-VAE score, votes alone, no interval": 30,
    "DCI": 15,
    "DCI, no interval": 30,
    "SAP": 2,
    "SAP, no interval": 2,
    "IRS": 2,
    "IRS, no interval": 2,
    "explicitness": 2,
    "explicitness, no interval": 2,
    "InfoMEC": 2,
    "InfoMEC, no interval": 2,
    "downstream accuracy": 2,
    "downstream accuracy, no interval": 2,
}


def representation() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    v = np.stack([rng.integers(0, s, SAMPLES) for s in SIZES], 1)
    mix = np.eye(5, LATENTS) + 0.2 * rng.normal(size=(5, LATENTS))
    codes = (v / (np.array(SIZES) - 1) - 0.5) @ mix + 0.05 * rng.normal(size=(SAMPLES, LATENTS))
    return codes, v, np.full(codes.shape, 0.1)


# --- Literal definitions
# -----------------------------------------------------------------------------------------------------


def literal_mig(codes: np.ndarray, factors: np.ndarray) -> float:
    binned = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]
    table = np.array([[mutual_info_score(v, z) for v in factors.T] for z in binned])
    entropies = np.array([mutual_info_score(v, v) for v in factors.T])
    ranked = np.sort(table, axis=0)[::-1]
    return float(np.mean((ranked[0] - ranked[1]) / entropies))


def literal_factor_vae(codes: np.ndarray, factors: np.ndarray, votes: int, samples: int) -> float:
    rng = np.random.default_rng(0)
    spread = codes.std(axis=0)

    def vote() -> tuple[int, int]:
        k = int(rng.integers(factors.shape[1]))
        value = rng.choice(np.unique(factors[:, k]))
        rows = rng.choice(np.flatnonzero(factors[:, k] == value), samples, replace=False)
        return int(np.argmin(np.var(codes[rows] / spread, axis=0))), k

    table = np.zeros((codes.shape[1], factors.shape[1]), int)
    for _ in range(votes):
        d, k = vote()
        table[d, k] += 1
    right = 0
    for _ in range(votes):
        d, k = vote()
        right += int(table[d].argmax()) == k
    return right / votes


def literal_beta_vae(codes: np.ndarray, factors: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    groups = [
        [np.flatnonzero(v == value) for value in range(size)]
        for v, size in zip(factors.T, SIZES, strict=True)
    ]

    def vote() -> tuple[np.ndarray, int]:
        k = int(rng.integers(factors.shape[1]))
        first = rng.integers(0, len(codes), 64)
        second = np.array([rng.choice(groups[k][value]) for value in factors[first, k]])
        return np.mean(np.abs(codes[first] - codes[second]), axis=0), k

    drawn = [vote() for _ in range(15_000)]
    x, y = np.array([f for f, _ in drawn]), np.array([k for _, k in drawn])
    model = LogisticRegression().fit(x[:10_000], y[:10_000])
    return float(model.score(x[10_000:], y[10_000:]))


def literal_dci(codes: np.ndarray, factors: np.ndarray) -> None:
    for v in factors.T:
        GradientBoostingClassifier().fit(codes, v)


def literal_modularity(codes: np.ndarray, factors: np.ndarray) -> float:
    binned = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]
    table = np.array([[mutual_info_score(v, z) for v in factors.T] for z in binned]) ** 2
    best = table.max(axis=1)
    return float(np.mean(1 - (table.sum(axis=1) - best) / best / (factors.shape[1] - 1)))


def literal_sap(codes: np.ndarray, factors: np.ndarray) -> float:
    table, held_out = np.zeros((codes.shape[1], factors.shape[1])), len(codes) // 3
    for j, z in enumerate(codes.T):
        for k, v in enumerate(factors.T):
            machine = LinearSVC(C=0.01, class_weight="balanced").fit(z[held_out:, None], v[held_out:])
            table[j, k] = machine.score(z[:held_out, None], v[:held_out])
    ranked = np.sort(table, axis=0)[::-1]
    return float(np.mean(ranked[0] - ranked[1]))


def literal_irs(codes: np.ndarray, factors: np.ndarray) -> float:
    largest = np.max(np.abs(codes - codes.mean(axis=0)), axis=0)
    table = np.zeros((codes.shape[1], factors.shape[1]))
    for k, column in enumerate(factors.T):
        v = np.digitize(column, np.histogram(column, 20)[1][:-1])
        for value in np.unique(v):
            own = codes[v == value]
            table[:, k] += np.percentile(np.abs(own - own.mean(axis=0)), 99, axis=0) / len(np.unique(v))
    return float(np.average((1 - table / largest[:, None]).max(axis=1), weights=largest))


def literal_explicitness(codes: np.ndarray, factors: np.ndarray) -> float:
    held_out, areas = len(codes) // 3, []
    z = StandardScaler().fit(codes[held_out:]).transform(codes)
    for v in factors.T:
        p = LogisticRegression().fit(z[held_out:], v[held_out:]).predict_proba(z[:held_out])
        areas.append(np.mean([roc_auc_score(v[:held_out] == c, p[:, c]) for c in range(p.shape[1])]))
    return float(np.mean(areas))


def literal_infomec(codes: np.ndarray, factors: np.ndarray) -> float:
    literal_mig(codes, factors)  # the informations
    z, found = StandardScaler().fit_transform(codes), []
    for v in factors.T:
        p = LogisticRegression(C=np.inf, class_weight="balanced").fit(z, v).predict_proba(z)
        found.append(1 - log_loss(v, p) / np.log(p.shape[1]))
    return float(np.mean(found))


def literal_downstream(codes: np.ndarray, factors: np.ndarray) -> float:
    held_out = len(codes) // 3
    z = StandardScaler().fit(codes[held_out:]).transform(codes)
    models = [LogisticRegression().fit(z[held_out:], v[held_out:]) for v in factors.T]
    return float(
        np.mean([m.score(z[:held_out], v[:held_out]) for m, v in zip(models, factors.T, strict=True)])
    )


# --- Timing
# -----------------------------------------------------------------------------------------------------


def seconds(function: Callable[[], Any], times: int = 1) -> float:
    found = []
    for _ in range(times):
        start = time.process_time()  # of this process: what else runs on the machine does not count
        function()
        found.append(time.process_time() - start)
    return statistics.median(found)


def compare(
    literal: Callable[[], Any], ours: Callable[[], Any], rounds: int, repeat: int = 1
) -> dict[str, float]:
    ours()
    pairs = [(seconds(literal), seconds(ours, repeat)) for _ in range(rounds)]
    return {
        "literal": statistics.median(a for a, _ in pairs),
        "ours": statistics.median(b for _, b in pairs),
        "ratio": statistics.median(a / b for a, b in pairs),
    }


def voted(metric: Callable[..., Any], codes: np.ndarray, factors: np.ndarray, interval: bool) -> Any:
    return metric(codes, factors, np.random.default_rng(0), mode="disentanglement_lib", interval=interval)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trees", action="store_true", help="time scikit-learn's trees in full")
    parser.add_argument("--dsprites", action="store_true", help="sampled MIG over 737,280 codes")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    interval_limits.COUNTED = {}  # so that "with intervals" says what they cost, also where they are not printed
    # As after encoding images: a C library that has given back large arrays no longer returns small ones to the system
    # and asks for them again, page by page, which is not the work of either side.
    np.ones(2**21)
    codes, factors, scales = representation()
    seeded = lambda: np.random.default_rng(0)  # noqa: E731
    results: dict[str, dict[str, float]] = {}

    plain: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
        "MIG": (literal_mig, metrics.mig, 5),
        "modularity": (literal_modularity, metrics.modularity, 5),
        "SAP": (literal_sap, metrics.sap, 1),
        "IRS": (literal_irs, metrics.irs, 5),
        "explicitness": (literal_explicitness, metrics.explicitness, 1),
        "InfoMEC": (literal_infomec, metrics.infomec, 1),
        "downstream accuracy": (literal_downstream, metrics.downstream_accuracy, 1),
    }
    warnings.simplefilter("ignore")  # scikit-learn's, of regressions that it stops early
    for name, (literal, ours, repeat) in plain.items():
        for suffix, interval in (("", True), (", no interval", False)):
            results[name + suffix] = compare(
                partial(literal, codes, factors),
                partial(ours, codes, factors, interval=interval),
                options.rounds,
                repeat,
            )
    assert abs(literal_mig(codes, factors) - metrics.mig(codes, factors).value) < 1e-10
    assert abs(literal_irs(codes, factors) - metrics.irs(codes, factors).value) < 1e-10
    # The reference protocols: 64 images for each of 15,000 votes; ours looks at codes that are there.
    voting = {
        "FactorVAE score, votes alone": (
            lambda: literal_factor_vae(codes, factors, 7_500, 64),
            metrics.factor_vae_score,
        ),
        "beta-VAE score, votes alone": (lambda: literal_beta_vae(codes, factors), metrics.beta_vae_score),
    }
    for name, (literal_votes, votes) in voting.items():
        for suffix, interval in (("", True), (", no interval", False)):
            results[name + suffix] = compare(
                literal_votes,
                partial(voted, votes, codes, factors, interval),
                options.rounds,
                3,
            )
    reference = results["FactorVAE score, votes alone"]
    encoding, once = 15_000 * 64 / ENCODED_PER_SECOND, SAMPLES / ENCODED_PER_SECOND
    together = {"literal": reference["literal"] + encoding, "ours": reference["ours"]}
    together["ratio"] = together["literal"] / together["ours"]
    together["ratio if our 10,000 codes are encoded for it alone"] = together["literal"] / (
        together["ours"] + once
    )
    results["FactorVAE score, with the encoding it saves"] = together
    if options.trees:
        literal_seconds = seconds(lambda: literal_dci(codes, factors))
    else:
        literal_seconds = seconds(lambda: literal_dci(codes, factors[:, :2])) * sum(SIZES) / sum(SIZES[:2])
    for suffix, interval in (("", True), (", no interval", False)):
        took = seconds(partial(metrics.dci, codes, factors, interval=interval))
        results["DCI" + suffix] = {"literal": literal_seconds, "ours": took, "ratio": literal_seconds / took}
        results["DCI" + suffix]["literal is in full"] = float(options.trees)

    for name, found in results.items():
        required = REQUIRED[name]
        verdict = "ok" if found["ratio"] >= required else "BELOW"
        numbers = f"{found['literal']:9.3f} s  {found['ours']:8.4f} s  {found['ratio']:8.1f}x"
        print(f"{name:48s} {numbers}  (required {required}x: {verdict})")

    encoded = Encoded.of(codes, factors, scales)
    for threads in (1, 2):
        start, cpu = time.perf_counter(), time.process_time()
        score_all(encoded, threads=threads)
        wall, used = time.perf_counter() - start, time.process_time() - cpu
        results[f"whole table, {threads} threads"] = {"seconds": wall, "processor seconds": used}
        print(f"whole table, {threads} threads: {wall:.1f} s ({used:.1f} s of processor time)")

    if options.dsprites:
        rng = np.random.default_rng(0)
        v = np.stack(np.meshgrid(*[np.arange(s) for s in SIZES], indexing="ij"), -1).reshape(-1, 5)
        means = 3 * (v / (np.array(SIZES) - 1) - 0.5) @ (np.eye(5, 10) + 0.2 * rng.normal(size=(5, 10)))
        spread = np.log([0.05, 0.1, 0.1, 0.05, 0.05, 0.9, 0.95, 0.02, 0.3, 0.9])
        deviations = np.exp(0.4 * rng.normal(size=means.shape) + spread)
        took = seconds(lambda: metrics.sampled_mig(means, deviations, v, seeded()))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        results["sampled MIG, 737,280 codes"] = {"seconds": took, "gigabytes": memory}
        print(
            f"sampled MIG, 737,280 codes x 10 latents, 10,000 samples an entropy: {took:.0f} s, {memory:.2f} GB"
        )
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
