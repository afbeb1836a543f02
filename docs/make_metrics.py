# ruff: noqa: E501
"""Write docs/metrics.md and its pictures: every number on the page is computed here.

python docs/make_metrics.py
"""

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np

from unweave.metrics import (
    METRICS,
    Encoded,
    agreement,
    beta_vae_score,
    dci,
    factor_vae_score,
    geometry_score,
    irs,
    label_of,
    mig,
    modularity,
    score_all,
    sensitivity,
)
from unweave.metrics.interval_limits import COUNTED
from unweave.plots import comparison, save
from unweave.plots.metrics import bars, responses, sensitivity_curves
from unweave.plots.sweeps import agreement_map

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"

COVERAGE = DOCS.parent / "benchmarks" / "results" / "coverage.json"
"""Counted by tests/metrics/coverage.py, which takes hours."""
PARITY = DOCS.parent / "benchmarks" / "results" / "parity.json"
"""Computed by tests/metrics/parity.py."""

LIKELIHOOD = """\
## Log-likelihood

Importance weighting with 5,000 particles an image closes the gap between the ELBO and log p(x) as far as the posterior allows.
Of a small model, trained for 300 steps,

    unweave train circles data.size=32 'encoder.channels=[16,16,32]' 'encoder.hidden=[64]' 'decoder.channels=[32,16,16]' \\
        'decoder.hidden=[64]' latents=4 steps=300 --out RUN
    unweave evaluate RUN --metrics elbo,log_likelihood

the second command prints ELBO -582.3 (-590.3 to -574.4) nats per image and log-likelihood **-500.5** (-521.1 to -479.9; 64 images,
24 s of one core). The two have different images, and of 5,000 particles 8 are effective: after so few steps the posterior is a poor approximation,
and the bound is still loose.
"""


def plane(n: int = 21) -> np.ndarray:
    """A grid over the unit square."""
    axis = np.linspace(0, 1, n)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)


