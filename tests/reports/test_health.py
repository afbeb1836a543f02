"""Twenty runs with known health get the right verdict, and a page praises none that has not learned."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from unweave.metrics import Score
from unweave.reports.health import (
    Evidence,
    Health,
    evidence,
    explained_variance,
    fall,
    judge,
    losses_at_last_weights,
)
from unweave.reports.narrative import ComparedRun, findings, headline, score_rows
from unweave.reports.run_summary import kl_weights
from unweave.runs import Config, Run

RNG = np.random.default_rng(0)
STEPS = np.arange(5, 5001, 5)


def curve(
    final: float, *, start: float = 250.0, time: float = 400.0, slope: float = 0.0, noise: float = 1.0
) -> list:
    """A loss that falls from the mean image's cost at `start` to `final`, then by `slope` nats over the last tenth."""
    shape = final + (start - final) * np.exp(-STEPS / time) - slope * (STEPS - 5000) / 500
    return [
        (int(s), float(x))
        for s, x in zip(STEPS, shape + noise * RNG.standard_normal(len(STEPS)), strict=True)
    ]


def kls(*points: float) -> list:
    """A KL that goes through evenly spaced points."""
    return list(
        zip(STEPS.tolist(), np.interp(STEPS, np.linspace(0, 5000, len(points)), points).tolist(), strict=True)
    )


RUNS = {
    "collapsed at once": (
        "collapsed",
        Evidence("finished", 0.02, 0.0, 0.0, curve(245, noise=3), kls(0.1, 0.02)),
    ),
    "collapsed, the case of the issue": ("collapsed", Evidence("finished", 0.08, 0.0, 0.01, curve(240))),
    "collapsed late": (
        "collapsed",
        Evidence("finished", 0.05, 0.1, 0.0, curve(240), kls(0.1, 12, 14, 3, 0.05)),
    ),
    "collapsed while its loss still falls": (
        "collapsed",
        Evidence("finished", 0.1, 0.0, 0.02, curve(200, slope=9)),
    ),
    "collapsed, not finished": ("collapsed", Evidence("interrupted", 0.0, 0.0, -0.1, curve(240)[:200])),
    "collapsed, nothing else known": ("collapsed", Evidence("finished", 0.3, 0.2)),
    "diverged": ("diverged", Evidence("diverged", 12.0, 4.0, 0.9, curve(80))),
    "diverged without a score": ("diverged", Evidence("diverged")),
    "beta too high, one latent left": ("over-regularised", Evidence("finished", 2.1, 1.0, 0.22, curve(190))),
    "beta too high, two latents": ("over-regularised", Evidence("finished", 5.0, 2.0, 0.45, curve(140))),
    "stopped early": ("under-trained", Evidence("finished", 9.0, 4.0, 0.5, curve(98, time=2500))),
    "falls slowly at a small constant rate": (
        "under-trained",
        Evidence("finished", 20.0, 7.0, 0.6, curve(98, slope=3)),
    ),
    "falls, but reconstructs well": (
        "under-trained",
        Evidence("finished", 25.0, 9.0, 0.97, curve(40, slope=5)),
    ),
    "latents used, blank reconstructions": (
        "under-trained",
        Evidence("finished", 3.0, 2.0, 0.03, curve(230)),
    ),
    "interrupted in the fall": ("under-trained", Evidence("interrupted", 8.0, 3.0, 0.4, curve(98)[:200])),
    "fine": ("fine", Evidence("finished", 21.0, 8.0, 0.95, curve(49))),
    "fine, a noisy loss": ("fine", Evidence("finished", 21.0, 8.0, 0.95, curve(49, noise=12))),
    "fine, few latents for simple data": ("fine", Evidence("finished", 6.0, 2.0, 0.9, curve(30))),
    "fine, 3D Shapes: a loss with a high floor": (
        "fine",
        Evidence("finished", 33.0, 10.0, 0.97, curve(3580, start=7500, noise=20)),
    ),
    "fine, no history": ("fine", Evidence("finished", 21.0, 8.0, 0.8)),
    "not scored": ("unknown", Evidence("finished", losses=curve(49))),
}


@pytest.mark.parametrize("name", RUNS)
def test_made_up_runs_get_the_right_verdict(name: str) -> None:
    expected, seen = RUNS[name]
    found = judge(seen)
    assert found.verdict == expected, found.sentence
    assert found.has_learned == (expected not in ("collapsed", "diverged"))


def test_a_blank_model_that_uses_no_latent_has_not_learned() -> None:
    """60 steps: KL 0.8, no latent used, a flat picture for every image; its page spoke of geometry and MIG."""
    short = [(step, 7900 - 3.3 * step) for step in range(1, 61)]
    seen = Evidence("finished", 0.8, 0.0, 0.001, short)
    found = judge(seen)
    assert (found.verdict, found.has_learned) == ("under-trained", False)
    assert "its loss still falls, by 19.8 nats" in found.sentence
    assert found.sentence.endswith("No latent is used yet, so its other scores mean nothing.")
    assert judge(dataclasses.replace(seen, latents_used=2.0)).has_learned
    assert judge(dataclasses.replace(seen, explained=0.6)).has_learned
    settled = judge(dataclasses.replace(seen, losses=curve(240)))
    assert (settled.verdict, settled.has_learned) == ("under-trained", False)
    assert headline(COLLAPSED, ("x", "y"), 10, found) == found.sentence


