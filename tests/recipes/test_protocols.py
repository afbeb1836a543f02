"""Protocols of FAC, SBD and REC that were repaired: each test fails on what was there before."""

from typing import Any

import numpy as np
import pytest
import torch

from unweave.likelihoods import MSE
from unweave.networks import SpatialBroadcast
from unweave.plots.sweeps import Point, deviation_hulls, trade_off
from unweave.recipes.catalogue import RECIPES
from unweave.recipes.claims import exceeds, similar
from unweave.recipes.fac import appendix_e, gans
from unweave.recipes.fac.figures_19_to_22 import separate_shapes
from unweave.recipes.fac.scores import BARELY, HIGGINS, PRINTED
from unweave.recipes.rec.table_a1 import TEXT, deviation_tolerance, order_of
from unweave.recipes.sbd import geometry
from unweave.recipes.sbd.score_table import column
from unweave.runs.config import Config


def configs(name: str, scale: Any = "paper") -> dict[str, Config]:
    study = RECIPES[name].study(scale)
    assert study is not None
    return {variant: runs[0].config for variant, runs in study.variants.items()}


def test_figure_33_trains_lambda_1() -> None:
    assert {c.model.options["lambda_mi"] for c in configs("fac-fig33").values()} == {1.0}
    assert {c.data.name for c in configs("fac-fig33").values()} == {"DSprites"}


def test_noise_and_rates_of_figure_8_are_tuned() -> None:
    tuned = [c for label, c in configs("fac-fig8").items() if label.startswith("lambda=")]
    grid = {
        (c.model.options["noise"], c.learning_rate, c.model.options["critic_learning_rate"]) for c in tuned
    }
    assert grid == {(n, g, d) for n in (5, 10, 20, 40, 80, 160) for g in (1e-3, 1e-4) for d in (1e-4, 1e-5)}
    assert len(tuned) == 11 * 24
    bigger = [c for label, c in configs("fac-fig34").items() if label.startswith("lambda=")]
    assert {c.model.options["noise"] for c in bigger} == {128}
    assert len(bigger) == 11 * 4


def test_figure_8_has_the_other_models_of_section_6() -> None:
    found = configs("fac-fig8")
    assert found[gans.FIVE_CODES].model.options["continuous"] == 5
    assert found[gans.FIVE_CODES].model.options["categorical"] == ()
    assert found[gans.STOPPED].model.name == "InfoGAN"
    assert found[gans.STOPPED].steps < 300_000


def test_figure_23_has_stages_as_figure_4_has() -> None:
    def stages(name: str) -> set[int]:
        return {c.steps for c in configs(name).values()}

    assert stages("fac-fig23") == stages("fac-fig4") == {10_000, 30_000, 60_000, 150_000, 300_000}
    kinds = {
        (c.objective.name, c.objective.options["target"])
        for c in configs("fac-fig23").values()
        if "target" in c.objective.options
    }
    assert kinds == {("FactorVAE", "marginals"), ("FactorVAE", "prior")}


def test_figures_quote_the_printed_metric_of_higgins() -> None:
    for name in ("fac-fig4", "fac-fig8", "fac-fig23", "fac-fig34"):
        study, small = RECIPES[name].study("paper"), RECIPES[name].study("small")
        assert study is not None and small is not None
        assert (study.metrics, small.metrics) == ((PRINTED,), (HIGGINS,))


def test_a_smaller_rate_stands_beside_figure_24() -> None:
    assert [c.model.options["critic_learning_rate"] for c in configs("fac-fig24").values()] == [1e-4, 1e-5]


class FakeRun:
    """A run with a history of the discriminator's accuracy."""

    def __init__(self, steps: int, seed: int, accuracy: float | None) -> None:
        self.config = Config.read(words=["data=dsprites", f"steps={steps}", f"seed={seed}"])
        self.history = [{"step": steps} | ({gans.ACCURACY: accuracy} if accuracy is not None else {})]


class FakeJob:
    def __init__(self, runs: dict[str, list[FakeRun]]) -> None:
        self._runs, self.variants = runs, list(runs)

    def runs(self, variant: str) -> list[FakeRun]:
        return self._runs[variant]


def test_gans_are_read_before_they_degenerate() -> None:
    job: Any = FakeJob(
        {
            "a": [FakeRun(100, 0, 0.5), FakeRun(100, 1, 0.9), FakeRun(100, 2, 0.5)],
            "a at 50": [FakeRun(50, 0, 0.8), FakeRun(50, 1, 0.9), FakeRun(50, 2, 0.52)],
            "a at 10": [FakeRun(10, 0, 0.9), FakeRun(10, 1, 0.9), FakeRun(10, 2, 0.5)],
        }
    )
    assert [run.config.steps for run in gans.before_degeneration(job, "a")] == [50, 100, 10]
    wasserstein: Any = FakeJob({"b": [FakeRun(100, 0, None)], "b at 10": [FakeRun(10, 0, None)]})
    assert [run.config.steps for run in gans.before_degeneration(wasserstein, "b")] == [100]
    for name in ("fac-fig25", "fac-fig26", "fac-fig27", "fac-fig28", "fac-fig29", "fac-fig30", "fac-fig31"):
        assert len({c.steps for c in configs(name).values()}) > 1


