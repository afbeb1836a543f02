"""What the page is made of, and what `unweave explore` does with models that are hard to explore."""

import base64
import io
import json
import re
import shutil
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
from click.testing import CliRunner
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))

from page_content import kept_in, text_of

import unweave
from unweave import data
from unweave.cli import cli
from unweave.errors import UnweaveError
from unweave.explorer import subject, write_explorer
from unweave.explorer.document import compressed
from unweave.explorer.factor_frames import MOST_BYTES, factor_frames
from unweave.explorer.latent_facts import latent_facts, prior_draws
from unweave.explorer.letters import letters_of
from unweave.models import TrainedModel
from unweave.runs import Config, Run


def facts_of(path: Path) -> dict[str, Any]:
    return json.loads(kept_in(path, "facts"))  # type: ignore[no-any-return]


def floats(text: str, columns: int) -> Any:
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(-1, columns)


def verdicts(path: Path) -> list[tuple[str, str]]:
    head = text_of(path).split("</header>")[0]
    return re.findall(r'<p class="health ([\w-]+)">(.*?)</p>', head)


def test_latents_are_sorted_by_kl_and_carry_names_and_suggestions(
    make_run: Callable[..., Run], tmp_path: Path
) -> None:
    model = unweave.load(make_run("named").folder)
    model.scores = {"kl": {"value": 6.0, "constants": {"per_latent": [0.5, 3.0, 0.1, 2.4]}}}
    model.relations = {"factor_names": ["x", "y"], "information": [[0, 0], [0.1, 0.9], [0, 0], [0.8, 0.1]]}
    model.names = {3: "place"}
    [run] = facts_of(write_explorer([model], tmp_path / "a.html"))["runs"]
    assert run["order"] == [1, 3, 0, 2]
    assert [latent["name"] for latent in run["latents"]] == ["z0", "z1", "z2", "place"]
    assert [latent["suggestion"] for latent in run["latents"]] == [None, "y", None, None]
    assert [latent["kl"] for latent in run["latents"]] == [0.5, 3.0, 0.1, 2.4]


def test_points_of_the_plane_are_the_codes_of_the_data(deconv: Run, tmp_path: Path) -> None:
    facts = facts_of(write_explorer([deconv], tmp_path / "a.html"))
    batch = deconv.dataset().sample(256, np.random.default_rng(0))
    found = floats(facts["runs"][0]["codes"], 4)
    np.testing.assert_allclose(found, deconv.model().codes(batch.images)[0], atol=1e-6)
    assert batch.factors is not None
    np.testing.assert_allclose(facts["data"]["factors"]["values"], batch.factors, atol=1e-4)


def test_sliders_span_the_priors_own_marginals() -> None:
    words = ["data=circles", "latents=6"]
    normal = TrainedModel.untrained(Config.read(words=words), (3, 32, 32))
    np.testing.assert_allclose(latent_facts(normal).ranges, [(-2.576, 2.576)] * 6, atol=0.12)
    student = TrainedModel.untrained(Config.read(words=[*words, "prior=StudentT", "prior.nu=3"]), (3, 32, 32))
    low, high = np.array(latent_facts(student).ranges).T
    np.testing.assert_allclose(high, stats.t(3).ppf(0.995), rtol=0.15)
    np.testing.assert_allclose(-low, high, rtol=0.25)


def test_a_prior_that_does_not_factorise_is_drawn_as_a_whole() -> None:
    model = TrainedModel.untrained(Config.read(words=["data=circles", "latents=4", "prior=ISA"]), (3, 32, 32))
    drawn = prior_draws(model, 4_000)
    torch.manual_seed(1)
    other = model.model.prior().sample(torch.Size([4_000])).numpy()  # type: ignore[operator,union-attr]
    for j in range(4):
        assert stats.ks_2samp(drawn[:, j], other[:, j]).pvalue > 1e-3
    # The radius of a subspace is what a product of marginals would get wrong.
    shuffled = np.stack([np.random.default_rng(j).permutation(drawn[:, j]) for j in range(4)], 1)
    radii = [np.linalg.norm(codes[:, :2], axis=1) for codes in (drawn, other, shuffled)]
    assert stats.ks_2samp(radii[0], radii[1]).pvalue > 1e-3
    facts = latent_facts(model, *(np.zeros((5, 4)), np.ones((5, 4)), np.zeros((5, 1))))
    assert facts.kl is not None
    assert facts.measure.startswith("KL to a Gaussian")
    spread = drawn.std(axis=0)
    np.testing.assert_allclose(facts.kl, 0.5 * (1 / spread**2 - 1) + np.log(spread), atol=0.1)