def test_a_code_that_is_silent_after_a_few_steps_has_not_collapsed_but_not_begun() -> None:
    """Eight steps of a broadcast VAE were called collapsed, as if it had lost something."""
    eight = Evidence("finished", 0.01, 0.0, -0.1, [(step, 7900.0) for step in range(1, 9)], [(8, 0.01)])
    found = judge(eight)
    assert (found.verdict, found.is_blank, found.has_learned) == ("under-trained", True, False)
    assert found.sentence == (
        "The model is under-trained: it was trained for 8 steps only. "
        "No latent is used yet, so its other scores mean nothing."
    )
    for last, verdict in ((200, "under-trained"), (201, "collapsed")):
        assert judge(dataclasses.replace(eight, losses=[(1, 7900.0), (last, 7900.0)])).verdict == verdict
    assert judge(dataclasses.replace(eight, kls=[(4, 14.0), (8, 0.01)])).verdict == "collapsed", "it was lost"


def test_there_are_twenty() -> None:
    assert len(RUNS) >= 20


def test_a_late_collapse_says_when() -> None:
    assert "It held 14.0 nats at step 2,500 and lost them." in judge(RUNS["collapsed late"][1]).sentence
    assert "lost them" not in judge(RUNS["collapsed at once"][1]).sentence


def test_the_fall_is_measured_in_nats_and_as_a_share_of_what_was_learned() -> None:
    straight = [(step, 200.0 - 0.02 * step) for step in range(1, 5001)]
    found = fall(straight)
    assert found is not None
    assert found.nats == pytest.approx(0.02 * 500)
    learned = (200 - 0.02 * 125.5) - (200 - 0.02 * 4750.5)
    assert found.share == pytest.approx(10 / learned, rel=1e-3)
    assert fall([(step, 100.0 + 0.02 * step) for step in range(1, 5001)]) is None  # it rises
    assert fall(straight[:29]) is None
    assert fall([(step, float("nan")) for step in range(1, 5001)]) is None


def unfolding(weights: np.ndarray, *, beta: float = 1.0, critic: float = 0.0) -> list[dict]:
    """Records of a run that still learns, whose KL was multiplied by `weights`; `critic`: a third term of its loss."""
    costs = 40 + 200 * np.exp(-STEPS / 2500)
    rates = 20 + 5 * np.exp(-STEPS / 1000)
    extra = critic * (3 + np.sin(STEPS / 50))
    totals = costs + beta * weights * rates + extra
    return [
        {"step": int(s), "total": float(t), "reconstruction": float(r), "kl": float(k)}
        for s, t, r, k in zip(STEPS, totals, costs, rates, strict=True)
    ]


WEIGHTS = np.where(STEPS < 1000, 16.0, 1.0)


@pytest.mark.parametrize("beta", [1.0, 4.0])
def test_a_change_of_weights_is_no_learning(beta: float) -> None:
    weighted, plain = unfolding(WEIGHTS, beta=beta), unfolding(np.ones(len(STEPS)), beta=beta)
    expected = [(record["step"], record["total"]) for record in plain]
    found = losses_at_last_weights(weighted)
    assert [step for step, _ in found] == STEPS.tolist()
    np.testing.assert_allclose([loss for _, loss in found], [loss for _, loss in expected], rtol=1e-12)
    as_logged = fall([(record["step"], record["total"]) for record in weighted])
    repaired, true = fall(found), fall(expected)
    assert as_logged is not None and repaired is not None and true is not None
    assert repaired.share == pytest.approx(true.share)
    assert as_logged.share < 0.6 * true.share, "the early weight hid how much it still learns"


def test_a_loss_of_three_terms_loses_the_schedules_part_alone() -> None:
    weighted, plain = unfolding(WEIGHTS, critic=2.0), unfolding(np.ones(len(STEPS)), critic=2.0)
    found = losses_at_last_weights(weighted, WEIGHTS.tolist())
    np.testing.assert_allclose([loss for _, loss in found], [r["total"] for r in plain], rtol=1e-12)
    assert losses_at_last_weights(plain) == [(r["step"], r["total"]) for r in plain]
    without_terms = [{"step": 1, "total": 3.0}, {"step": 2, "total": 2.0}]
    assert losses_at_last_weights(without_terms) == [(1, 3.0), (2, 2.0)]