def test_appendix_e_takes_all_images_in_the_paper_s_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    class Data:
        count = 7

        def at(self, rows: np.ndarray) -> np.ndarray:
            return rows[:, None]

    class Run:
        def model(self) -> str:
            return "model"

        def dataset(self) -> Data:
            return Data()

    class Value:
        def __init__(self, value: float) -> None:
            self.value = value

    def bound(model: str, images: np.ndarray, particles: int) -> Value:
        return Value(float(images[0, 0]) * particles)

    monkeypatch.setattr(appendix_e, "log_likelihood", bound)
    run: Any = Run()
    assert appendix_e.image_bounds(run, None, 10).tolist() == [0, 10, 20, 30, 40, 50, 60]


def test_published_numbers_are_rows() -> None:
    assert set(appendix_e.PUBLISHED.values()) >= {"-43.3", "-3517"}
    from unweave.recipes.fac import figure_6, section_6

    assert list(figure_6.PUBLISHED.values()) == [0.814, 0.889]
    assert section_6.PUBLISHED == {"pearson": 0.404, "kendall": 0.310, "spearman": 0.444}
    for name in ("fac-fig19", "fac-fig20", "fac-fig21", "fac-fig22"):
        assert name in RECIPES


def test_barely_sacrificing_is_less_than_a_tenth_of_the_error() -> None:
    rng = np.random.default_rng(0)
    slight, large = (
        np.array([45.0 * (1 + share)]) / 45 - 1 + 0.01 * rng.normal(size=10) for share in (0.03, 0.4)
    )
    assert exceeds("", slight, BARELY, sign=-1).verdict == "same direction"
    assert exceeds("", large, BARELY, sign=-1).verdict == "opposite"


def test_similar_means_neither_is_higher_by_the_margin() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (mean + 0.01 * rng.normal(size=10) for mean in (0.5, 0.51, 0.7))
    assert [f.verdict for f in similar("", a, b)] == ["same direction"] * 2
    assert "opposite" in [f.verdict for f in similar("", a, c)]


def test_separate_shapes_are_counted() -> None:
    images = np.zeros((3, 1, 32, 32))
    images[0, 0, 4:10, 4:10] = 1
    images[1, 0, 4:10, 4:10] = images[1, 0, 20:26, 20:26] = 1
    images[2, 0, 4:10, 4:10] = images[2, 0, 20, 20] = 1  # a single bright pixel is no shape
    assert separate_shapes(images).tolist() == [1, 2, 1]


def test_shuffles_differ_with_the_seed() -> None:
    def grid(seed: int, **options: Any) -> torch.Tensor:
        torch.manual_seed(seed)
        return SpatialBroadcast(2, (1, 8, 8), width=4, shuffle_coordinates=True, **options).first.grid

    assert not torch.equal(grid(0, shuffle_seed=None), grid(1, shuffle_seed=None))
    assert torch.equal(grid(0, shuffle_seed=None), grid(0, shuffle_seed=None))
    assert torch.equal(grid(0, shuffle_seed=3), grid(1, shuffle_seed=3))
    shuffled = configs("sbd-fig5")["shuffled"]
    assert shuffled.decoder.options["shuffle_seed"] is None


def test_all_networks_of_sbd_have_truncated_normal_weights_critics_too() -> None:
    for name in ("sbd-fig6", "sbd-fig11", "sbd-fig2", "sbd-fig9"):
        for config in configs(name).values():
            assert config.encoder.options["initialisation"] == "truncated_normal"
            assert config.decoder.options["initialisation"] == "truncated_normal"
            if config.objective.name == "FactorVAE":
                assert config.objective.options["critic_initialisation"] == "truncated_normal"
    config = configs("sbd-fig6")["DeConv"]
    critic = config.make_objective(config.make_model((3, 64, 64))).critic
    assert isinstance(critic, torch.nn.Module)
    for layer in (m for m in critic.modules() if isinstance(m, torch.nn.Linear)):
        assert float(layer.bias.detach().abs().max()) == 0
        # Variance 1 / inputs, cut at two deviations of the normal before cutting.
        assert float(layer.weight.detach().std()) == pytest.approx(layer.in_features**-0.5, rel=0.25)


def test_sbd_takes_mig_by_sampling_in_its_protocol() -> None:
    for name in ("sbd-fig2", "sbd-fig4", "sbd-fig6", "sbd-table9", "sbd-fig10"):
        study = RECIPES[name].study("paper")
        assert study is not None
        assert "sampled_mig" in study.metrics

    class ScoredJob:
        def __init__(self, scale: str) -> None:
            self.scale = scale

        def scores(self, variant: str, name: str) -> np.ndarray:
            return np.array([1.0 if name == "sampled_mig" else 2.0])

    paper: Any = ScoredJob("paper")
    small: Any = ScoredJob("small")
    assert (column(paper, "", "mig")[0], column(small, "", "mig")[0]) == (1.0, 2.0)