def test_weights_travel_losslessly() -> None:
    content = np.random.default_rng(0).normal(size=1001).astype(np.float16).tobytes() + b"x"
    found = np.frombuffer(zlib.decompress(compressed(content, 2)), np.uint8)
    back = np.append(found[:-1].reshape(2, -1).T.ravel(), found[-1])
    assert back.tobytes() == content


def test_every_pair_of_bytes_is_a_letter_that_a_page_may_hold() -> None:
    letters = letters_of(np.arange(65536, dtype="<u2").tobytes())
    assert not set(letters) & {"\0", "\r", "<", "\ufeff", "\ufffe", "\uffff"}
    assert not any(0xD800 <= ord(letter) <= 0xDFFF for letter in letters)
    assert len(letters) == 65536 + 2048 + 7
    assert letters_of(b"ab" + bytes(1)) == letters_of(b"ab" + bytes(2)), "an odd byte is followed by a zero"


def test_the_kept_models_page_is_no_larger_than_one_and_a_half_megabytes(tmp_path: Path) -> None:
    """The default network, with layers of 256: encoder and decoder in 16 bits, and all that is around them."""
    assert write_explorer(["dsprites-vae"], tmp_path / "a.html").stat().st_size <= 1_500_000


def test_frames_of_factors_are_the_renderers_within_a_budget() -> None:
    circles = data.load("circles")
    frames = factor_frames(circles, np.array([0.5, 0.5]))
    assert frames is not None
    assert frames["kind"] == "grid"
    assert len(frames["sheet"]["png"]) <= MOST_BYTES
    sides = [len(levels) for levels in frames["levels"]]
    x, y = (np.linspace(*size, side) for size, side in zip(circles.factor_space().sizes, sides, strict=True))  # type: ignore[misc]
    for levels, values in zip(frames["levels"], (x, y), strict=True):
        np.testing.assert_allclose(levels, values, atol=1e-4)
    number = 3 * sides[1] + 7
    sheet = np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(frames["sheet"]["png"]))))
    row, column = divmod(number, frames["sheet"]["columns"])
    cut = sheet[row * 64 : (row + 1) * 64, column * 64 : (column + 1) * 64]
    np.testing.assert_array_equal(cut, circles.images([[x[3], y[7]]])[0].transpose(1, 2, 0))


def test_a_collapsed_model_is_called_so_first(
    make_run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = [{"step": step, "total": 7900.0, "reconstruction": 7900.0, "kl": 0.0} for step in range(1, 301)]
    monkeypatch.setattr(Run, "history", losses)
    model = unweave.load(make_run("collapsed").folder)
    model.scores = {
        "kl": {"value": 0.05, "constants": {}},
        "latents_used": {"value": 0.0, "constants": {}},
    }
    path = write_explorer([model], tmp_path / "a.html")
    assert verdicts(path)[0][0] == "collapsed"
    assert text_of(path).index("has collapsed") < text_of(path).index("<main")


def test_other_data_do_not_judge_a_model(tmp_path: Path) -> None:
    """The page's pictures are those of the first model: what a good model of other data makes of them is no fault."""
    circles = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 64, 64))
    good = unweave.load("dsprites-vae")
    [(alone, _)] = verdicts(write_explorer([good], tmp_path / "alone.html"))
    assert alone == "fine"
    page = write_explorer({"circles": circles, "sprites": good}, tmp_path / "both.html")
    [beside] = [kind for kind, sentence in verdicts(page) if "sprites" in sentence and kind != "note"]
    assert beside == "fine"


def test_a_run_that_is_not_finished_says_so(deconv: Run, tmp_path: Path) -> None:
    never = Run.create(deconv.config, tmp_path / "never")
    with pytest.raises(UnweaveError, match="has no weights yet: train it with unweave train"):
        write_explorer([never], tmp_path / "a.html")
    stopped = Run.create(deconv.config, tmp_path / "stopped")
    calls = iter([False, True, True, True, True])
    stopped.train(stop=lambda: next(calls))
    path = write_explorer([stopped], tmp_path / "a.html")
    assert ("note", f"This run is {stopped.status}: its model is that of step 2 of 3.") in verdicts(path)