def turn(degrees: float) -> np.ndarray:
    """A rotation matrix."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, s], [-s, c]])


def dense(n: int = 6_000, sizes: tuple[int, ...] = (3, 6, 8, 8, 8)) -> np.ndarray:
    """Factors drawn at random."""
    rng = np.random.default_rng(0)
    return np.stack([rng.integers(0, s, n) for s in sizes], axis=1)


def missing_factor() -> str:
    """FAC figure 3: K - 1 factors are enough for the beta-VAE score."""
    v = dense()
    values = {}
    for kept in (5, 4, 3, 2, 1):
        codes = v[:, 5 - kept :] * 1.0
        values[f"{kept} of 5"] = {
            "beta-VAE score": beta_vae_score(codes, v, np.random.default_rng(0)).value,
            "FactorVAE score": factor_vae_score(codes, v, np.random.default_rng(0)).value,
            "MIG": mig(codes, v).value,
        }
    save(bars(values, chance=0.2), PICTURES / "metrics-missing.png")
    four = values["4 of 5"]
    return (
        f"Codes that hold four of five factors, each in a latent of its own, and nothing of the fifth: the beta-VAE "
        f"score is **{four['beta-VAE score']:.3f}**, the FactorVAE score {four['FactorVAE score']:.3f} and MIG "
        f"{four['MIG']:.3f}. The classifier learns that the fifth factor is meant when no difference vanishes.\n\n"
        f"![Scores of codes with fewer and fewer factors](pictures/metrics-missing.png)\n"
    )


def rotation_and_folds() -> str:
    """SBD appendix H: MIG under a rotation and under a fold along an axis."""
    f = plane(32)
    classes = np.rint(f * 31).astype(int)
    angles = np.arange(0, 91, 5)
    turned = [(f - 0.5) @ turn(a) for a in angles]
    lines = {
        "MIG": [mig(z, classes).value for z in turned],
        "geometry": [geometry_score(z, f).value for z in turned],
        "modularity": [modularity(z, classes).value for z in turned],
        "IRS": [irs(z, classes).value for z in turned],
    }
    centres = np.linspace(0, 0.5, 11)
    folded = [np.stack([np.abs(f[:, 0] - c), f[:, 1]], axis=1) for c in centres]
    folds = {
        "MIG": [mig(z, classes).value for z in folded],
        "geometry": [geometry_score(z, f).value for z in folded],
        "modularity": [modularity(z, classes).value for z in folded],
        "IRS": [irs(z, classes).value for z in folded],
    }
    save(
        responses(
            {"turned": (angles, lines), "folded": (centres, folds)},
            xlabel={
                "turned": "angle against the latent axes (degrees)",
                "folded": "share of the first factor that is folded over",
            },
        ),
        PICTURES / "metrics-turned-folded.png",
    )
    small = plane()
    double = np.abs(small - 0.5)
    shown = {"as it is": small, "turned by 45°": (small - 0.5) @ turn(45), "folded twice": double}
    scores = [geometry_score(z, small).value for z in shown.values()]
    save(comparison(shown, small, scores=scores), PICTURES / "metrics-planes.png")
    twice = mig(np.abs(f - 0.5), classes).value
    return (
        f"Turn a perfect map of x and y by 45° and MIG falls from {lines['MIG'][0]:.2f} to **{lines['MIG'][9]:.2f}**, "
        f"though nothing about the map has changed; geometry stays at {lines['geometry'][9]:.2f}. Fold it in two along "
        f"both axes, so that four places share every code, and MIG is still **{twice:.2f}**, while geometry says "
        f"{scores[2]:.2f}. MIG has to be read with a picture of the plane beside it.\n\n"
        "![Scores under rotation and folding](pictures/metrics-turned-folded.png)\n\n"
        "![The plane as it is, turned and folded](pictures/metrics-planes.png)\n"
    )


def duplicates() -> str:
    """What copies of codes do to each score."""
    v = dense(4_000, (4, 5, 6))
    z = (v - v.mean(0)) / v.std(0)
    rng = np.random.default_rng(0)
    made = {"once": z, "twice": np.hstack([z, z]), "four times": np.hstack([z] * 4)}
    values = {}
    for name, codes in made.items():
        found = dci(codes, v)
        values[name] = {
            "DCI disentanglement": found["dci"].value,
            "DCI completeness": found["dci_completeness"].value,
            "MIG": mig(codes, v).value,
            "FactorVAE score": factor_vae_score(codes, v, rng).value,
            "modularity": modularity(codes, v).value,
        }
    save(bars(values), PICTURES / "metrics-duplicated.png")
    two = values["twice"]
    return (
        f"Give every latent a copy. DCI disentanglement stays {two['DCI disentanglement']:.2f}, since each latent still "
        f"serves one factor; completeness falls to **{two['DCI completeness']:.2f}** = 1 - log 2 / log 6, since each "
        f"factor now sits in two of six; MIG is **{two['MIG']:.2f}**, since the second-best latent is as good as the "
        f"best. The FactorVAE score ({two['FactorVAE score']:.2f}) and modularity ({two['modularity']:.2f}) do not "
        f"notice. Whether copies are a fault depends on the purpose of the code.\n\n"
        "![Scores of duplicated codes](pictures/metrics-duplicated.png)\n"
    )


def parameters() -> str:
    """FAC figures 16 and 17, on constructed codes."""
    rng = np.random.default_rng(0)
    v = dense()
    codes = (v - v.mean(0)) / v.std(0) @ (np.eye(5) + 0.25 * rng.normal(size=(5, 5))) + 0.5 * rng.normal(
        size=v.shape
    )
    one = sensitivity(
        beta_vae_score, codes, v, {"samples": [5, 20, 100, 200], "votes": [100, 400, 2000]}, seeds=6
    )
    two = sensitivity(
        factor_vae_score, codes, v, {"samples": [5, 20, 100, 200], "votes": [100, 400, 800]}, seeds=6
    )
    save(sensitivity_curves([one, two]), PICTURES / "metrics-sensitivity.png")
    return (
        f"Both interventional scores depend on L, the samples of a vote: from 5 to 200 the beta-VAE score goes from "
        f"{one.means[0, -1]:.2f} to {one.means[-1, -1]:.2f} and the FactorVAE score from {two.means[0, -1]:.2f} to "
        f"{two.means[-1, -1]:.2f} on the same codes. Compare scores only at the same constants; every score here "
        f"carries them.\n\n![Scores against their parameters](pictures/metrics-sensitivity.png)\n"
    )


def agreements() -> str:
    """Rank correlations over forty constructed representations."""
    found: dict[str, list[float]] = {}
    names = [
        "mig",
        "factor_vae_score",
        "beta_vae_score",
        "sap",
        "modularity",
        "explicitness",
        "irs",
        "infomec",
        "dci",
    ]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        v = np.stack([rng.integers(0, s, 1_500) for s in (3, 4, 5)], axis=1)
        mixing, noise = rng.uniform(0, 0.7), 10 ** rng.uniform(-1.5, 0.3)
        mix = np.eye(3, 5) * (1 - mixing) + mixing * rng.normal(size=(3, 5))
        codes = (v - v.mean(0)) / v.std(0) @ mix + noise * rng.normal(size=(len(v), 5))
        for name, score in score_all(Encoded.of(codes, v), names, seed=seed).items():
            if name not in ("infomec_explicitness", "dci_informativeness"):
                found.setdefault(name, []).append(score.value)
    table = agreement(found)
    save(
        agreement_map([name.replace("_", " ") for name in table.names], table.values),
        PICTURES / "metrics-agreement.png",
    )
    pair = table.score("mig", "dci")
    return (
        f"Over {table.models} representations, from clean to hopeless, MIG and DCI disentanglement have a rank "
        f"correlation of {pair.value:.2f} ({pair.low:.2f} to {pair.high:.2f}); not every pair agrees that well.\n\n"
        "![Rank correlations of metrics](pictures/metrics-agreement.png)\n"
    )


def listing() -> str:
    """The metrics in a table."""
    rows = ["| metric | scores | needs | what it says |", "|---|---|---|---|"]
    for m in METRICS.values():
        scores = ", ".join(m.labels.values())
        rows.append(f"| `{m.name}` | {scores} | {', '.join(sorted(m.needs))} | {m.sentence} |")
    return "\n".join(rows) + "\n"


def _harness(name: str) -> ModuleType:
    """A module beside the tests of metrics."""
    sys.path.insert(0, str(DOCS.parent / "tests" / "metrics"))
    return importlib.import_module(name)


def limits_of_intervals() -> str:
    """Which scores have intervals with some numbers of codes only, or none."""
    parts = []
    for name, known in COUNTED.items():
        if isinstance(known, str):
            said = f"none, since {known}"
        elif known[1] is None:
            said = f"{known[0]:,} codes and more"
        else:
            said = f"{known[0]:,} to {known[1]:,} codes" if known[0] < known[1] else f"{known[1]:,} codes"
        parts.append(f"{label_of(name)} ({said})")
    return ", ".join(parts)


def coverage() -> str:
    """What `python tests/metrics/coverage.py benchmarks/results/coverage.json` found."""
    harness = _harness("coverage")
    rows = harness.table(json.loads(COVERAGE.read_text()))
    return (
        "How often the intervals cover, in percent of 400 repetitions (where fewer were counted, `of 100` says so; `seed` in the file of results), for\n"
        "nine kinds of representation that `tests/metrics/coverage.py` defines. The truth is that of independent large samples, or, where the score says\n"
        "that its interval covers the mean over samples of its number of codes, the mean of 400 independent samples of as many. \\*: most intervals are\n"
        "of the latter kind. none: no interval is printed; (60 %): only so many repetitions have one, and the share counts those; -: not counted.\n"
        "The limits above are off while this is counted, so some of these intervals are not computed otherwise. With 400 repetitions the share of a perfect\n"
        "interval has a standard deviation of 1.1. Made by\n"
        "`python tests/metrics/coverage.py benchmarks/results/coverage.json`, which goes on where it stopped.\n\n"
        + "\n".join(rows)
    )


def parity() -> str:
    """What `python tests/metrics/parity.py benchmarks/results/parity.json` found."""
    rows = _harness("parity").table(json.loads(PARITY.read_text()))
    return (
        "Differences between each metric and a literal restatement of each definition, with numpy, scipy and scikit-learn, on the same 600 codes of\n"
        "nine kinds (0: below 1e-12). The libraries themselves are not installed here: what they compute is restated. InfoE differs by the penalty of\n"
        "1e-9 that scikit-learn needs; neighbours differ where a latent has few values, which are classes here. Made by\n"
        "`python tests/metrics/parity.py benchmarks/results/parity.json`.\n\n" + "\n".join(rows) + "\n"
    )


HEADINGS = {
    "missing_factor": "A factor that is missing",
    "rotation_and_folds": "Rotation and folds",
    "duplicates": "Copies",
    "parameters": "Constants matter",
    "agreements": "Do metrics agree?",
}


def main() -> None:
    """Compute everything, or only what is read from stored results, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tables", action="store_true", help="keep the sections that take minutes to compute"
    )
    old = (DOCS / "metrics.md").read_text() if parser.parse_args().tables else None
    PICTURES.mkdir(exist_ok=True)

    def section(compute: Callable[[], str]) -> str:
        if old is None:
            return compute()
        heading = f"## {HEADINGS[compute.__name__]}\n\n"
        return old.split(heading)[1].split("\n## ")[0]

    page = f"""# Metrics, and where each of them fails

This page and its pictures are written by `python docs/make_metrics.py` (`--tables`: only what comes from stored results); it computes every number except those of parity, likelihood
and intervals, which say their own commands.

Encode once, score everything:

    unweave evaluate RUN                          all metrics of a run, with 95 % intervals
    unweave evaluate RUN --metrics mig,dci
    unweave score codes.npz                       plain arrays: codes (n, latents), factors (n, K), scales
    unweave score codes.csv --no-intervals        a table with named columns (csv, parquet); z0, z1 ... are codes
    unweave udr RUN RUN RUN --kind lasso          do seeds agree on their latents?

    from unweave import metrics
    metrics.mig(codes, factors)                   a Score: value, low, high, range, constants, reference
    metrics.mig(codes, factors, mode="ubisoft")   as another library defines it
    metrics.Accumulator(["mig"]).update(z, v)     inside a loop, arrays or tensors; then .compute()

Both commands also print, and store, which factor sits in which latent: mutual information, DCI importance and rank correlation
with names (`metrics.relations`).

A metric of your own is a class with `name`, `needs` and `compute` (`unweave.metrics.Metric`), or a function of `codes`, `factors`,
`scales` and `rng`; name it by where it lies, alone or beside others:

    unweave score codes.npz --metrics mig,./my_metrics.py:Spread

    metrics.score_all(metrics.Encoded.of(codes, factors), ["mig", Spread, "my_metrics:Spread"])

{listing()}
`elbo`, `geometry` and `log_likelihood` (importance-weighted, 5000 particles) need the model of a run; `perceived_distances`
(`unweave data distances`) needs only the data.

## A factor that is missing

{section(missing_factor)}
## Rotation and folds

{section(rotation_and_folds)}
## Copies

{section(duplicates)}
## Constants matter

{section(parameters)}
## Do metrics agree?

{section(agreements)}
## Definitions in use

The same name means different numbers in different libraries. Each definition is a `mode`:

| metric | modes | they differ in |
|---|---|---|
| `mig` | `disentanglement_lib`, `disent`, `dcf`, `ubisoft`, `disentangle` | bins of codes, bins of factors, which entropy divides, nearest neighbours |
| `sampled_mig` | `paper`, `beta_tcvae`, `disentangling_vae` | entropy of the factor or log of its size; samples or means |
| `factor_vae_score` | `paper`, `disentanglement_lib`, `disent`, `ubisoft` | samples, votes, pruning, bins of factors, rescaling |
| `beta_vae_score` | `paper`, `disentanglement_lib`, `ubisoft` | pairs, votes, penalty, bins of factors, how often values are drawn, rescaling |
| `dci` | `unweave`, `disentanglement_lib`, `dcf`, `ubisoft`; backends `lightgbm`, `sklearn`, `forest`, `lasso` | predictors (the default: boosted trees of LightGBM, faster than and other than the library's), weights, training or held-out codes |
| `sap` | `disentanglement_lib`, `dcf`, `ubisoft`, `latte` | support vector machines or correlations |
| `modularity`, `explicitness` | `disentanglement_lib`, `dcf`, `ubisoft` | bins; dead codes; held-out codes; one classifier for all values or one for each |
| `dci_es` | `paper`, `published_code`; capacities of the predictors | whether the area is divided by the triangle down to the least loss or down to 0; the family of predictors is left open |
| `irs` | `paper`, `disentanglement_lib`, `ubisoft` | the quantile of deviations, bins of factors |
| `mig_sup`, `jemmig`, `dcimig` | `paper`, `ubisoft` | bins, which entropy divides |

### Parity

{parity()}
{LIKELIHOOD}
## Held-out combinations

A run trained with `sampling=HeldOut` (`unweave train dsprites sampling=HeldOut 'sampling.factors=[x,y]'`) never sees one region of factor
space. `unweave evaluate` then prints and stores two scores of each metric: that of images as training saw them, and, with `held_out` behind
its name, that of images from the region: `nll held_out`, `mig held_out` ... There `downstream_accuracy` is that of predictors which learned
from images that were seen (`metrics.transferred_accuracy`).

## Intervals

An interval (95 %) covers the value of infinitely many codes where that is within reach, and otherwise the mean over samples of this number of
codes; `Score.covers` says which, and so do the commands:

| scores | what the interval covers | how |
|---|---|---|
| MIG, modularity, InfoM, InfoC | the value of infinitely many codes, if codes end at an edge and are many for the cells | influence of each sample, less the bias of counting; latents that chance explains know nothing |
| the same | otherwise, and where chance explains all that keeps modularity, InfoM or InfoC from the end of its range (an interval there would cover always), the mean over samples of this number of codes | influence of each sample; the range that bins follow, moved by its error; latents that know nothing, shuffled |
| InfoE | the value of infinitely many codes | influence of each sample, less the optimism of fitting, from two halves |
| SAP | the mean over samples of this number of codes | held-out codes, and machines trained on random halves |
| explicitness, downstream accuracy | the value of infinitely many codes | the held-out codes, plus what classifiers of all training codes gain over those of two halves |
| FactorVAE score, beta-VAE score | the value of infinitely many codes and votes, with L as it is | Wilson's, with as many votes as fresh codes would need; none if fewer than ten votes are wrong, or right, or if further training votes of the FactorVAE score may change which factor a latent stands for |
| IRS | no interval: it rests on the largest deviations | one from extreme value theory covered 90 to 98.3 % |
| DCI, its completeness and informativeness | no interval, since how often it covers has not been counted | trees split on chance as long as codes are few |
| Gaussian TC | the value of infinitely many codes | the jackknife: its standard error, less its bias |
| Hoyer sparsity | the value of infinitely many codes | influence of each sample, also on the standard deviations |
| ELBO, NLL, KL | the value of infinitely many images | a mean over samples; of 500 and 2,000 images of eight kept models they covered 93.7 to 96.0 % in 2,000 repetitions (`python tests/model_metrics/coverage_elbo.py`) |
| sampled MIG, index-code MI, TC, dimension-wise KL | the value of infinitely many draws from q(z), with the images given as the whole data set | a mean over draws |

The value itself follows the definition to the letter. Where that is biased, `Score.corrected` has the value less its bias and its interval,
and both are printed; a plain value outside of that interval has none. Where no interval is known to be honest there is none, and
`Score.no_interval` says why: heavy tails, a value with too few codes, a latent that is active in some samples only, classifiers that more codes
would improve by more than the error, nearest neighbours. MIG, modularity, InfoM and InfoC of fewer than 1,500 codes have none, nor has the FactorVAE score if a value has fewer than 200, or than ten times L. DCI changes with the number of codes far beyond 10,000, since trees split on chance: compare it at equal numbers only.

There is an interval only where it was counted how often it covers, and this was 92 to 98 %. The measures have these limits themselves
(`unweave.metrics.interval_limits.COUNTED`, which a test compares with the counts below), so that Python and the command line agree:
{limits_of_intervals()}. Below the least number there is none; between two numbers that were counted, and beyond 20,000 codes, intervals rest on the same formulas.

{coverage()}
"""
    (DOCS / "metrics.md").write_text(page)


if __name__ == "__main__":
    main()