def test_circles_of_the_paper_are_500_000_images() -> None:
    assert {c.data.options["finite"] for c in configs("sbd-fig4").values()} == {500_000}
    assert {c.data.options["finite"] for c in configs("sbd-fig4", "small").values()} == {None}


def test_figure_11_has_a_gaussian_decoder() -> None:
    gaussian = configs("sbd-fig11")["DeConv FactorVAE, Gaussian"]
    assert gaussian.likelihood.name == "Gaussian"
    assert gaussian.likelihood.options["variance"] == pytest.approx(0.3)


def test_the_hull_of_one_deviation_and_the_mark() -> None:
    points = [Point("1", [0.0, 2.0], [0.0, 2.0]), Point("4", [10.0, 12.0], [10.0, 12.0])]
    spread = np.sqrt(2.0)
    (outline,) = deviation_hulls(points)
    assert outline.min() == pytest.approx(1 - spread)
    assert outline.max() == pytest.approx(11 + spread)
    assert len(outline) == 6  # two squares of equal size along a diagonal: of eight corners two lie inside
    figure = trade_off({"a": points}, x="x", y="y", spread="hull", marked="1")
    white = [line for line in figure.axes[0].lines if line.get_color() == "white"]
    assert [line.get_xydata().tolist() for line in white] == [[[1.0, 1.0]]]


class Grid:
    """What ``embed_grid`` gives, made by hand."""

    def __init__(self, codes: np.ndarray, factors: np.ndarray, held_out: np.ndarray) -> None:
        self.codes, self.factors, self.held_out = codes, factors, held_out


def test_contraction_and_linearity_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    side = np.linspace(0, 1, 9)
    factors = np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)
    hole = (np.abs(factors - 0.5) < 0.3).all(axis=1)

    class Run:
        def model(self) -> Any:
            return type("M", (), {"codes": None})

        def dataset(self) -> None:
            return None

    run: Any = Run()
    monkeypatch.setattr(geometry, "embed_grid", lambda *_: Grid(3 * factors, factors, hole))
    assert geometry.hole_size(run) == pytest.approx(1)
    assert geometry.linearity_of(run) == pytest.approx((1, 1))
    shrunk = 3 * factors
    shrunk[hole] = 1.5 + 0.5 * (shrunk[hole] - 1.5)
    monkeypatch.setattr(geometry, "embed_grid", lambda *_: Grid(shrunk, factors, hole))
    assert 0.45 < geometry.hole_size(run) < 0.6
    bent = np.stack([factors[:, 0], np.abs(factors[:, 1] - 0.5)], axis=1)
    monkeypatch.setattr(geometry, "embed_grid", lambda *_: Grid(bent, factors, hole))
    assert geometry.linearity_of(run) == pytest.approx((1, 0), abs=1e-9)


def test_the_order_of_factors_and_the_text_of_rec() -> None:
    printed = {"random": (0.1, 0.0), "a": (0.05, 0.0), "b": (0.049, 0.0), "c": (0.02, 0.0)}
    assert order_of("x", {"random": 0.1, "a": 0.04, "b": 0.045, "c": 0.02}, printed).value == 0
    assert order_of("x", {"random": 0.1, "a": 0.01, "b": 0.045, "c": 0.02}, printed).value == 1
    assert list(TEXT.values()) == [0.058, 0.057, 0.025, 0.022, 0.017, 0.075]
    assert deviation_tolerance("XYSquares", 0.0) == pytest.approx(0.0005)


def coarse(images: torch.Tensor) -> torch.Tensor:
    """An augmentation for the test below: means of blocks of 4 x 4 pixels."""
    return torch.nn.functional.avg_pool2d(images, 4)


def test_any_augmentation_can_be_named_on_the_command_line() -> None:
    config = Config.read(
        words=[
            "data=xysquares",
            "likelihood=MSE",
            f"likelihood.augmentation={__file__}:coarse",
            "likelihood.blur_weight=10",
        ]
    )
    likelihood = config.make_model((1, 8, 8)).likelihood
    ones, zeros = torch.ones(1, 1, 8, 8), torch.zeros(1, 1, 8, 8)
    assert float(likelihood(zeros).log_prob(ones)) == pytest.approx(-(64 + 10 * 4))
    assert float(MSE((1, 8, 8))(zeros).log_prob(ones)) == pytest.approx(-64)


def test_findings_of_rec_have_dci_beside_mig_and_maxima() -> None:
    from unweave.recipes.rec import figure_6

    class Scores:
        def scores(self, label: str, score: str) -> np.ndarray:
            beta = float(label.split("β ")[1].split(",")[0])
            good = 0.001 if "XYSquares, β" in label else 1.0
            return np.array([1.0 if beta == good else 0.2])

    job: Any = Scores()
    grid = figure_6.cells("paper")
    assert figure_6.best_beta(job, grid, "β-VAE").value == pytest.approx(3)
