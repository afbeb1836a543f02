import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Lasso

from unweave.errors import UnweaveError
from unweave.metrics.unsupervised import udr


def literal(codes: list[np.ndarray], kl: list[np.ndarray]) -> list[float]:
    """The definition, latent by latent."""
    values = []
    for i in range(len(codes)):
        pairs = []
        for j in range(len(codes)):
            if i == j:
                continue
            ours, theirs = np.flatnonzero(kl[i] > 0.01), np.flatnonzero(kl[j] > 0.01)
            r = {
                (a, b): abs(spearmanr(codes[i][:, a], codes[j][:, b]).statistic) for a in ours for b in theirs
            }
            total = sum(max(r[a, b] for a in ours) ** 2 / sum(r[a, b] for a in ours) for b in theirs)
            total += sum(max(r[a, b] for b in theirs) ** 2 / sum(r[a, b] for b in theirs) for a in ours)
            pairs.append(total / (len(ours) + len(theirs)))
        values.append(float(np.median(pairs)))
    return values


def test_it_is_its_definition() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(200, 4))
    codes = [base @ rng.normal(size=(4, 4)) + 0.1 * rng.normal(size=(200, 4)) for _ in range(4)]
    kl = [rng.choice([0.0, 0.02, 3.0], 4, p=[0.3, 0.3, 0.4]) for _ in range(4)]
    kl[0][0] = kl[1][1] = kl[2][2] = kl[3][3] = 1.0
    found = udr(codes, kl)
    assert found.constants["models"] == pytest.approx(literal(codes, kl), rel=1e-10)
    assert found.value == pytest.approx(np.mean(literal(codes, kl)))


def test_order_sign_and_monotone_stretching_do_not_matter_but_rotation_does() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(2000, 3))
    same = [z, np.exp(z[:, [2, 0, 1]]), -(z[:, [1, 2, 0]] ** 3)]
    turned = [z @ np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(3)]
    ones = [np.ones(3)] * 3
    assert udr(same, ones).value > 0.93
    assert udr(turned, ones).value < 0.7


def test_a_collapsed_model_agrees_with_nobody() -> None:
    z = np.random.default_rng(2).normal(size=(100, 2))
    assert udr([z, z, z], [[1, 1], [1, 1], [0, 0]]).constants["models"][2] == 0.0


def test_mistakes_are_named() -> None:
    z = np.zeros((5, 2))
    with pytest.raises(UnweaveError, match="two or more, got 1"):
        udr([z], [[1, 1]])
    with pytest.raises(UnweaveError, match="each latent"):
        udr([z, z], [[1, 1], [1]])
    with pytest.raises(UnweaveError, match="same images"):
        udr([z, z[:4]], [[1, 1], [1, 1]])


def test_the_lasso_is_its_definition() -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(size=(300, 3))
    codes = [base @ rng.normal(size=(3, 3)) * 3 + 0.1 * rng.normal(size=(300, 3)), base, -base[:, [2, 0, 1]]]
    white = [(z - z.mean(0)) / z.std(0) for z in codes]
    values = []
    for i in range(3):
        pairs = []
        for j in set(range(3)) - {i}:
            r = np.stack([np.abs(Lasso(alpha=0.1).fit(white[i], b).coef_) for b in white[j].T], axis=1)
            down = [max(c) ** 2 / max(sum(c), 1e-12) for c in r.T]
            across = [max(c) ** 2 / max(sum(c), 1e-12) for c in r]
            pairs.append((sum(down) + sum(across)) / 6)
        values.append(np.median(pairs))
    ours = udr(codes, [[1, 1, 1]] * 3, kind="lasso")
    assert ours.constants["models"] == pytest.approx(values, abs=1e-6)
    assert ours.reference.endswith("UDR_L")
    with pytest.raises(UnweaveError, match="kind of udr"):
        udr(codes, [[1, 1, 1]] * 3, kind="ridge")  # type: ignore[arg-type]
