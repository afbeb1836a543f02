"""MIG-sup, JEMMIG, DCIMIG and MCC against restatements of their definitions with scikit-learn and scipy."""

import itertools

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mutual_info_score

from unweave.errors import UnweaveError
from unweave.metrics import (
    Accumulator,
    Encoded,
    dcimig,
    jemmig,
    mcc,
    mig_sup,
    score_all,
    z_max_variance,
)
from unweave.metrics.interventions import plan_groups
from unweave.metrics.validation import split_samples


def made(seed: int = 0, n: int = 800) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    v = np.stack([rng.integers(0, s, n) for s in (3, 5, 23)], 1)
    mix = np.eye(3, 4) + 0.3 * rng.normal(size=(3, 4))
    return (v / v.max(0)) @ mix + 0.1 * rng.normal(size=(n, 4)), v


def tables(
    z: np.ndarray, v: np.ndarray, bins: int, cut: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mutual informations, joint entropies, entropies of factors and of codes, all in nats."""
    binned = np.stack([np.digitize(c, np.histogram(c, bins)[1][:-1]) for c in z.T], 1)
    if cut:
        v = np.stack([np.digitize(c, np.histogram(c, bins)[1][:-1]) for c in v.T], 1)
    info = np.array([[mutual_info_score(a, b) for b in v.T] for a in binned.T])
    joint = np.array([[mutual_info_score(a * 100 + b, a * 100 + b) for b in v.T] for a in binned.T])
    return (
        info,
        joint,
        np.array([mutual_info_score(b, b) for b in v.T]),
        np.array([mutual_info_score(a, a) for a in binned.T]),
    )


@pytest.mark.parametrize(("mode", "bins"), [("paper", 20), ("ubisoft", 10)])
def test_three_relatives_of_mig(mode: str, bins: int) -> None:
    z, v = made()
    info, joint, of_factors, of_codes = tables(z, v, bins, mode == "ubisoft")
    shares = np.sort(info / (of_codes[:, None] if mode == "ubisoft" else of_factors), axis=1)
    assert mig_sup(z, v, mode=mode).value == pytest.approx(np.mean(shares[:, -1] - shares[:, -2]), abs=1e-9)  # type: ignore[arg-type]
    each = []
    for k in range(3):
        order = np.argsort(info[:, k])
        whole = joint[order[-1], k] - info[order[-1], k] + info[order[-2], k]
        each.append(1 - whole / (of_factors[k] + np.log(bins)))
    assert jemmig(z, v, mode=mode).value == pytest.approx(np.mean(each), abs=1e-9)  # type: ignore[arg-type]
    gaps = np.zeros(3)
    for row in info:
        ranked = np.sort(row)
        gaps[row.argmax()] = max(gaps[row.argmax()], ranked[-1] - ranked[-2])
    assert dcimig(z, v, mode=mode).value == pytest.approx(gaps.sum() / of_factors.sum(), abs=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_mcc_tries_every_assignment(kind: str) -> None:
    z, v = made(1)
    table = (
        np.abs(np.corrcoef(z.T, v.T)[:4, 4:])
        if kind == "pearson"
        else np.abs(spearmanr(z, v).statistic[:4, 4:])
    )
    best = max(
        np.mean([table[j, k] for k, j in enumerate(pick)]) for pick in itertools.permutations(range(4), 3)
    )
    ours = mcc(z, v, kind=kind)  # type: ignore[arg-type]
    assert ours.value == pytest.approx(best, abs=1e-12)
    assert np.mean([table[j, k] for k, j in enumerate(ours.constants["latents"])]) == pytest.approx(best)
    few = mcc(z[:, :1], v, kind=kind)  # type: ignore[arg-type]
    assert few.value == pytest.approx(table[0].max() / 3), "a factor without a latent counts 0"


@pytest.mark.parametrize("alignment", ["linear", "nonlinear"])
def test_mcc_after_an_alignment(alignment: str) -> None:
    z, v = made(2)
    train, test = split_samples(len(z), np.random.default_rng(7), 1 / 3)
    model = (
        LinearRegression if alignment == "linear" else lambda: HistGradientBoostingRegressor(random_state=0)
    )
    each = []
    for column in v.T.astype(float):
        guess = model().fit(z[train], column[train]).predict(z[test])
        each.append(abs(np.corrcoef(guess, column[test])[0, 1]))
    ours = mcc(z, v, np.random.default_rng(7), alignment=alignment)  # type: ignore[arg-type]
    assert ours.value == pytest.approx(np.mean(each), abs=1e-9)


def test_batches_score_as_the_whole_and_tensors_as_arrays() -> None:
    z, v = made(3)
    names = ["mig", "factor_vae_score", "mcc"]
    whole = score_all(Encoded.of(z, v), names, seed=4)
    for kind in (np.asarray, torch.tensor):
        collected = Accumulator(names, seed=4)
        for part in np.array_split(np.arange(len(z)), 7):
            collected.update(kind(z[part]), kind(v[part]))
        assert collected.samples == len(z)
        assert collected.compute() == whole
        collected.reset()
        with pytest.raises(UnweaveError, match="no codes to score"):
            collected.compute()
    live = torch.tensor(z, requires_grad=True)
    buffer = np.array(v)
    collected = Accumulator(names, seed=4).update(live, buffer)
    buffer[:] = 0
    assert collected.compute() == whole, "batches are copied"
    short = torch.tensor(z).bfloat16()
    from_short = Accumulator(names, seed=4).update(short, torch.tensor(v))
    assert from_short.compute() == score_all(Encoded.of(short.double().numpy(), v), names, seed=4)
    with pytest.raises(UnweaveError, match="same arrays"):
        collected.update(z)
    with pytest.raises(UnweaveError, match="must be"):
        collected.update(z[:, :2], v)


@pytest.mark.parametrize("mode", ["paper", "ubisoft"])
def test_z_max_variance_vote_by_vote(mode: str) -> None:
    """All factors but one are fixed, and the latent that varies most votes; ubisoft cuts factors into 3 bins."""
    z, v = made(5)
    z = np.hstack([z, 0.001 * z[:, :1]])  # below the pruning threshold
    cut = np.stack([np.digitize(c, np.histogram(c, 3)[1][:-1]) for c in v.T], 1) if mode == "ubisoft" else v
    others = np.stack(
        [np.unique(np.delete(cut, k, 1), axis=0, return_inverse=True)[1].ravel() for k in range(3)], 1
    )
    plan = plan_groups(others, tuple(others.max(0) + 1), 400, 20, np.random.default_rng(3))
    spread = z[:, :4].var(axis=0, ddof=1)
    answers = [int(np.argmax(z[rows, :4].var(axis=0, ddof=1) / spread)) for rows in plan.rows]
    table = np.zeros((4, 3), int)
    for d, k in zip(answers[:300], plan.asked[:300], strict=True):
        table[d, k] += 1
    literal = np.mean([table[d].argmax() == k for d, k in zip(answers[300:], plan.asked[300:], strict=True)])
    if mode == "ubisoft":
        literal = (literal - 1 / 3) / (1 - 1 / 3)
    ours = z_max_variance(
        z, v, np.random.default_rng(3), mode=mode, samples=20, votes=300, evaluation_votes=100
    )  # type: ignore[arg-type]
    assert ours.value == pytest.approx(max(0.0, literal), abs=1e-9)
    for rows, k in zip(plan.rows[:40], plan.asked[:40], strict=True):
        fixed = np.delete(cut[rows], k, axis=1)
        assert (fixed == fixed[0]).all()
