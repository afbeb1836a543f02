"""Every metric against a literal restatement of each definition in use, on the same codes of nine kinds.

    python tests/metrics/parity.py RESULTS.json [--only NAME ...]     computes what the file lacks
    python tests/metrics/parity.py RESULTS.json --table               the table of docs/metrics.md, from the results

The libraries themselves (disentanglement_lib, disent, dcf, ubisoft's) are not installed; what they compute is restated
here with numpy, scipy and scikit-learn, sample by sample, from their definitions.
"""

import argparse
import itertools
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, mutual_info_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler, minmax_scale
from sklearn.svm import LinearSVC

from unweave import metrics
from unweave.errors import UnweaveError
from unweave.metrics.interventions import plan_groups, plan_pairs
from unweave.metrics.validation import factor_classes, split_samples

N = 600
Array = np.ndarray
Pair = tuple[Array, Array]


def drawn(sizes: tuple[int, ...] = (3, 4, 6)) -> Pair:
    """Factors, and the same as numbers around 0."""
    rng = np.random.default_rng(21)
    v = np.stack([rng.integers(0, s, N) for s in sizes], 1)
    return v, v / (np.array(sizes) - 1) - 0.5


def noise(width: int, spread: float) -> Array:
    return spread * np.random.default_rng(22).normal(size=(N, width))


def mixed(v: Array, latents: int = 5) -> Array:
    return v @ (
        np.eye(v.shape[1], latents) + 0.4 * np.random.default_rng(23).normal(size=(v.shape[1], latents))
    )


def rotated() -> Pair:
    v, z = drawn()
    turn = np.linalg.qr(np.random.default_rng(24).normal(size=(3, 3)))[0]
    return z @ turn, v


def unbalanced() -> Pair:
    rng = np.random.default_rng(25)
    v = np.stack([rng.choice(s, N, p=(p := 0.5 ** np.arange(s)) / p.sum()) for s in (3, 4, 5)], 1)
    return mixed(v / 3.0) + noise(5, 0.1), v


def continuous() -> Pair:
    v = np.random.default_rng(26).uniform(size=(N, 3))
    return mixed(v - 0.5) + noise(5, 0.1), v


KINDS: dict[str, Callable[[], Pair]] = {
    "identity": lambda: (drawn()[1], drawn()[0]),
    "rotated": rotated,
    "noisy": lambda: (drawn()[1] + noise(3, 0.3), drawn()[0]),
    "entangled": lambda: (mixed(drawn()[1]) + noise(5, 0.1), drawn()[0]),
    "copies": lambda: (np.hstack([drawn()[1], drawn()[1]]) + noise(6, 0.05), drawn()[0]),
    "dead latents": lambda: (np.hstack([drawn()[1] + noise(3, 0.1), np.full((N, 2), 0.7)]), drawn()[0]),
    "unbalanced": unbalanced,
    "40 values": lambda: (mixed(drawn((3, 4, 40))[1]) + noise(5, 0.05), drawn((3, 4, 40))[0]),
    "continuous": continuous,
}

# --- Literal definitions: functions of codes and factors, classes unless the definition says otherwise


def classes(v: Array) -> Array:
    """Continuous factors in 20 bins, the others as they are."""
    return factor_classes(v)[0] if v.dtype.kind != "f" else binned(v, 20)


def binned(x: Array, bins: int) -> Array:
    return np.stack([np.digitize(c, np.histogram(c, bins)[1][:-1]) for c in x.T.astype(float)], 1)


def entropy(labels: Array) -> float:
    return mutual_info_score(labels, labels)


def informations(z: Array, v: Array) -> Array:
    return np.array([[mutual_info_score(b, a) for b in v.T] for a in z.T])


def gap(table: Array) -> float:
    ranked = np.sort(table, axis=0)[::-1]
    return float(np.mean(ranked[0] - ranked[1]))


def shares_of_codes(z: Array, v: Array) -> Array:
    own = np.array([entropy(a) for a in z.T])
    return informations(z, v) / np.where(own > 0, own, 1.0)[:, None]


