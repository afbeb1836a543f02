import html
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from safetensors.torch import save_file
from scipy import stats

from unweave.metrics import Score
from unweave.metrics.statistics import difference, holm, mean_interval
from unweave.reports import write_sweep_report
from unweave.reports.sweep import _least_rank_sum
from unweave.reports.sweep_figures import _complete_scores, _short, sweep_figures
from unweave.reports.variants import variant_scores, variants_of
from unweave.runs import Study
from unweave.runs.run import fresh
from unweave.runs.sweep import Member, Sweep

BASE = {
    **{"data": "circles", "data.size": 32, "latents": 3, "steps": 10, "batch_size": 4},
    **{"encoder.channels": [4, 4], "encoder.hidden": [8]},
}
DECODERS = [
    {"name": "Deconv", "channels": [4, 4], "hidden": [8]},
    {"name": "SpatialBroadcast", "width": 4, "depth": 2},
]
MEANS = {
    ("Deconv", 1.0): 0.1,
    ("Deconv", 4.0): 0.2,
    ("SpatialBroadcast", 1.0): 0.5,
    ("SpatialBroadcast", 4.0): 0.9,
}


def finish(member: Member, mig: float) -> None:
    """Make a run look finished: fresh weights, a short history, scores."""
    run = member.run
    model, _ = fresh(run.config, run.dataset(), "cpu")
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, run.folder / "model.safetensors")
    (run.folder / "status.json").write_text(json.dumps({"status": "finished", "step": 10, "seconds": 2.0}))
    (run.folder / "history.jsonl").write_text('{"step": 10, "total": 5.0, "seconds": 2.0}\n')
    nats = {"unit": "nats per image"}
    scores = [
        Score("mig", mig),
        Score("nll", 100 - 50 * mig, range=(None, None), higher_is_better=False, constants=nats),
        Score("kl", 10 * mig, range=(0.0, None), constants={"per_latent": [1.0, 0.5, 0.0]}),
        Score("elbo", -100 + 40 * mig, range=(None, None)),
    ]
    (run.folder / "scores.json").write_text(json.dumps({s.name: s.to_json() for s in scores}))


def sweep_of(folder: Path) -> tuple[Sweep, dict[str, list[float]]]:
    """A 2 x 2 x 5 sweep whose MIG is known."""
    grid = {"objective.beta": [1.0, 4.0], "decoder": DECODERS}
    study = Study.of({"base": BASE, "grid": grid, "seeds": 5, "title": "Two & two"}, name="known")
    sweep = Sweep.create(study, folder, "unweave sweep known.yaml")
    rng = np.random.default_rng(0)
    values: dict[str, list[float]] = {}
    for member in sweep.members:
        config = member.run.config
        value = MEANS[config.decoder.name, config.objective.options["beta"]] + 0.02 * float(rng.normal())
        values.setdefault(member.variant, []).append(value)
        finish(member, value)
    return Sweep(folder), values


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, dict[str, list[float]]]:
    return sweep_of(tmp_path_factory.mktemp("sweep") / "known")


@pytest.fixture(scope="module")
def written(known: tuple[Sweep, dict[str, list[float]]]) -> Path:
    return write_sweep_report(known[0])


def test_the_page_shows_means_intervals_and_tests(
    known: tuple[Sweep, dict[str, list[float]]],
    written: Path,
    read: Callable[[Path], Any],
) -> None:
    _, values = known
    page = read(written)
    for name, sample in values.items():
        found = mean_interval(sample)
        assert f"{name} 5 " in page.text
        assert f"{found.mean:.3f}" in page.text
        assert f"{found.low:.3f} to {found.high:.3f}" in page.text
    names = list(values)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    adjusted = holm([difference(values[a], values[b]).p for a, b in pairs])
    for (a, b), p in zip(pairs, adjusted, strict=True):
        higher, lower = (a, b) if np.mean(values[a]) > np.mean(values[b]) else (b, a)
        gap = np.mean(values[higher]) - np.mean(values[lower])
        shown = f"{p:.3f}" if p >= 0.001 else "< 0.001"
        assert re.search(rf"{higher} {lower} {gap:.3f} .{{10,30}} {shown} ", page.text), (a, b, p)
    best = "beta=4.0 SpatialBroadcast"
    assert f"{best} has the best MIG: {np.mean(values[best]):.3f} on average over 5 seeds" in page.text
    assert "significantly better than all others" in page.text
    assert "Of 6 pairs of variants, 6 differ significantly" in page.text
    assert "of 5 against 5 values its p cannot be below 0.0079." in page.text
    assert "Two & two" in page.text
    assert "unweave sweep known.yaml" in page.text
    assert "torch" in page.text
    assert "did not finish" not in page.text


