"""A model is opened, saved and opened again without the data that it was trained on."""

import dataclasses
import json
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

import unweave
from unweave import UnweaveError, artefacts
from unweave.models import find, kept
from unweave.runs import Config, Run, opened
from unweave.runs.weights import FORMAT, About, DataFacts, pack

from .conftest import SMALL, files_of

OLD = Path(__file__).parent.parent / "golden" / "runs"


def test_importing_unweave_does_not_import_torch() -> None:
    code = (
        "import sys, unweave; from unweave.models import kept; kept(); "
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules; "
        "unweave.load; assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_file_of_weights_carries_config_and_format(finished: Run) -> None:
    with safe_open(finished.folder / "model.safetensors", "np") as file:
        stored = json.loads(file.metadata()["unweave"])
    assert stored["format"] == FORMAT == 1
    assert stored["identity"] == finished.config.identity
    assert Config.of(stored["config"]) == finished.config
    assert stored["data"] == {
        "image_shape": [3, 32, 32],
        "crop": 0,
        "space": {"names": ["x", "y"], "sizes": [[0.2, 0.8], [0.2, 0.8]]},
        "count": None,
        "background": "black",
    }


def test_equal_runs_have_equal_files_of_weights(finished: Run, tmp_path: Path) -> None:
    again = Run.create(finished.config, tmp_path / "elsewhere", "another command")
    again.train()
    name = "model.safetensors"
    assert (again.folder / name).read_bytes() == (finished.folder / name).read_bytes()


def same_numbers(one: unweave.TrainedModel, two: unweave.TrainedModel) -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, *one.image_shape)).astype(np.uint8)
    for ours, theirs in zip(one.model.codes(images), two.model.codes(images), strict=True):
        assert np.array_equal(ours, theirs)
    codes = np.random.default_rng(1).normal(size=(5, one.latents))
    assert np.array_equal(one.decode(codes), two.decode(codes))


def test_a_run_a_folder_and_a_file_are_the_same_model(finished: Run, tmp_path: Path, no_data: None) -> None:
    opened._MODELS.clear()
    model = unweave.load(finished.folder)
    assert (model.config, model.about.step) == (finished.config, 3)
    assert model.factors is not None
    assert model.factors.names == ("x", "y")
    saved = model.save(tmp_path / "saved")
    lone = tmp_path / "lone.safetensors"
    shutil.copy(finished.folder / "model.safetensors", lone)
    for other in (unweave.load(saved), unweave.load(str(saved / "model.safetensors")), unweave.load(lone)):
        same_numbers(model, other)
        assert other.preparation == model.preparation
        assert other.factors == model.factors


def test_what_is_saved_loaded_and_saved_again_is_the_same(finished: Run, tmp_path: Path) -> None:
    model = unweave.load(finished.folder)
    model.place = None  # the name stays out of the run
    model.name("z1", "hue")
    one = model.save(tmp_path / "a" / "saved", licence="CC0-1.0")
    two = unweave.load(one).save(tmp_path / "b" / "saved")
    assert files_of(one) == files_of(two)
    assert unweave.load(two).latent_names == ("z0", "hue", "z2")
    tensors, expected = (load_file(place / "model.safetensors") for place in (two, finished.folder))
    assert tensors.keys() == expected.keys()
    assert all(
        np.array_equal(tensors[name].view(np.uint8), expected[name].view(np.uint8)) for name in tensors
    )
    assert Config.read(one / "config.yaml") == finished.config


