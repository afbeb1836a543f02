"""SBD: plans against the paper's appendix A, published numbers against each other, statistics against closed forms."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from unweave.recipes.catalogue import RECIPES
from unweave.recipes.recipe import Job
from unweave.recipes.sbd import (
    figure_3,
    figure_10,
    published,
    table_5,
    table_6,
    table_7,
    table_8,
    table_9,
    table_10,
)
from unweave.recipes.sbd.geometry import broadcast_higher, held_out_error
from unweave.recipes.sbd.score_table import mean_and_spread
from unweave.recipes.shortfall import compared_with_paper, shortfall
from unweave.runs.config import Config

IDS = [f"sbd-fig{n}" for n in range(2, 21)] + [f"sbd-table{n}" for n in range(5, 11)]


def configs(name: str, scale: Any = "paper") -> dict[str, list[Config]]:
    study = RECIPES[name].study(scale)
    assert study is not None
    return {variant: [run.config for run in runs] for variant, runs in study.variants.items()}


def test_every_figure_and_table_has_a_recipe() -> None:
    built = [f"sbd-table{n}" for n in range(1, 5)]  # nothing is trained for these
    assert sorted(name for name in RECIPES if name.startswith("sbd-")) == sorted([*IDS, *built])


@pytest.mark.parametrize(
    ("name", "steps", "replicas", "batch", "rate"),
    [
        ("sbd-fig2", 1_500_000, 25, 16, 3e-4),
        ("sbd-fig3", 1_500_000, 10, 16, 3e-4),
        ("sbd-fig4", 500_000, 15, 16, 3e-4),
        ("sbd-fig5", 1_500_000, 25, 16, 3e-4),
        ("sbd-fig6", 1_000_000, 25, 32, 1e-4),
        ("sbd-fig7", 500_000, 5, 16, 3e-4),
        ("sbd-fig9", 1_500_000, 25, 16, 3e-4),
        ("sbd-table5", 1_500_000, 25, 16, 3e-4),
        ("sbd-table9", 2_500_000, 25, 16, 3e-4),
    ],
)
def test_the_paper_scale_is_the_papers_protocol(
    name: str, steps: int, replicas: int, batch: int, rate: float
) -> None:
    for runs in configs(name).values():
        assert len(runs) == replicas
        for config in runs:
            found = (config.steps, config.batch_size, config.learning_rate, config.latents)
            assert found == (steps, batch, rate, 10)
            assert config.likelihood.name == "Bernoulli"
            assert config.encoder.options["initialisation"] == "truncated_normal"


def test_networks_are_those_of_table_1() -> None:
    runs = {variant: each[0] for variant, each in configs("sbd-fig2").items()}
    deconv, broadcast = runs["DeConv"], runs["Spatial Broadcast"]
    assert tuple(deconv.encoder.options["channels"]) == (64, 64, 64, 64)
    assert tuple(deconv.encoder.options["hidden"]) == (256,)
    vae = deconv.make_model((3, 64, 64))
    # FC(256), reshape(2 x 2 x 64), five DeConv(k = 4, s = 2) of which the last has C channels; with biases.
    sizes = 10 * 256 + 256 + 4 * (64 * 64 * 16 + 64) + 64 * 3 * 16 + 3
    assert sum(p.numel() for p in vae.decoder.parameters()) == sizes  # type: ignore[union-attr]
    vae = broadcast.make_model((3, 64, 64))
    # tile, coordinates, three Conv(k = 4, s = 1) of which the last has C channels.
    sizes = (12 * 64 + 64 * 64 + 64 * 3) * 16 + 64 + 64 + 3
    assert sum(p.numel() for p in vae.decoder.parameters()) == sizes  # type: ignore[union-attr]


def test_networks_of_factor_vaes_are_those_of_table_2() -> None:
    runs = {variant: each[0] for variant, each in configs("sbd-fig11").items()}
    assert list(runs) == [
        "DeConv VAE",
        "Spatial Broadcast VAE",
        "DeConv FactorVAE",
        "Spatial Broadcast FactorVAE",
        "DeConv FactorVAE, Gaussian",
    ]
    deconv, broadcast = runs["DeConv FactorVAE"], runs["Spatial Broadcast FactorVAE"]
    for config in (deconv, broadcast):
        assert tuple(config.encoder.options["channels"]) == (32, 32, 64, 64)
        assert config.objective.name == "FactorVAE"
        wanted = {"gamma": 35.0, "critic_learning_rate": 2e-5, "critic_layers": 6, "critic_width": 1000}
        assert {key: config.objective.options[key] for key in wanted} == wanted
        assert (config.steps, config.batch_size, config.learning_rate) == (500_000, 32, 1e-4)
    assert tuple(deconv.decoder.options["channels"]) == (64, 64, 64, 32, 32)
    assert broadcast.decoder.options == runs["Spatial Broadcast VAE"].decoder.options


def test_rooms_have_three_layers_more_and_chairs_one_channel() -> None:
    runs = {variant: each[0] for variant, each in configs("sbd-fig10").items()}
    assert (runs["chairs"].decoder.options["depth"], runs["rooms"].decoder.options["depth"]) == (3, 6)
    assert (runs["chairs"].steps, runs["rooms"].steps) == (700_000, 2_500_000)
    assert runs["chairs"].make_dataset().image_shape == (1, 64, 64)


def test_betas_run_from_0_4_to_5_4_evenly_in_their_logarithm() -> None:
    assert (figure_3.BETAS[0], figure_3.BETAS[-1]) == (0.4, 5.4) and 1.0 in figure_3.BETAS
    steps = np.diff(np.log(figure_3.BETAS))
    assert steps.max() / steps.min() < 1.6
    assert set(figure_3.SMALL_BETAS) <= set(figure_3.BETAS)
    assert len(configs("sbd-fig3")) == 2 * len(figure_3.BETAS)


@pytest.mark.parametrize(
    ("name", "option", "values"),
    [
        ("sbd-table5", "depth", [2, 3, 4, 5]),
        ("sbd-table6", "channels", [3, 4, 5, 6]),
        ("sbd-table7", "mlp", [0, 1, 2, 3]),
        ("sbd-table8", "hidden", [0, 1, 2]),
        ("sbd-table9", "mlp", [0, 1, 2, 3]),
        ("sbd-table10", "upscales", [0, 1, 2, 3]),
    ],
)
def test_rows_of_tables_vary_what_the_table_varies(name: str, option: str, values: list[int]) -> None:
    given = [runs[0].decoder.options[option] for runs in configs(name).values()]
    assert [each if isinstance(each, int) else len(each) for each in given] == values


def test_tables_share_the_runs_of_figure_2() -> None:
    broadcast = {c.identity for c in configs("sbd-fig2")["Spatial Broadcast"]}
    for name, row in (("sbd-table5", "3 layers"), ("sbd-table7", "0 layers"), ("sbd-table10", "0 upscales")):
        assert {c.identity for c in configs(name)[row]} == broadcast
    deconv = {c.identity for c in configs("sbd-fig2")["DeConv"]}
    for name, row in (("sbd-table6", "5 layers"), ("sbd-table8", "1 layer")):
        assert {c.identity for c in configs(name)[row]} == deconv
    assert {c.identity for c in configs("sbd-fig3")["Spatial Broadcast beta=1"]} < broadcast


@pytest.mark.parametrize(
    ("name", "variant", "hole", "blank"),
    [
        ("sbd-fig4", "xy", "none", 0.0),
        ("sbd-fig7", "xyh_small", "none", 0.0),
        ("sbd-fig8", "xyh_tiny", "none", 0.0),
        ("sbd-fig12", "xy", "center", 0.0),
        ("sbd-fig13", "xy", "corner", 0.0),
        ("sbd-fig14", "xh", "none", 0.0),
        ("sbd-fig15", "xh", "center", 0.0),
        ("sbd-fig16", "xh", "corner", 0.0),
        ("sbd-fig17", "rg", "none", 0.0),
        ("sbd-fig18", "rg", "center", 0.0),
        ("sbd-fig19", "rg", "corner", 0.0),
        ("sbd-fig20", "xh", "none", 0.5),
    ],
)
def test_circles_are_those_of_the_captions(name: str, variant: str, hole: str, blank: float) -> None:
    for runs in configs(name).values():
        wanted = {"variant": variant, "hole": hole, "blank": blank, "size": 64, "finite": 500_000}
        wanted |= {"supersampling": None}  # the exact area, which is the limit of the paper's supersampling
        assert dict(runs[0].data.options) == wanted


def test_smoke_shares_its_runs() -> None:
    runs = {c.identity for name in IDS for each in configs(name, "smoke").values() for c in each}
    assert len(runs) <= 54
    for name in IDS:
        assert all(c.steps == 2 for each in configs(name, "smoke").values() for c in each)


TABLES = [getattr(published, f"TABLE_{number}") for number in range(5, 11)]


@pytest.mark.parametrize("module", [table_5, table_6, table_7, table_8, table_9, table_10])
def test_the_number_of_a_row_is_read_from_its_runs(module: Any) -> None:
    name = f"sbd-table{module.__name__.rpartition('_')[2]}"
    runs = {f"model {k}": each[0] for k, each in enumerate(configs(name).values())}
    job: Any = FakeJob({variant: {"mig": [0.0]} for variant in runs}, runs)
    assert list(module.ABLATION.numbers(job).values()) == list(module.ABLATION.published)
    assert [module.ABLATION.label(number) for number in module.ABLATION.published] == list(configs(name))


def test_published_bounds_are_the_sum_of_their_parts() -> None:
    for table in TABLES:
        for number, (bound, nll, kl, used, mig, score) in table.items():
            assert bound and nll and kl and used and mig and score
            if table is published.TABLE_7 and number == 3:
                continue  # the paper's own 392 against 399 (±114) + 15.7: one replica must have gone astray
            assert abs(bound[0] - nll[0] - kl[0]) <= 2.0
            assert used[0] <= 10 and mig[0] < 1 and score[0] < 1
    assert published.TABLE_5[3] == published.TABLE_10[0]


class FakeJob:
    """Scores and configs by variant; everything else that a conclusion needs of a job."""

    def __init__(
        self, scores: Mapping[str, Mapping[str, list[float]]], configs: Mapping[str, Config] | None = None
    ) -> None:
        self.held, self.variants, self.notes = scores, list(scores), []
        self.configs = configs or {}
        self.scale, self.changes = "small", dict[str, Any]()
        self.recipe = SimpleNamespace(study=lambda scale, changes=None: None)

    def scores(self, variant: str, name: str) -> Any:
        return np.array(self.held[variant][name])

    def runs(self, variant: str) -> list[Any]:
        run = SimpleNamespace(config=self.configs.get(variant))
        return [run] * len(next(iter(self.held[variant].values())))

    def note(self, text: str) -> None:
        self.notes.append(text)

    admit = note


def test_rate_distortion_is_compared_along_lines_of_slope_beta() -> None:
    def scores(nll: list[float], kl: list[float], mig: list[float]) -> dict[str, list[float]]:
        return {"nll": nll, "kl": kl, "mig": mig}

    settings = {
        name: Config.read(words=["data=circles", f"decoder={decoder}", f"objective.beta={beta}"])
        for name, decoder, beta in (
            ("A", "Deconv", 0.4),
            ("B", "Deconv", 5.4),
            ("C", "SpatialBroadcast", 0.4),
            ("D", "SpatialBroadcast", 5.4),
        )
    }
    job: Any = FakeJob(
        {
            "A": scores([100.0, 101.0], [10.0, 12.0], [0.1, 0.2]),
            "B": scores([120.0, 121.0], [5.0, 4.0], [0.2, 0.2]),
            "C": scores([90.0, 92.0], [11.0, 13.0], [0.3, 0.3]),
            "D": scores([110.0, 112.0], [6.0, 4.5], [0.4, 0.5]),
        },
        settings,
    )
    outcome = figure_3.figure_3(job)
    cost = np.array([[100 + 4, 101 + 4.8], [120 + 27, 121 + 21.6]])
    cost -= [[90 + 4.4, 92 + 5.2], [110 + 32.4, 112 + 24.3]]
    for found, differences in zip(outcome.findings[::2], cost, strict=True):
        assert found.value == pytest.approx(differences.mean())
        assert found.p == pytest.approx(stats.ttest_1samp(differences, 0.0).pvalue)
    assert [found.value for found in outcome.findings[1::2]] == pytest.approx([0.15, 0.25])
    assert ["beta = 0.4" in found.what for found in outcome.findings] == [True, True, False, False]
    assert list(outcome.pictures) == ["rate-distortion", "mig"]
    assert outcome.rows[1][:2] == ["DeConv", "0.4"]


def test_comparisons_are_broadcast_minus_deconv_for_each_kind() -> None:
    values = {
        "DeConv VAE": {"geometry": [0.5, 0.6, 0.4]},
        "Spatial Broadcast VAE": {"geometry": [0.9, 0.8, 0.85]},
        "DeConv FactorVAE": {"geometry": [0.5, 0.5, 0.6]},
        "Spatial Broadcast FactorVAE": {"geometry": [0.45, 0.5, 0.55]},
    }
    job: Any = FakeJob(values)
    plain, factor = broadcast_higher(job)
    assert plain.value == pytest.approx(0.35) and factor.value == pytest.approx(-1 / 30)
    assert (plain.verdict, factor.verdict) == ("same direction", "does not show at this scale")
    easier = broadcast_higher(job, margin=0.1)
    assert easier[1].value == pytest.approx(0.1 - 1 / 30)


def test_trends_rank_every_replica_against_the_depth_of_its_run() -> None:
    depths = {
        name: Config.read(words=["data=circles", "decoder=SpatialBroadcast", f"decoder.depth={depth}"])
        for name, depth in (("A", 4), ("B", 2))
    }
    job: Any = FakeJob({"A": {"elbo": [-7.0, -9.0]}, "B": {"elbo": [-5.0, -6.0]}}, depths)
    rho = stats.spearmanr([4, 4, 2, 2], [7.0, 9.0, 5.0, 6.0]).statistic
    found = table_5.ABLATION.trend(job, "elbo", +1)
    assert (found.what, found.value) == ("−ELBO with depth", pytest.approx(rho))


def test_error_at_held_out_points_is_in_ranges_of_the_factors() -> None:
    """Codes are the factors, turned and stretched, but all of the hole lies a tenth of the range beside its place."""
    from unweave.data import Circles

    data = Circles(variant="xy", hole="center", size=32)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]]) * 7

    class Model:
        def codes(self, factors: Any) -> Any:
            moved = factors + 0.06 * data.held_out(factors)[:, None] * np.array([0.6, 0.8])
            return moved @ turn, np.full(factors.shape, 0.1)

    seen_as_images = SimpleNamespace(space=data.space, images=lambda factors: factors, held_out=data.held_out)
    run: Any = SimpleNamespace(model=Model, dataset=lambda: seen_as_images)
    assert held_out_error(run) == pytest.approx(0.1)


def test_the_shortfall_names_what_is_smaller_and_nothing_else() -> None:
    small, full = (configs("sbd-fig4", scale)["DeConv VAE"] for scale in ("small", "paper"))
    sentence = compared_with_paper(small[0], full[0], replicas=(len(small), len(full)))
    assert "steps instead of 500,000" in sentence and "32 pixels a side instead of 64" in sentence
    assert "5 replicas instead of 15" in sentence and "16 channels instead of 64" in sentence
    assert "learning rate 0.001 instead of 0.0003" in sentence and "batch" not in sentence
    assert compared_with_paper(full[0], full[0], replicas=(15, 15)) == ""


def test_share_is_one_minus_error_over_variance() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((5, 3)), rng.random((5, 3))
    wanted = 1 - np.mean((x - y) ** 2) / np.mean(np.var(x, axis=0))
    assert figure_10.explained_share(x, y) == pytest.approx(wanted)


def test_numbers_of_tables_carry_their_deviation() -> None:
    rng = np.random.default_rng(0)
    values = 340 + 3 * rng.standard_normal(25)
    assert mean_and_spread(values) == f"{values.mean():.1f} (±{values.std(ddof=1):.1f})"
    assert mean_and_spread(np.array([8.333])) == "8.33"


def test_a_job_at_paper_scale_falls_short_in_nothing() -> None:
    assert shortfall(Job(RECIPES["sbd-fig4"], "paper")) == ""