def mig(z: Array, v: Array) -> float:
    return gap(informations(z, v) / [entropy(b) for b in v.T])


def neighbours(z: Array, v: Array) -> float:
    table = np.stack([mutual_info_classif(z, b, random_state=0) for b in v.T], 1)
    return gap(table / [entropy(b) for b in v.T])


def modularity(z: Array, v: Array) -> float:
    each = []
    for row in informations(z, v):
        best = row.max()
        rest = np.sum(np.delete(row, row.argmax()) ** 2)
        each.append(0.0 if best <= 1e-10 else 1 - rest / (best**2 * (v.shape[1] - 1)))
    return float(np.mean(each))


def mig_sup(z: Array, v: Array) -> float:
    return gap((informations(z, v) / [entropy(b) for b in v.T]).T)


def jemmig(z: Array, v: Array) -> float:
    info, each = informations(z, v), []
    for k, b in enumerate(v.T):
        first, second = np.argsort(-info[:, k], kind="stable")[:2]
        joint = entropy(z[:, first] * 1_000 + b)
        each.append(1 - (joint - info[first, k] + info[second, k]) / (entropy(b) + np.log(20)))
    return float(np.mean(each))


def dcimig(z: Array, v: Array) -> float:
    best = np.zeros(v.shape[1])
    for row in informations(z, v):
        ranked = np.sort(row)
        best[row.argmax()] = max(best[row.argmax()], ranked[-1] - ranked[-2])
    return float(best.sum() / sum(entropy(b) for b in v.T))


def sap(z: Array, v: Array) -> float:
    train, test = split_samples(len(z), np.random.default_rng(0), 1 / 3)
    table = np.empty((z.shape[1], v.shape[1]))
    for j, k in np.ndindex(table.shape):
        machine = LinearSVC(C=0.01, class_weight="balanced", tol=1e-10, max_iter=100_000)
        table[j, k] = machine.fit(z[train, j : j + 1], v[train, k]).score(z[test, j : j + 1], v[test, k])
    return gap(table)


def correlations(z: Array, v: Array) -> Array:
    """0 for a latent that does not vary."""
    with np.errstate(all="ignore"):
        return np.nan_to_num([[np.corrcoef(a, b)[0, 1] for b in v.T] for a in z.T])


def irs(z: Array, v: Array, quantile: float) -> float:
    largest = np.max(np.abs(z - z.mean(0)), axis=0)
    largest[np.ptp(z, axis=0) == 0] = 0.0
    table = np.zeros((z.shape[1], v.shape[1]))
    for k in range(v.shape[1]):
        values = np.unique(v[:, k])
        for value in values:
            own = z[v[:, k] == value]
            table[:, k] += np.percentile(np.abs(own - own.mean(0)), 100 * quantile, axis=0) / len(values)
    alive = largest > 0
    return float(np.average((1 - table[alive] / largest[alive, None]).max(1), weights=largest[alive]))


def predicted(z: Array, v: Array) -> list[tuple[LogisticRegression, Array, Array]]:
    """A regression of each factor, and the codes and values on which it is tested."""
    train, test = split_samples(len(z), np.random.default_rng(0), 1 / 3)
    scale = StandardScaler().fit(z[train])
    x, found = scale.transform(z), []
    for b in v.T:
        model = LogisticRegression(tol=1e-10, max_iter=20_000).fit(x[train], b[train])
        found.append((model, x[test], b[test]))
    return found


def explicitness(z: Array, v: Array) -> float:
    areas = []
    for model, x, b in predicted(z, v):
        p = model.predict_proba(x)
        curves = [(b == c, p[:, i]) for i, c in enumerate(model.classes_) if 0 < np.sum(b == c) < len(b)]
        areas.append(np.mean([roc_auc_score(*curve) for curve in curves]))
    return float(np.mean(areas))


def explicitness_in_sample(z: Array, v: Array) -> float:
    x, areas = minmax_scale(z), []
    for b in v.T:
        model = OneVsRestClassifier(LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=20_000))
        p = model.fit(x, b).predict_proba(x)
        areas.append(np.mean([roc_auc_score(b == c, p[:, i]) for i, c in enumerate(model.classes_)]))
    return float(2 * np.mean(areas) - 1)


