"""The face of scikit-learn: its own checks, pipelines, searches, pickles."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from unweave import Disentangler, metrics
from unweave.data import Circles
from unweave.errors import UnweaveError

TINY: dict[str, Any] = {"latents": 2, "steps": 5, "batch_size": 8}
MLPS = {"encoder": {"name": "MLP", "hidden": [16]}, "decoder": {"name": "MLP", "hidden": [16]}}
IMAGES = np.random.default_rng(0).integers(256, size=(12, 8, 8, 3), dtype=np.uint8)


@parametrize_with_checks([Disentangler(**TINY, **MLPS)])
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_transform_is_the_encoder_of_the_trained_model() -> None:
    fitted = Disentangler(**TINY, **MLPS).fit(IMAGES)
    np.testing.assert_array_equal(fitted.transform(IMAGES[:3]), fitted.vae_.codes(IMAGES[:3])[0])
    assert fitted.get_feature_names_out().tolist() == ["disentangler0", "disentangler1"]


@pytest.mark.parametrize(
    "images",
    [IMAGES, IMAGES.transpose(0, 3, 1, 2), IMAGES[..., 0], IMAGES / 255.0],
    ids=["last", "first", "flat", "float"],
)
def test_images_come_back_in_their_layout_and_units(images: np.ndarray) -> None:
    fitted = Disentangler(**TINY, **MLPS).fit(images)
    back = fitted.inverse_transform(fitted.transform(images))
    assert back.shape == images.shape
    expected = fitted.vae_.reconstruct(images).reshape(len(images), fitted.image_shape_[0], 64)
    channels_first = back.transpose(0, 3, 1, 2) if back.shape[-1] == 3 else back
    scale = 255 if images.dtype == np.uint8 else 1
    assert back.dtype.kind == ("u" if images.dtype == np.uint8 else "f")
    np.testing.assert_allclose(
        channels_first.reshape(expected.shape), scale * expected, atol=0.51 if scale == 255 else 1e-6
    )


def test_vectors_are_learned_and_come_back_in_their_units() -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    vectors = np.stack([100 + 50 * np.cos(angle), np.sin(angle), np.full(400, 7.0)], axis=1)
    fitted = Disentangler(latents=3, steps=300, batch_size=64).fit(vectors)
    back = fitted.inverse_transform(fitted.transform(vectors))
    left = np.square(back - vectors).mean(0)
    assert (left[:2] < 0.1 * vectors.var(0)[:2]).all()
    np.testing.assert_allclose(back[:, 2], 7, atol=1)
    far = np.array([[1e9, 0, 7], [-1e9, 0, 7]])
    near = np.array([[vectors[:, 0].max(), 0, 7], [vectors[:, 0].min(), 0, 7]])
    np.testing.assert_array_equal(fitted.transform(far), fitted.transform(near))


def test_scores_are_the_metric_or_the_bound() -> None:
    data = Circles(size=32)
    batch = data.sample(200, np.random.default_rng(0))
    assert batch.factors is not None
    classes = np.digitize(batch.factors, np.quantile(batch.factors, [0.25, 0.5, 0.75]))
    fitted = Disentangler(**TINY).fit(batch.images)
    codes = fitted.transform(batch.images)
    assert fitted.score(batch.images, classes) == metrics.mig(codes, classes, interval=False).value
    named = clone(fitted).set_params(scoring="sap").fit(batch.images)
    assert named.score(batch.images, classes) == metrics.sap(codes, classes, interval=False).value
    with pytest.raises(UnweaveError, match="the score sap compares codes with factors"):
        named.score(batch.images)
    # The bound: log p(x|z) - KL, here by an independent draw of z.
    torch.manual_seed(1)
    images = torch.from_numpy(np.ascontiguousarray(batch.images)).float().div(255)
    with torch.no_grad():
        out = fitted.vae_(images)
        bound = out.p.log_prob(images) - torch.distributions.kl_divergence(out.q, fitted.vae_.prior())
    spread = float(bound.std()) / np.sqrt(200)
    assert abs(fitted.score(batch.images) - float(bound.mean())) < 4 * spread


def test_a_search_picks_by_the_score_and_a_pipeline_runs() -> None:
    data = Circles(size=32)
    images = data.sample(60, np.random.default_rng(0)).images
    search = GridSearchCV(Disentangler(**TINY, **MLPS), {"beta": [1, 400]}, cv=2).fit(images)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_ == {"beta": [1, 400][int(np.argmax(scores))]}
    assert search.best_estimator_.beta == search.best_params_["beta"]
    assert scores[0] != scores[1]
    labels = (images[:, 0].mean((1, 2)) > np.median(images[:, 0].mean((1, 2)))).astype(int)
    pipeline = make_pipeline(Disentangler(**TINY, **MLPS), LogisticRegression()).fit(images, labels)
    assert pipeline.predict(images).shape == (60,)


def test_pickled_and_cloned() -> None:
    fitted = Disentangler({"name": "FactorVAE", "gamma": 5}, **TINY, **MLPS).fit(IMAGES)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(IMAGES), fitted.transform(IMAGES))
    assert "vae_" not in fitted.__getstate__()
    assert clone(fitted).get_params() == fitted.get_params()
    refitted = clone(fitted).fit(IMAGES)
    np.testing.assert_array_equal(refitted.transform(IMAGES), fitted.transform(IMAGES))


def test_mistakes_are_one_sentence() -> None:
    with pytest.raises(UnweaveError, match="unknown objective 'BetaVEA'"):
        Disentangler("BetaVEA", **TINY).fit(IMAGES)
    with pytest.raises(UnweaveError, match="unknown training"):
        Disentangler(**TINY, training="fast").fit(IMAGES)
    with pytest.raises(UnweaveError, match=r"codes must have shape \(n, 2\), got \(3, 5\)"):
        Disentangler(**TINY, **MLPS).fit(IMAGES).inverse_transform(np.zeros((3, 5)))
