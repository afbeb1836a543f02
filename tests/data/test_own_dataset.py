"""A data set from outside: only what the base class asks for, and what comes with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unweave.data import DATASETS, Batch, Dataset, FactorSpace
from unweave.data.dataset import check_declared
from unweave.errors import UnweaveError
from unweave.metrics import beta_vae_score_of
from unweave.runs import Config, Run
from unweave.runs.evaluation import evaluate


class Bars(Dataset):
    """A lit row and a lit column: the three things that a data set must provide, and nothing else."""

    def __init__(self, *, light: int = 255) -> None:
        self.image_shape, self.space, self.count = (1, 8, 8), FactorSpace(("row", "column"), (8, 8)), 64
        self.light = light

    def images(self, factors: Any) -> np.ndarray:
        row, column = self.space.check(factors).T[:, :, None, None] == np.indices((8, 8))[:, None]
        return (self.light * (row | column)[:, None]).astype(np.uint8)

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        factors = self.space.sample(n, rng)
        return Batch(self.images(factors), factors)


class Rows(Dataset):
    """The same images, by row number."""

    image_shape, space, count = (1, 8, 8), FactorSpace(("row", "column"), (8, 8)), 64

    def at(self, index: Any) -> np.ndarray:
        return Bars().images(self.space.factors(index))

    def sample(self, n: int, rng: np.random.Generator) -> Batch:
        index = rng.integers(64, size=n)
        return Batch(self.at(index), self.factors_at(index))


@pytest.mark.parametrize("kind", [Bars, Rows])
@pytest.mark.parametrize("pairing", ["none", "AdaGVAE"])
def test_three_things_suffice_to_train_evaluate_and_pair(
    kind: type[Dataset], pairing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS.parts, kind.__name__, kind)
    words = [f"data={kind.__name__}", "encoder=MLP", "decoder=MLP", "latents=3", "steps=2", "batch_size=4"]
    run = Run.create(Config.read(words=[*words, f"pairing={pairing}"]), tmp_path / "run")
    assert run.train().step == 2
    scores = evaluate(run)
    assert {"elbo", "mig", "factor_vae_score"} <= set(scores)
    first, second = run.dataset().pairs(20, np.random.default_rng(0), k=1)
    assert first.factors is not None
    assert ((first.factors != second.factors).sum(axis=1) == 1).all()


@pytest.mark.parametrize("dataset", [Bars(), Rows()])
def test_everything_else_follows(dataset: Dataset) -> None:
    check_declared(dataset)
    rng = np.random.default_rng(0)
    factors = dataset.factors_at(np.arange(64))
    np.testing.assert_array_equal(dataset.images(factors), dataset.at(np.arange(64)))
    np.testing.assert_array_equal(dataset.images([[2, 5]])[0, 0, 2], np.full(8, 255))
    assert dataset.fingerprint() == Bars().fingerprint()
    assert dataset.channels().mean == pytest.approx((15 / 64,))
    assert not dataset.held_out(factors).any()
    assert len(dataset.evaluation_rows(100, rng)) == 64
    assert [len(batch.images) for batch in dataset.triplets(7, rng)] == [7, 7, 7]
    place = beta_vae_score_of(lambda x: np.argmin(x[:, 0], axis=1), dataset, rng, samples=9, votes=20)
    assert 0 <= place.value <= 1


def test_what_is_missing_is_named() -> None:
    class Neither(Dataset):
        image_shape, space, count = (1, 8, 8), FactorSpace(("row",), (8,)), 8

        def sample(self, n: int, rng: np.random.Generator) -> Batch:
            return Batch(np.zeros((n, 8, 8), np.uint8), None)

    class Endless(Neither):
        space, count = FactorSpace(("row",), ((0.0, 1.0),)), None

    for ask in (lambda: Neither().images([[0]]), lambda: Neither().at([0])):
        with pytest.raises(UnweaveError, match=r"Neither must define images\(factors\) or at\(index\)"):
            ask()
    with pytest.raises(UnweaveError, match="Endless has continuous factors and no row numbers"):
        Endless().at([0])
    with pytest.raises(UnweaveError, match=r"Endless must define images\(factors\) or at\(index\)"):
        Endless().images([[0.5]])
    with pytest.raises(UnweaveError, match=r"images of Neither must be uint8 .* \(n, 1, 8, 8\), got uint8"):
        check_declared(Neither())
    with pytest.raises(TypeError, match="sample"):
        type("NoSample", (Dataset,), {})()

    class Unlabelled(Neither):
        def sample(self, n: int, rng: np.random.Generator) -> Batch:
            return Batch(np.zeros((n, 1, 8, 8), np.uint8), None)

    with pytest.raises(UnweaveError, match=r"batches of Unlabelled must have factors \(n, 1\)"):
        check_declared(Unlabelled())


class WrongShape(Bars):
    """Says another size than its images have."""

    def __init__(self) -> None:
        super().__init__()
        self.image_shape = (1, 16, 16)


def test_a_config_refuses_a_data_set_that_is_not_what_it_declares() -> None:
    assert Config.of({"data": Bars}).make_dataset().count == 64
    with pytest.raises(UnweaveError, match=r"images of WrongShape must be .* \(n, 1, 16, 16\), got"):
        Config.of({"data": WrongShape}).make_dataset()