def downstream(z: Array, v: Array) -> float:
    return float(np.mean([model.score(x, b) for model, x, b in predicted(z, v)]))


def focused(z: Array, v: Array, of_latents: bool) -> float:
    spans = np.ptp(z, axis=0)
    kept = binned(z[:, spans > spans.max() / 8], 20)
    shares = informations(kept, v) / [entropy(b) for b in v.T]
    shares = shares.T if of_latents else shares
    rows = len(shares)
    return float(np.mean((shares.max(0) / shares.sum(0) - 1 / rows) / (1 - 1 / rows)))


def explained(z: Array, v: Array) -> float:
    spans, found = np.ptp(z, axis=0), []
    x = StandardScaler().fit_transform(z[:, spans > spans.max() / 8])
    for b in v.T:
        model = LogisticRegression(C=1e9, class_weight="balanced", max_iter=20_000, tol=1e-10)
        p = model.fit(x, b).predict_proba(x)
        found.append(1 - log_loss(b, p) / np.log(p.shape[1]))
    return float(np.mean(found))


def factor_vae(z: Array, v: Array, samples: int, votes: int, tested: int, relative: bool) -> float:
    spread = z.std(0, ddof=1)
    z = z[:, spread >= 0.05 * (spread.max() if relative else 1.0)]
    sizes = tuple(int(s) + 1 for s in v.max(0))
    plan = plan_groups(v, sizes, votes + tested, samples, np.random.default_rng(5))
    whole = np.var(z, axis=0, ddof=1)
    answers = [int(np.argmin(np.var(z[rows], axis=0, ddof=1) / whole)) for rows in plan.rows]
    table = np.zeros((z.shape[1], v.shape[1]), int)
    for d, k in zip(answers[:votes], plan.asked[:votes], strict=True):
        table[d, k] += 1
    guessed = table.argmax(axis=1)[answers[votes:]]
    return float(np.mean(guessed == plan.asked[votes:]))


def beta_vae(z: Array, v: Array) -> float:
    sizes = tuple(int(s) + 1 for s in v.max(0))
    plan = plan_pairs(v, sizes, 15_000, 64, np.random.default_rng(5))
    x = np.array([np.abs(z[rows[:, 0]] - z[rows[:, 1]]).mean(axis=0) for rows in plan.rows])
    model = LogisticRegression(tol=1e-10, max_iter=20_000).fit(x[:10_000], plan.asked[:10_000])
    return float(model.score(x[10_000:], plan.asked[10_000:]))


def importance(z: Array, v: Array) -> Array:
    train, _ = split_samples(len(z), np.random.default_rng(0), 1 / 3)
    models = [GradientBoostingClassifier(random_state=0).fit(z[train], b[train]) for b in v.T]
    return np.stack([model.feature_importances_ for model in models], 1)


def dci(z: Array, v: Array) -> float:
    r, total = importance(z, v) + 1e-11, 0.0
    for row in r:
        p = row / row.sum()
        total += row.sum() / r.sum() * (1 + np.sum(p * np.log(p)) / np.log(len(p)))
    return float(total)


def mcc(table: Array) -> float:
    latents, factors = table.shape
    picks = itertools.permutations(range(latents), min(latents, factors))
    return max(float(np.mean([table[j, k] for k, j in enumerate(pick)])) for pick in picks)