def test_an_under_trained_run_of_unfolding_is_told_in_time() -> None:
    history = unfolding(WEIGHTS, beta=4.0)
    good = {"kl": Score("kl", 20.0), "latents_used": Score("latents_used", 7.0)}
    settled = {**history[-1]}
    # It still falls by 1.6 % of what was learned, which the early weight of 64 made 0.2 %.
    slow = [{**r, "reconstruction": 40 + 160 * np.exp(-r["step"] / 1500)} for r in history]
    slow = [{**r, "total": r["reconstruction"] + 4 * w * r["kl"]} for r, w in zip(slow, WEIGHTS, strict=True)]
    assert judge(evidence("finished", slow, good, 0.9)).verdict == "under-trained"
    logged = [(r["step"], r["total"]) for r in slow]
    assert judge(Evidence("finished", 20.0, 7.0, 0.9, logged)).verdict == "fine", "as it was judged before"
    flat = [{**settled, "step": r["step"]} for r in history]
    assert judge(evidence("finished", flat, good, 0.9)).verdict == "fine"


def test_the_history_of_a_run_under_unfolding_gives_its_loss_at_the_last_weight(tmp_path: Path) -> None:
    words = ["data=circles", "data.size=32", "steps=40", "batch_size=8", "latents=3", "schedule=Unfolding"]
    small = ["encoder.channels=[4, 4]", "encoder.hidden=[8]", "decoder.channels=[4, 4]", "decoder.hidden=[8]"]
    run = Run.create(Config.read(words=[*words, *small, "objective.beta=2"]), tmp_path / "run")
    assert run.train().status == "finished"
    weights, history = kl_weights(run), run.history
    assert weights is not None and weights[0] == pytest.approx(16) and weights[-1] == 1
    for record, weight in zip(history, weights, strict=True):
        expected = record["reconstruction"] + 2 * weight * record["kl"]
        assert record["total"] == pytest.approx(expected, rel=1e-5), "the weight is that of this very step"
    found = losses_at_last_weights(history, weights)
    expected = [record["reconstruction"] + 2 * record["kl"] for record in history]
    np.testing.assert_allclose([loss for _, loss in found], expected, rtol=1e-4)


def test_explained_variance_of_the_mean_image_is_nothing() -> None:
    images = RNG.integers(256, size=(40, 3, 8, 8)).astype(np.uint8)
    mean = images.mean(0, keepdims=True) / 255
    assert explained_variance(images, mean) == pytest.approx(0, abs=1e-12)
    assert explained_variance(images, images / 255) == 1
    half = mean + np.sqrt(0.5) * (images / 255 - mean)
    assert explained_variance(images, half) == pytest.approx(1 - (1 - np.sqrt(0.5)) ** 2)


def scores(kl: float, used: float, geometry: float, mig: float, nll: float) -> dict[str, Score]:
    return {
        "kl": Score("kl", kl),
        "latents_used": Score("latents_used", used),
        "geometry": Score("geometry", geometry, range=(0.0, 1.0), constants={"unfolded": 1.0, "tilt": 2.0}),
        "mig": Score("mig", mig, mig - 0.01, mig + 0.01, range=(0.0, 1.0)),
        "nll": Score("nll", nll, nll - 1, nll + 1, higher_is_better=False),
    }


COLLAPSED = scores(0.08, 0.0, 0.97, 0.6, 240.0)
GOOD = scores(12.0, 4.0, 0.55, 0.3, 60.0)


def test_a_collapsed_model_is_not_praised() -> None:
    health = judge(Evidence("finished", 0.08, 0.0, 0.0))
    told = headline(COLLAPSED, ("x", "y"), 10, health)
    assert told == health.sentence
    assert "copy of x and y" not in told
    assert "copy of x and y" in headline(COLLAPSED, ("x", "y"), 10)  # as it was told before


def test_a_collapsed_model_is_best_at_nothing_and_compared_with_nobody() -> None:
    bad, good = judge(Evidence("finished", 0.08, 0.0, 0.0)), judge(Evidence("finished", 12.0, 4.0, 0.9))
    rows = score_rows([COLLAPSED, GOOD], [bad, good])
    assert not any(row.cells[0][2] for row in rows)
    assert any(row.cells[0][2] for row in score_rows([COLLAPSED, GOOD]))  # MIG and geometry, as it was before
    told = findings([ComparedRun("A", COLLAPSED, 100, health=bad), ComparedRun("B", GOOD, 100, health=good)])
    assert told[0] == f"A: {bad.sentence}"
    assert not any("A preserves the shape" in each or "ranks A first" in each for each in told)
    before = findings([ComparedRun("A", COLLAPSED, 100), ComparedRun("B", GOOD, 100)])
    assert any("A preserves the shape" in each for each in before)


def test_two_that_have_learned_are_compared_as_ever() -> None:
    fine = Health("fine", "")
    with_health = [ComparedRun("A", COLLAPSED, 100, health=fine), ComparedRun("B", GOOD, 100, health=fine)]
    without = [ComparedRun("A", COLLAPSED, 100), ComparedRun("B", GOOD, 100)]
    assert findings(with_health) == findings(without)