def test_data_that_are_gone_are_said_and_not_needed(make_run: Callable[..., Run], tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for i in range(9):
        pixels = np.random.default_rng(i).integers(0, 256, (40, 50, 3), np.uint8)
        PIL.Image.fromarray(pixels).save(photos / f"{i}.png")
    run = make_run("photos", data=str(photos), size=32)
    with_data = facts_of(write_explorer([run], tmp_path / "a.html"))
    assert with_data["data"]["points"] == 9
    assert with_data["data"]["frames"] is None
    shutil.rmtree(photos)
    path = write_explorer([run], tmp_path / "b.html")
    assert facts_of(path)["data"] is None
    assert (
        "The data of photos are not here, so walks start from samples of the prior" in verdicts(path)[-1][1]
    )


def test_an_outside_decoder_has_pictures_made_beforehand(
    make_run: Callable[..., Run], odd_decoder: str, tmp_path: Path
) -> None:
    (tmp_path / "odd.py").write_text(odd_decoder)
    run = make_run("odd", f"decoder={tmp_path}/odd.py:Odd", size=32)
    path = write_explorer([run], tmp_path / "a.html")
    assert "you see the nearest of pictures made beforehand" in verdicts(path)[-1][1]
    [facts] = facts_of(path)["runs"]
    codes = floats(facts["frames"], 4)
    made = facts["precomputed"]
    assert made["sheet"]["count"] == len(codes) == len(made["along"])
    sheet = np.asarray(PIL.Image.open(io.BytesIO(kept_in(path, made["sheet"]["png"]))))
    row, column = divmod(20, made["sheet"]["columns"])
    cut = sheet[row * 32 : (row + 1) * 32, column * 32 : (column + 1) * 32]
    np.testing.assert_array_equal(
        cut, np.rint(255 * run.model().decode_mean(codes[20:21])[0]).transpose(1, 2, 0)
    )


def test_what_is_nothing_to_look_at_is_refused_in_a_sentence(tmp_path: Path) -> None:
    words = ["data=pinwheel", "latents=2", "encoder=MLP", "decoder=MLP", "likelihood=Gaussian"]
    points = TrainedModel.untrained(Config.read(words=words), (1, 1, 2))
    with pytest.raises(
        UnweaveError, match="explore shows images of 1 or 3 channels and at least 4 x 4 pixels"
    ):
        write_explorer([points], tmp_path / "a.html")
    circles = TrainedModel.untrained(Config.read(words=["data=circles", "latents=2"]), (3, 32, 32))
    with pytest.raises(UnweaveError, match="from 1 to 6 models side by side, got 7"):
        write_explorer([circles] * 7, tmp_path / "a.html")


def test_the_command_writes_a_page_of_a_kept_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(
        cli, ["explore", "dsprites-vae", "--out", "page.html"], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    assert "page.html (" in result.output.replace("\n", "")
    [run] = facts_of(tmp_path / "page.html")["runs"]
    assert run["description"]["precision"] == "fixed16"
    assert run["order"][:2] == [1, 0], "the latents with the largest KL in models/dsprites-vae/scores.json"
    assert [verdict for verdict, _ in verdicts(tmp_path / "page.html")] == ["fine"]


def test_the_verdict_does_not_take_a_change_of_weights_for_learning(
    deconv: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = np.arange(1, 1001)
    weights, cost = np.where(steps < 200, 64.0, 1.0), 40 + 160 * np.exp(-steps / 300)
    records = [
        # a third term, as of FactorVAE: only the schedule tells how much the KL weighed
        {"step": int(i), "total": r + w * 20 + np.sin(i), "reconstruction": r, "kl": 20.0}
        for i, r, w in zip(steps, cost, weights, strict=True)
    ]
    model = unweave.load(deconv.folder)
    model.scores = {"kl": {"value": 20.0}, "latents_used": {"value": 3.0}}
    monkeypatch.setattr(Run, "history", records)
    monkeypatch.setattr(subject, "kl_weights", lambda run: weights.tolist())
    [(verdict, sentence), *_] = verdicts(write_explorer([model], tmp_path / "a.html"))
    assert verdict == "under-trained"
    assert "its loss still falls" in sentence
    monkeypatch.setattr(subject, "kl_weights", lambda run: None)
    [(_, sentence), *_] = verdicts(write_explorer([model], tmp_path / "a.html"))
    assert "its loss still falls" not in sentence, "the weight of 64 hides it"


def test_two_pages_of_one_model_are_the_same_byte_for_byte(deconv: Run, tmp_path: Path) -> None:
    first, second = (write_explorer([deconv], tmp_path / f"{name}.html") for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_a_title_cannot_become_markup(deconv: Run, tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    text = text_of(write_explorer({evil: deconv, "b": deconv}, tmp_path / "a.html", title=evil))
    assert "<script>alert" not in text
    assert facts_of(tmp_path / "a.html")["runs"][0]["label"] == evil