def ranks(z: Array, v: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.nan_to_num([[spearmanr(a, b).statistic for b in v.T] for a in z.T])


def aligned(z: Array, v: Array) -> float:
    train, test = split_samples(len(z), np.random.default_rng(0), 1 / 3)
    guess = LinearRegression().fit(z[train], v[train]).predict(z[test])
    return float(np.mean([abs(np.corrcoef(g, b)[0, 1]) for g, b in zip(guess.T, v[test].T, strict=True)]))


def hoyer(z: Array) -> float:
    x = z / np.where(z.std(0) > 1e-9, z.std(0), 1.0)
    root = np.sqrt(x.shape[1])
    return float(np.mean((root - np.abs(x).sum(1) / np.sqrt((x**2).sum(1))) / (root - 1)))


def gaussian_tc(z: Array) -> float:
    z = z[:, np.ptp(z, axis=0) > 0]
    return float(-0.5 * np.linalg.slogdet(np.corrcoef(z.T))[1])


Score = Callable[[Array, Array], float]
RNG = np.random.default_rng
OFF = {"interval": False}
CASES: dict[tuple[str, str], tuple[Score, Score]] = {
    ("mig", "disentanglement_lib, disent"): (
        lambda z, v: mig(binned(z, 20), classes(v)),
        lambda z, v: metrics.mig(z, v, **OFF).value,
    ),
    ("mig", "dcf"): (
        lambda z, v: mig(binned(z, 20), binned(v, 20)),
        lambda z, v: metrics.mig(z, v, mode="dcf", **OFF).value,
    ),
    ("mig", "ubisoft"): (
        lambda z, v: gap(shares_of_codes(binned(z, 10), binned(v, 10))),
        lambda z, v: metrics.mig(z, v, mode="ubisoft", **OFF).value,
    ),
    ("mig", "disentangle (scikit-learn's neighbours)"): (
        lambda z, v: neighbours(z, classes(v)),
        lambda z, v: metrics.mig(z, v, mode="disentangle").value,
    ),
    ("mig_sup", "paper"): (
        lambda z, v: mig_sup(binned(z, 20), classes(v)),
        lambda z, v: metrics.mig_sup(z, v).value,
    ),
    ("jemmig", "paper"): (
        lambda z, v: jemmig(binned(z, 20), classes(v)),
        lambda z, v: metrics.jemmig(z, v).value,
    ),
    ("dcimig", "paper"): (
        lambda z, v: dcimig(binned(z, 20), classes(v)),
        lambda z, v: metrics.dcimig(z, v).value,
    ),
    ("modularity", "disentanglement_lib"): (
        lambda z, v: modularity(binned(z, 20), classes(v)),
        lambda z, v: metrics.modularity(z, v, **OFF).value,
    ),
    ("modularity", "ubisoft"): (
        lambda z, v: modularity(binned(z, 10), binned(v, 10)),
        lambda z, v: metrics.modularity(z, v, mode="ubisoft", **OFF).value,
    ),
    ("sap", "disentanglement_lib"): (
        lambda z, v: sap(z, classes(v)),
        lambda z, v: metrics.sap(z, v, **OFF).value,
    ),
    ("sap", "ubisoft"): (
        lambda z, v: gap(correlations(z, v) ** 2),
        lambda z, v: metrics.sap(z, v, mode="ubisoft", **OFF).value,
    ),
    ("irs", "disentanglement_lib"): (
        lambda z, v: irs(z, binned(v, 20), 0.99),
        lambda z, v: metrics.irs(z, v, **OFF).value,
    ),
    ("irs", "ubisoft"): (
        lambda z, v: irs(z, binned(v, 10), 1.0),
        lambda z, v: metrics.irs(z, v, mode="ubisoft", **OFF).value,
    ),
    ("irs", "paper"): (
        lambda z, v: irs(z, classes(v), 1.0),
        lambda z, v: metrics.irs(z, v, mode="paper", **OFF).value,
    ),
    ("explicitness", "disentanglement_lib, dcf"): (
        lambda z, v: explicitness(z, classes(v)),
        lambda z, v: metrics.explicitness(z, v, **OFF).value,
    ),
    ("explicitness", "ubisoft"): (
        lambda z, v: explicitness_in_sample(z, binned(v, 10)),
        lambda z, v: metrics.explicitness(z, v, mode="ubisoft").value,
    ),
    ("downstream_accuracy", "scikit-learn"): (
        lambda z, v: downstream(z, classes(v)),
        lambda z, v: metrics.downstream_accuracy(z, v, **OFF).value,
    ),
    ("infomec_modularity", "paper, with bins"): (
        lambda z, v: focused(z, classes(v), True),
        lambda z, v: metrics.infomec(z, v, **OFF)["infomec_modularity"].value,
    ),
    ("infomec_compactness", "paper, with bins"): (
        lambda z, v: focused(z, classes(v), False),
        lambda z, v: metrics.infomec(z, v, **OFF)["infomec_compactness"].value,
    ),
    ("infomec_explicitness", "paper, solved"): (
        lambda z, v: explained(z, classes(v)),
        lambda z, v: metrics.infomec(z, v, **OFF)["infomec_explicitness"].value,
    ),
    ("factor_vae_score", "paper"): (
        lambda z, v: factor_vae(z, classes(v) - classes(v).min(0), 100, 800, 800, True),
        lambda z, v: metrics.factor_vae_score(z, v, RNG(5), **OFF).value,
    ),
    ("factor_vae_score", "disentanglement_lib"): (
        lambda z, v: factor_vae(z, classes(v) - classes(v).min(0), 64, 10_000, 5_000, False),
        lambda z, v: metrics.factor_vae_score(z, v, RNG(5), mode="disentanglement_lib", **OFF).value,
    ),
    ("beta_vae_score", "disentanglement_lib"): (
        lambda z, v: beta_vae(z, classes(v) - classes(v).min(0)),
        lambda z, v: metrics.beta_vae_score(z, v, RNG(5), mode="disentanglement_lib", **OFF).value,
    ),
    ("mcc", "paper, Pearson"): (
        lambda z, v: mcc(np.abs(correlations(z, v))),
        lambda z, v: metrics.mcc(z, v).value,
    ),
    ("mcc", "paper, Spearman"): (
        lambda z, v: mcc(np.abs(ranks(z, v))),
        lambda z, v: metrics.mcc(z, v, kind="spearman").value,
    ),
    ("mcc", "paper, aligned linearly"): (
        lambda z, v: aligned(z, v),
        lambda z, v: metrics.mcc(z, v, alignment="linear").value,
    ),
    ("hoyer", "paper"): (lambda z, v: hoyer(z), lambda z, v: metrics.hoyer(z, **OFF).value),
    ("gaussian_total_correlation", "definition"): (
        lambda z, v: gaussian_tc(z),
        lambda z, v: metrics.gaussian_total_correlation(z, **OFF).value,
    ),
    ("dci", "disentanglement_lib"): (
        lambda z, v: dci(z, classes(v)),
        lambda z, v: metrics.dci(z, v, RNG(0), mode="disentanglement_lib", **OFF)["dci"].value,
    ),
}


Found = dict[str, float | str]


def difference(metric: str, definition: str, kind: str) -> Found:
    """The literal value and ours, or why ours is refused."""
    literal, ours = CASES[metric, definition]
    z, v = KINDS[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {"ours": ours(z, v), "literal": literal(z, v)}
        except UnweaveError as error:
            return {"refused": str(error)}


def table(results: dict[str, Found]) -> list[str]:
    """Lines of markdown: the largest digits in which a metric and a definition differ, a kind a column."""
    lines = [f"| metric | definition | {' | '.join(KINDS)} |", f"|---|---|{'---|' * len(KINDS)}"]
    for metric, definition in CASES:
        cells = [_cell(results.get(f"{metric}|{definition}|{kind}")) for kind in KINDS]
        lines.append(f"| `{metric}` | {definition} | {' | '.join(cells)} |")
    return lines


def _cell(found: Found | None) -> str:
    if found is None or "refused" in found:
        return "-" if found is None else "refused"
    gap = abs(float(found["literal"]) - float(found["ours"]))
    return "0" if gap < 1e-12 else f"{gap:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    if options.table:
        print("\n".join(table(results)))
        return
    for metric, definition in CASES:
        for kind in KINDS:
            key = f"{metric}|{definition}|{kind}"
            if key in results or (options.only and metric not in options.only):
                continue
            results[key] = difference(metric, definition, kind)
            options.results.write_text(json.dumps(results, indent=1) + "\n")
            print(key, results[key], flush=True)


if __name__ == "__main__":
    main()