def test_the_page_has_every_picture_also_for_papers(
    known: tuple[Sweep, dict[str, list[float]]],
    written: Path,
    read: Callable[[Path], Any],
) -> None:
    sweep, _ = known
    page = read(written)
    figures = [
        *("score mig", "score elbo", "score nll", "score kl"),
        *("mig against reconstruction", "rate distortion", "agreement"),
    ]
    traversed = [alt for alt in page.pictures if " varied from " in alt]
    assert [alt for alt in page.pictures if alt not in traversed] == figures
    assert len(traversed) == 3 * (3 + 4 * 3), (
        "three latents of best, median and worst of all and of each variant"
    )
    files = {path.name for path in (sweep.folder / "pictures").iterdir()}
    assert files == {f"{name.replace(' ', '-')}.{kind}" for name in figures for kind in ("png", "svg", "pdf")}
    assert (sweep.folder / "pictures" / "score-mig.pdf").read_bytes()[:5] == b"%PDF-"


def test_best_median_and_worst_run_are_shown(
    known: tuple[Sweep, dict[str, list[float]]],
    written: Path,
    read: Callable[[Path], Any],
) -> None:
    _, values = known
    everything = sorted((v for sample in values.values() for v in sample), reverse=True)
    text = read(written).text
    for word, value in (("best", everything[0]), ("median", everything[10]), ("worst", everything[-1])):
        assert f"{word}: {value:.3f}" in text


def test_runs_that_did_not_finish_are_shown_as_such(
    known: tuple[Sweep, dict[str, list[float]]],
    tmp_path: Path,
    read: Callable[[Path], Any],
) -> None:
    shutil.copytree(known[0].folder, tmp_path / "out")
    sweep = Sweep(tmp_path / "out")
    ends = {
        0: {"status": "diverged", "reason": "the loss is nan at step 7", "step": 6},
        1: {"status": "failed", "reason": "MemoryError: <too big>", "step": 3},
        2: {"status": "interrupted", "reason": "stopped by the user", "step": 5},
    }
    for index, status in ends.items():
        folder = sweep.members[index].run.folder
        (folder / "model.safetensors").unlink()
        (folder / "status.json").write_text(json.dumps(status))
    page = read(write_sweep_report(sweep))
    assert "1 of 20 runs diverged" in page.text
    assert "1 of 20 runs failed" in page.text
    assert "1 of 20 runs are not finished" in page.text
    assert "beta=1.0 Deconv 2 + 1 diverged + 1 failed + 1 unfinished" in page.text
    assert "2 runs diverged or failed; the means of their variants exclude them" in page.text
    assert "the loss is nan at step 7" in page.text
    assert "MemoryError: <too big>" in page.text, "reasons are escaped"
    assert f"unweave runs log {sweep.members[1].run.folder}" in page.text
    found = mean_interval(known[1]["beta=1.0 Deconv"][3:])
    assert f"{found.mean:.3f}" in page.text


def test_a_sweep_that_has_not_begun_has_a_page(tmp_path: Path) -> None:
    study = Study.of({"base": BASE, "grid": {"objective.beta": [1, 4]}}, name="new")
    path = write_sweep_report(Sweep.create(study, tmp_path))
    text = re.sub(r"\s+", " ", path.read_text())
    assert "No run has been scored yet." in text
    assert "2 of 2 runs are not finished" in text


def test_pages_are_the_same_byte_for_byte(
    known: tuple[Sweep, dict[str, list[float]]], written: Path, tmp_path: Path
) -> None:
    beside = write_sweep_report(known[0], written.parent / "b.html")
    assert beside.read_bytes() == written.read_bytes()
    write_sweep_report(known[0], tmp_path / "b.html")
    assert list(tmp_path.iterdir()) == [tmp_path / "b.html"], "a page elsewhere brings no folder of pictures"