def test_the_card_says_what_it_must(finished: Run, tmp_path: Path) -> None:
    folder = unweave.load(finished.folder).save(tmp_path / "rings", licence="Apache-2.0")
    card = (folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: unweave\nlicense: apache-2.0\n")
    score = finished.scores["mig"]
    low, high = (score["corrected"] or [0, score["low"], score["high"]])[1:]
    assert f"{low:.3f} to {high:.3f}" in card
    for said in (
        "Circles",
        "BetaVAE (beta = 1.0)",
        'unweave.load("rings")',
        "$ unweave train circles ...",
        "| x |",
    ):
        assert said in card
    [picture] = re.findall(r"!\[.*\]\((.*)\)", card)
    assert (folder / picture).read_bytes()[1:4] == b"PNG"
    for line in card.splitlines():
        if line.startswith("|"):  # every row of a table has as many cells as its head
            assert line.endswith("|")
    assert unweave.load(folder).about.made["licence"] == "Apache-2.0"


def test_standardisation_and_a_prior_of_the_data_travel_with_the_weights(tmp_path: Path) -> None:
    words = [
        "data=xysquares",
        "likelihood=MSE",
        "standardise=true",
        "prior=AnisotropicNormal",
        "prior.images=64",
    ]
    run = Run.create(Config.read(words=[*words, *SMALL]), tmp_path / "run")
    run.train()
    folder = unweave.load(run.folder).save(tmp_path / "saved")
    shutil.move(run.folder, tmp_path / "away")
    opened._MODELS.clear()
    model, expected = unweave.load(folder), run.config.make_dataset().channels()
    assert model.preparation.mean == pytest.approx(expected.mean)
    assert model.preparation.std == pytest.approx(expected.std)
    variance = model.model.prior().variance  # type: ignore[attr-defined, operator]
    assert variance.sum().item() == pytest.approx(3)
    assert variance[0] > variance[2]
    same_numbers(model, unweave.load(tmp_path / "away"))


def test_an_interrupted_run_opens_without_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.create(Config.read(words=["data=circles", "data.size=32", *SMALL]), tmp_path / "run")
    run.train(checkpoint_seconds=0.0, stop=iter([False, True]).__next__)
    monkeypatch.setattr(Config, "make_dataset", None)
    opened._MODELS.clear()
    assert 0 < unweave.load(run.folder).about.step < 3


def test_an_older_run_opens_through_its_folder(tmp_path: Path) -> None:
    model = unweave.load(OLD / "finished")
    assert model.image_shape == Run(OLD / "finished").dataset().image_shape
    with pytest.raises(UnweaveError, match="does not say which model it is of: open the folder of its run"):
        unweave.load(OLD / "finished" / "model.safetensors")
    same_numbers(model, unweave.load(model.save(tmp_path / "saved")))


def test_a_gan_stands_alone_too(tmp_path: Path) -> None:
    words = ["data=circles", "data.size=32", "model=InfoGAN", "model.channels=[4,4]", "model.hidden=8"]
    run = Run.create(Config.read(words=[*words, "steps=1", "batch_size=4"]), tmp_path / "run")
    run.train()
    folder = unweave.load(run.folder).save(tmp_path / "saved")
    same_numbers(unweave.load(folder), unweave.load(run.folder))


def content_of(number: int = FORMAT, **changed: object) -> bytes:
    config = Config.read(words=["data=circles", "data.size=32", *SMALL])
    content = pack({"a": torch.ones(2)}, About(config, DataFacts((3, 32, 32)), 3))
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    stored = {**json.loads(header["__metadata__"]["unweave"]), "format": number, **changed}
    header["__metadata__"]["unweave"] = json.dumps(stored)
    packed = json.dumps(header).encode()
    return len(packed).to_bytes(8, "little") + packed + content[8 + length :]


def refused(place: Path) -> str:
    with pytest.raises(UnweaveError) as caught:
        unweave.load(place)
    message = str(caught.value)
    assert "\n" not in message
    assert place.name in message
    return message


def test_what_cannot_be_opened_is_told_in_one_sentence(finished: Run, tmp_path: Path) -> None:
    whole = (finished.folder / "model.safetensors").read_bytes()
    path = tmp_path / "x.safetensors"
    for content, expected in (
        (whole[: len(whole) // 2], "is damaged"),
        (whole[:5], "is damaged"),
        (b"", "is damaged"),
        (whole[:-1] + bytes([whole[-1] ^ 1]), "its tensors are not those that were written"),
        (content_of(FORMAT + 1, version="9.9"), "has format 2 of unweave 9.9, and this is unweave"),
        (
            content_of(config={"data": "circles", "whatever": 1}, version="9.9"),
            "was made by unweave 9.9 .*whatever",
        ),
        (content_of(data={}), "is not complete"),
        (content_of(), "does not fit its own config"),
        (pickle.dumps({"a": 1}), "is a pickle, which may run code"),
    ):
        path.write_bytes(content)
        assert re.search(expected, refused(path)), expected
    torch.save({"a": torch.ones(2)}, tmp_path / "x.pt")
    assert "is a pickle" in refused(tmp_path / "x.pt")
    (tmp_path / "notes.txt").write_text("hello")
    assert "is not a model" in refused(tmp_path / "notes.txt")
    (tmp_path / "empty").mkdir()
    assert "neither a run nor a model" in refused(tmp_path / "empty")
    assert "there is no" in refused(tmp_path / "nowhere")


@pytest.mark.parametrize("length", [0x1380, 0x4B50])
def test_a_file_whose_header_has_the_length_that_a_pickle_begins_with(length: int, tmp_path: Path) -> None:
    model = unweave.TrainedModel.untrained(Config.read(words=["data=circles", *SMALL]), (3, 32, 32))
    short = length - int.from_bytes(pack(model.model.state_dict(), model.about)[:8], "little")
    assert short > 0
    longer = dataclasses.replace(model.about, made={"command": "x" * (short - len('\\"command\\": \\"\\"'))})
    content = pack(model.model.state_dict(), longer)
    assert int.from_bytes(content[:8], "little") == length
    assert content[:1] == b"\x80" or content[:2] == b"PK"
    (tmp_path / "x.safetensors").write_bytes(content)
    same_numbers(unweave.load(tmp_path / "x.safetensors"), model)


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (tmp_path / "sprung",)  # type: ignore[return-value]

    for name in ("trap.safetensors", "trap.pkl"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap()))
        refused(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


PART = """
from torch import nn
class Tiny(nn.Module):
    def __init__(self, latents, output_shape):
        super().__init__()
        self.shape, self.linear = output_shape, nn.Linear(latents, 3 * 32 * 32)
    def forward(self, codes):
        return self.linear(codes).unflatten(1, self.shape)
"""


def test_a_part_of_a_stranger_that_is_missing_is_named(tmp_path: Path) -> None:
    part = tmp_path / "parts" / "tiny.py"
    part.parent.mkdir()
    part.write_text(PART)
    words = ["data=circles", "data.size=32", "latents=3", "steps=1", "batch_size=4", "encoder.channels=[4,4]"]
    run = Run.create(Config.read(words=[*words, f"decoder={part}:Tiny"]), tmp_path / "run")
    run.train()
    folder = unweave.load(run.folder).save(tmp_path / "saved")
    same_numbers(unweave.load(folder), unweave.load(run.folder))
    part.unlink()
    assert re.search(
        r"the decoder Tiny comes from .*tiny\.py and is missing", refused(folder / "model.safetensors")
    )
    (folder / "tiny.py").write_text(PART)  # code that comes along with the weights is never imported
    content = (folder / "model.safetensors").read_bytes()
    inside = content.replace(str(part).encode(), str(folder / "tiny.py").encode().ljust(len(str(part)), b"x"))
    assert len(str(part)) >= len(str(folder / "tiny.py"))
    (folder / "model.safetensors").write_bytes(inside)
    assert re.search("missing|inside its own folder", refused(folder / "model.safetensors"))


def test_a_folder_with_something_else_is_not_written_into(finished: Run, tmp_path: Path) -> None:
    model = unweave.load(finished.folder)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(UnweaveError, match="is not empty and holds no model"):
        model.save(tmp_path / "full")
    with pytest.raises(UnweaveError, match="is the folder of a run"):
        model.save(finished.folder, overwrite=True)
    model.save(tmp_path / "a")
    with pytest.raises(UnweaveError, match="holds a model already"):
        model.save(tmp_path / "a")
    before = files_of(tmp_path / "a")
    model.save(tmp_path / "a", overwrite=True)
    assert files_of(tmp_path / "a") == before


def test_kept_models_are_found_by_name(
    finished: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unweave.load(finished.folder).save(tmp_path / "one" / "rings-small")
    unweave.load(finished.folder).save(tmp_path / "two" / "squares")
    monkeypatch.setenv("UNWEAVE_MODELS", f"{tmp_path / 'one'}:{tmp_path / 'two'}")
    assert {"rings-small", "squares"} <= kept().keys()
    assert find("Rings_Small") == tmp_path / "one" / "rings-small"
    same_numbers(unweave.load("rings-small"), unweave.load(finished.folder))
    with pytest.raises(UnweaveError, match=r"unknown model 'ring-small': did you mean rings-small\?"):
        unweave.load("ring-small")
    shutil.copytree(finished.folder, tmp_path / "runs" / finished.config.label)
    assert unweave.load(finished.config.identity[:12]).place == Path("runs") / finished.config.label


def test_names_are_stored_beside_the_weights(finished: Run, tmp_path: Path) -> None:
    run = Run(shutil.copytree(finished.folder, tmp_path / "run"))
    for folder in (run.folder, unweave.load(run.folder).save(tmp_path / "saved")):
        model = unweave.load(folder)
        model.name("z1", "position x")
        again = unweave.load(folder)
        assert again.latent_names == ("z0", "position x", "z2")
        assert again.latent("Position X") == again.latent("z1") == again.latent(1) == 1
        for wrong in ("z2", "7", "a=b", "x" * 41, "a\nb"):
            with pytest.raises(UnweaveError, match=r"name|number"):
                again.name(2, wrong)
        with pytest.raises(UnweaveError, match="is called 'position x' already"):
            again.name(0, "Position x")
        with pytest.raises(UnweaveError, match="unknown latent 'z3'"):
            again.latent("z3")
        again.name(1, "")
        assert unweave.load(folder).names == {}
    assert artefacts.recorded(run.folder)["names.json"]
