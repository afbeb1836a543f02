"""How often the 95 % intervals cover what they should: nine kinds of representation, 400 repetitions of each case.

    python tests/metrics/coverage.py RESULTS.json [--only NAME ...] [--kinds KIND ...] [--sizes N ...] [--seed S]
    python tests/metrics/coverage.py RESULTS.json --table        the table of docs/metrics.md, from the results

It adds to the file of results after each case, cheap ones first, and leaves out what the file has: stop and start it as
you like. Cells with fewer repetitions than are asked for are gone on with.

The truth never comes from the repetitions. An interval of the value of infinitely many codes must cover the mean of the
corrected values (or values, where nothing is corrected) of independent large samples; one that says that it covers the
mean over samples of its number of codes must cover the mean of independent samples of as many. Fewer intervals than
one in twenty repetitions count as none.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from unweave import metrics
from unweave.metrics import Score, interval_limits
from unweave.metrics.score import AT_THIS_NUMBER

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


def faint(n: int, rng: np.random.Generator) -> Codes:
    """Codes that hardly know the factors: votes err with hundreds of codes in each."""
    v = factors(n, rng)
    return 0.2 * clean(v) @ MIXED + even(rng, (n, 5)), v


KINDS: dict[str, Callable[[int, np.random.Generator], Codes]] = {
    "aligned": aligned,
    "entangled": entangled,
    "noise latent": noise_latent,
    "heavy tails": heavy_tails,
    "rare classes": rare_classes,
    "heavy tails, rare classes": heavy_and_rare,
    "normal noise": gaussian,
    "folded, dead, missing": folded,
    "faint": faint,
}


@dataclass(frozen=True)
class Case:
    """Scores of ``n`` codes.

    The value of infinitely many is the mean over ``draws`` samples of ``large`` codes, by ``truth`` if that is given;
    that of as many codes is the mean of ``plain`` over ``AT_N`` samples. ``fixed``: the codes are the whole data set,
    the same in all repetitions, and only draws from q(z) are random.
    """

    measure: Measure
    n: tuple[int, ...]
    large: int = 300_000
    draws: int = 4
    truth: Measure | None = None
    plain: Measure | None = None
    fixed: bool = False


def one(score: Score) -> dict[str, Score]:
    return {score.name: score}


def named(name: str, score: Score) -> dict[str, Score]:
    """A score with options, by another name."""
    return {name: score}


PAIRED = {3: (2, 1), 4: (2, 2), 5: (2, 2, 1)}
"""Subspaces of so many latents."""


@contextmanager
def without_limits() -> Iterator[None]:
    """Intervals also where they were not counted, or covered too rarely or too often."""
    kept, interval_limits.COUNTED = interval_limits.COUNTED, {}
    try:
        yield
    finally:
        interval_limits.COUNTED = kept


def spread(z: np.ndarray) -> np.ndarray:
    """Posterior scales."""
    return np.full(z.shape, 0.3)


def focused(z: np.ndarray, v: np.ndarray) -> dict[str, Score]:
    """InfoM and InfoC by their definition; what else belongs to InfoMEC takes long and has a limit."""
    spans = np.ptp(z, axis=0)
    known = metrics.mutual_information(z[:, spans > spans.max() / 8], v)
    known /= [-sum(p * np.log(p) for p in np.bincount(column) / len(v) if p > 0) for column in v.T]
    found = {}
    for name, shares in (("infomec_modularity", known.T), ("infomec_compactness", known)):
        rows = len(shares)
        value = np.mean((shares.max(axis=0) / shares.sum(axis=0) - 1 / rows) / (1 - 1 / rows))
        found[name] = Score(name, float(value))
    return found


CASES = {
    "mig": Case(
        lambda z, v, r: one(metrics.mig(z, v)),
        (500, 1_500, 20_000),
        plain=lambda z, v, r: one(metrics.mig(z, v, interval=False)),
    ),
    "modularity": Case(
        lambda z, v, r: one(metrics.modularity(z, v)),
        (500, 1_500, 20_000),
        plain=lambda z, v, r: one(metrics.modularity(z, v, interval=False)),
    ),
    "hoyer": Case(lambda z, v, r: one(metrics.hoyer(z)), (500, 1_500, 20_000), draws=24),
    "gaussian_total_correlation": Case(
        lambda z, v, r: one(metrics.gaussian_total_correlation(z)), (500, 1_500, 20_000)
    ),
    "irs": Case(
        lambda z, v, r: one(metrics.irs(z, v)),
        (500, 1_500, 20_000),
        plain=lambda z, v, r: one(metrics.irs(z, v, interval=False)),
    ),
    "factor_vae_score": Case(
        lambda z, v, r: one(metrics.factor_vae_score(z, v, r)),
        (500, 1_500, 20_000),
        truth=lambda z, v, r: one(metrics.factor_vae_score(z, v, r, votes=10_000, evaluation_votes=40_000)),
    ),
    "factor_vae_score samples=5": Case(
        lambda z, v, r: named("factor_vae_score samples=5", metrics.factor_vae_score(z, v, r, samples=5)),
        (500, 1_500, 20_000),
        truth=lambda z, v, r: named(
            "factor_vae_score samples=5",
            metrics.factor_vae_score(z, v, r, samples=5, votes=10_000, evaluation_votes=40_000),
        ),
    ),
    "infomec": Case(
        lambda z, v, r: metrics.infomec(z, v),
        (500, 1_500, 5_000, 20_000),
        50_000,
        12,
        plain=lambda z, v, r: focused(z, v),
    ),
    "explicitness": Case(
        lambda z, v, r: one(metrics.explicitness(z, v, r)), (500, 1_500, 20_000), 50_000, 12
    ),
    "downstream_accuracy": Case(
        lambda z, v, r: one(metrics.downstream_accuracy(z, v, r)), (500, 1_500, 20_000), 50_000, 12
    ),
    "sap": Case(
        lambda z, v, r: one(metrics.sap(z, v, r)),
        (500, 1_500, 5_000, 20_000),
        plain=lambda z, v, r: one(metrics.sap(z, v, r, interval=False)),
    ),
    "decomposition": Case(
        lambda z, v, r: metrics.decomposition(z, spread(z), r, samples=400),
        (500, 1_500),
        0,
        1,
        lambda z, v, r: metrics.decomposition(z, spread(z), r, samples=100_000),
        fixed=True,
    ),
    "sampled_mig": Case(
        lambda z, v, r: one(metrics.sampled_mig(z, spread(z), v, r)),
        (500,),
        0,
        1,
        lambda z, v, r: one(metrics.sampled_mig(z, spread(z), v, r, samples=1_000_000)),
        fixed=True,
    ),
    "beta_vae_score samples=5": Case(
        lambda z, v, r: named("beta_vae_score samples=5", metrics.beta_vae_score(z, v, r, samples=5)),
        (500, 1_500, 20_000),
        truth=lambda z, v, r: named(
            "beta_vae_score samples=5",
            metrics.beta_vae_score(z, v, r, samples=5, votes=10_000, evaluation_votes=40_000),
        ),
    ),
    "beta_vae_score": Case(
        lambda z, v, r: one(metrics.beta_vae_score(z, v, r)),
        (500, 1_500, 20_000),
        draws=2,
        truth=lambda z, v, r: one(metrics.beta_vae_score(z, v, r, votes=10_000, evaluation_votes=40_000)),
    ),
    "sap mode=ubisoft": Case(
        lambda z, v, r: named("sap mode=ubisoft", metrics.sap(z, v, r, mode="ubisoft")), (500, 1_500, 20_000)
    ),
    "subspace_mig": Case(
        lambda z, v, r: one(metrics.subspace_mig(z, spread(z), v, r, subspaces=PAIRED[z.shape[1]])),
        (500,),
        0,
        1,
        lambda z, v, r: one(
            metrics.subspace_mig(z, spread(z), v, r, subspaces=PAIRED[z.shape[1]], samples=100_000)
        ),
        fixed=True,
    ),
}
SEED = 31
"""Of the repetitions. Constants of the intervals were chosen while 29 was looked at: that one judges nothing."""
AT_N = 400
"""Samples for the mean over samples of a number of codes."""
NEVER = 100
"""Repetitions after which a case none of whose scores had an interval is taken to have none."""
LARGE_DRAWS: int | None = None
"""Fewer large samples than a case says, for a quick look."""


_LIMITS: dict[tuple[str, str, int], dict[str, float]] = {}
"""Values of infinitely many codes, which several numbers of codes share."""


@dataclass(frozen=True)
class Truth:
    """What the intervals of a case have to cover, computed when it is asked for."""

    name: str
    kind: str
    n: int

    @cached_property
    def limit(self) -> dict[str, float]:
        """Of infinitely many codes."""
        large = CASES[self.name].large or self.n
        if (self.name, self.kind, large) not in _LIMITS:
            case = CASES[self.name]
            found = self._means(case.truth or case.measure, large, LARGE_DRAWS or case.draws, corrected=True)
            means = {key: float(np.mean(values)) for key, values in found.items()}
            _LIMITS[self.name, self.kind, large] = means
        return _LIMITS[self.name, self.kind, large]

    @cached_property
    def at_n(self) -> dict[str, float]:
        """Of samples of n codes."""
        plain = CASES[self.name].plain
        assert plain is not None, f"{self.name} must say how its plain value is computed"
        return {key: float(np.mean(values)) for key, values in self._means(plain, self.n, AT_N).items()}

    def of(self, score: Score, key: str) -> float:
        """What the interval of a score is to cover."""
        return self.at_n[key] if score.covers == AT_THIS_NUMBER else self.limit[key]

    def _means(self, measure: Measure, n: int, draws: int, corrected: bool = False) -> dict[str, list[float]]:
        """Of some samples; ``corrected``: of those with a corrected value alone, if there are any."""
        values: dict[str, list[float]] = {}
        best: dict[str, list[float]] = {}
        for k in range(draws):
            rng = np.random.default_rng([5, k])
            z, v = KINDS[self.kind](n, rng)
            for key, score in measure(z, v, rng).items():
                found = score.value if score.corrected is None else score.corrected[0]
                values.setdefault(key, []).append(found)
                if score.corrected is not None:
                    best.setdefault(key, []).append(found)
        return {**values, **best} if corrected else values


@dataclass
class Tally:
    """What was found of one score: in how many repetitions it had an interval, covered, and so on."""

    printed: int = 0
    covered: int = 0
    at_n: int = 0
    beside: int = 0
    why: str = ""
    truth: float = float("nan")

    @classmethod
    def of(cls, cell: dict[str, float | str]) -> "Tally":
        """That of a stored cell."""
        printed = round(float(cell["printed"]) * int(cell["repetitions"]))
        covered, at_n = (
            round(float(cell[key]) * printed) if printed else 0 for key in ("covered", "of this number")
        )
        return cls(printed, covered, at_n, int(cell["beside"]), str(cell["why"]), float(cell["truth"]))

    def add(self, score: Score, truth: Callable[[], float]) -> None:
        low, high = score.corrected[1:] if score.corrected else (score.low, score.high)
        if low is None or high is None:
            self.why = score.no_interval
            return
        self.truth = truth()
        self.printed += 1
        self.covered += low <= self.truth <= high
        self.at_n += score.covers == AT_THIS_NUMBER
        self.beside += score.low is not None and not score.low <= score.value <= high

    def cell(self, repetitions: int, seed: int) -> dict[str, float | str]:
        none = float("nan")
        return {
            "printed": self.printed / repetitions,
            "of this number": self.at_n / self.printed if self.printed else 0.0,
            "covered": self.covered / self.printed if self.printed else none,
            "beside": self.beside,
            "why": self.why,
            "seed": seed,
            "repetitions": repetitions,
            "truth": self.truth,
        }


def count(
    name: str,
    kind: str,
    n: int,
    repetitions: int,
    seed: int = SEED,
    before: dict[str, dict[str, float | str]] | None = None,
) -> dict[str, dict[str, float | str]]:
    """For each score the share of repetitions with an interval, and of these the share that cover, and more.

    ``before`` is what fewer repetitions of the same seed found, to which the others are added.
    """
    case, truth = CASES[name], Truth(name, kind, n)
    found = {key: Tally.of(cell) for key, cell in (before or {}).items()}
    done = max((int(cell["repetitions"]) for cell in (before or {}).values()), default=0)
    for repetition in range(done, repetitions):
        if repetition == NEVER and not any(tally.printed for tally in found.values()):
            repetitions = NEVER
            break
        rng = np.random.default_rng([seed, repetition])
        codes = KINDS[kind](n, np.random.default_rng([5, 0]) if case.fixed else rng)
        with without_limits():
            scores = case.measure(*codes, rng)
            for key, score in scores.items():
                found.setdefault(key, Tally()).add(score, partial(truth.of, score, key))
    return {key: tally.cell(repetitions, seed) for key, tally in found.items()}


def _wanted(cells: dict[str, dict[str, float]]) -> int:
    """Repetitions beyond which a case need not be counted: where no score had an interval, few are enough."""
    return 10**6 if any(cell["printed"] for cell in cells.values()) else NEVER


def table(results: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """Lines of markdown: a score and a number of codes a line, a kind a column."""
    lines = [f"| score | codes | {' | '.join(KINDS)} |", f"|---|---|{'---|' * len(KINDS)}"]
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for key, found in results.items():
        _, kind, n = key.split("|")
        for score, each in found.items():
            text = "none" if each["printed"] < 0.05 else f"{100 * each['covered']:.1f}"
            if each["printed"] >= 0.05 and each["of this number"] > 0.5:
                text += " *"
            if 0.05 <= each["printed"] < 0.995:
                text += f" ({100 * each['printed']:.0f} %)"
            if each["printed"] >= 0.05 and each["repetitions"] < 400:
                text += f" of {each['repetitions']}"
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
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    if options.table:
        print("\n".join(table(results)))
        return
    names = sorted(options.only, key=list(CASES).index)
    sizes = sorted({n for name in names for n in CASES[name].n} & set(options.sizes or range(10**6)))
    todo = [(n, name) for n in sizes for name in names if n in CASES[name].n]
    for n, name in sorted(todo, key=lambda pair: pair[1] == "dci"):  # trees take longest: they come last
        for kind in options.kinds:
            key = f"{name}|{kind}|{n}"
            known = results.get(key)
            if known is not None and (
                "repetitions" not in next(iter(known.values()))
                or min(each["repetitions"] for each in known.values())
                >= min(options.repetitions, _wanted(known))
            ):
                continue
            start = time.process_time()
            results[key] = count(name, kind, n, options.repetitions, options.seed, known)
            options.results.write_text(json.dumps(results, indent=1) + "\n")
            print(f"{key} {time.process_time() - start:.0f} s", results[key], flush=True)


if __name__ == "__main__":
    main()