def test_every_run_has_a_link(
    known: tuple[Sweep, dict[str, list[float]]], written: Path, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    sweep, _ = known
    page = read(written)
    places = [(written.parent / unquote(link)).resolve() for link in page.links]
    assert set(places) == {member.run.folder.resolve() for member in sweep.members}
    assert "0 of 20 have a page of their own" in page.text
    shutil.copytree(sweep.folder, tmp_path / "with pages")
    copied = Sweep(tmp_path / "with pages")
    own = copied.members[3].run.folder / "report.html"
    own.write_text("")
    page = read(write_sweep_report(copied, copied.folder / "page.html"))
    assert own.resolve() in {(copied.folder / unquote(link)).resolve() for link in page.links}
    assert "1 of 20 have a page of their own" in page.text


def live_points(page: Path, alt: str) -> list[list[Any]]:
    """The points of the figure whose description begins with `alt`: x, y in thousandths, label, tile, link."""
    found = re.search(rf'aria-label="{alt};[^"]*" data-points="([^"]*)"', page.read_text())
    assert found, alt
    return json.loads(html.unescape(found[1]))


def test_a_point_tells_its_run_and_leads_to_it(
    known: tuple[Sweep, dict[str, list[float]]], written: Path
) -> None:
    sweep, _ = known
    told = {label: link for _, _, label, _, link in live_points(written, "score mig")}
    assert len(told) == 20
    for member in sweep.members:
        value = member.run.scores["mig"]["value"]
        link = told[f"{member.variant}, seed {member.run.config.seed}: MIG {value:.3f}"]
        assert (written.parent / unquote(link)).resolve() == member.run.folder.resolve()
    heights = {label: y for _, y, label, *_ in live_points(written, "score mig")}
    by_value = sorted(heights, key=lambda label: float(label.rsplit(" ", 1)[1]))
    assert [heights[label] for label in by_value] == sorted(heights.values(), reverse=True), "higher is above"


def changed(known: tuple[Sweep, dict[str, list[float]]], folder: Path, scores: dict[int, dict]) -> Sweep:
    """A copy of a sweep in which some runs have other scores."""
    shutil.copytree(known[0].folder, folder)
    sweep = Sweep(folder)
    for number, other in scores.items():
        path = sweep.members[number].run.folder / "scores.json"
        stored = json.loads(path.read_text())
        for name, value in other.items():
            stored.setdefault(name, Score(name, 0.0, range=(0.0, None)).to_json())["value"] = value
        path.write_text(json.dumps(stored))
    return Sweep(folder)


def test_impossible_values_are_not_drawn(known: tuple[Sweep, dict[str, list[float]]], tmp_path: Path) -> None:
    sweep = changed(known, tmp_path / "negative", {0: {"kl": -0.5}, 1: {"kl": -1e-9}})
    page = write_sweep_report(sweep, sweep.folder / "page.html")
    labels = [label for _, _, label, *_ in live_points(page, "score kl")]
    assert len(labels) == 18 and not any("KL −" in label for label in labels)
    variants = variants_of(sweep)
    panel = sweep_figures(variants, variant_scores(variants), "mig")["score-kl"].figure.axes[0]
    drawn = np.concatenate([np.asarray(line.get_ydata(), float) for line in panel.lines])
    assert drawn.min() >= 0
    assert panel.get_ylim()[0] > -0.05 * drawn.max(), "the axis ends where KL does"


def test_a_collapsed_variant_is_best_at_nothing(
    known: tuple[Sweep, dict[str, list[float]]], tmp_path: Path, read: Callable[[Path], Any]
) -> None:
    best = "beta=4.0 SpatialBroadcast"
    dead = {k: {"kl": 0.01, "latents_used": 0.0} for k, m in enumerate(known[0].members) if m.variant == best}
    assert len(dead) == 5
    path = write_sweep_report(changed(known, tmp_path / "dead", dead), tmp_path / "dead" / "page.html")
    page = read(path)
    assert f"Most runs of {best} have collapsed" in page.text
    assert "beta=1.0 SpatialBroadcast has the best MIG" in page.text
    assert not re.search(rf"<th[^>]*>{best}</th>(?:(?!</tr>).)*best", path.read_text(), re.S)
    compared = _complete_scores(variants_of(Sweep(path.parent)), ["mig", "nll"])
    assert len(compared["mig"]) == 15, "what has collapsed does not tell whether scores agree"


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_the_least_p_of_the_rank_sum_test_is_that_of_groups_that_do_not_overlap(seeds: int) -> None:
    least = stats.mannwhitneyu(range(seeds), range(10, 10 + seeds), method="exact").pvalue
    assert _least_rank_sum(seeds) == f"of {seeds} against {seeds} values its p cannot be below {least:.2g}"


def test_values_of_a_key_are_written_as_one_would() -> None:
    assert [_short(value) for value in (0.5, 1.0, 4.25, 1000.0, 12345.0, 2e7)] == [
        *("0.5", "1", "4.25", "1000", "12345", "2e+07"),
    ]


def test_two_seeds_have_no_interval_and_no_test(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    study = Study.of({"base": BASE, "grid": {"objective.beta": [1.0, 4.0]}, "seeds": 2}, name="two")
    sweep = Sweep.create(study, tmp_path)
    for k, member in enumerate(sweep.members):
        finish(member, 0.2 + 0.1 * k)
    page = read(write_sweep_report(Sweep(tmp_path), tmp_path / "page.html"))
    assert "With fewer than three seeds no interval is given." in page.text
    assert "Which differences are significant" not in page.text
    assert "with fewer than three seeds each, significance is not tested" in page.text
    assert not re.search(r"\d to [−\d]", page.text.partition("Settings that all runs share")[0])
    assert "How does beta (1, 4) change MIG?" in page.text
