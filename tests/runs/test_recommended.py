"""`unweave train DATA` with nothing else trains as recommended; what a user says himself is never overruled."""

import json
import tomllib
from pathlib import Path

import pytest

from unweave.errors import UnweaveError
from unweave.runs import Config, recommended
from unweave.slots import Choice

TABLE = tomllib.loads((Path(recommended.__file__).parent / "recommended.toml").read_text())


def config(*words: str) -> Config:
    return Config.read(words=["training=recommended", *words])


@pytest.mark.parametrize("data", [*TABLE["data"], "circles"])
def test_nothing_said_means_what_the_table_says(data: str) -> None:
    row = TABLE["data"].get(data) or TABLE["data"].get("Circles", TABLE["other"])
    made, way = config(f"data={data}"), TABLE["ways"][row["way"]]
    assert made.steps == row["steps"]
    assert made.learning_rate == way["learning_rate"]
    for slot in ("optimizer", "schedule"):
        chosen: Choice = getattr(made, slot)
        given = json.loads(json.dumps({"name": chosen.name, **chosen.options}))  # lists, as in the table
        assert {key: given[key] for key in way[slot]} == way[slot]


def test_plain_is_the_config_without_the_key() -> None:
    assert Config.read(words=["data=dsprites", "training=plain"]) == Config.read(words=["data=dsprites"])
    assert config("data=dsprites", "training=plain") == Config.read(words=["data=dsprites"])


def test_the_key_is_expanded_and_not_part_of_the_config() -> None:
    made = config("data=dsprites")
    assert "training" not in made.to_mapping()
    assert (
        Config.of(made.to_mapping()) == made
    )  # so the recorded file trains the same whatever the table says then
    assert made.identity != Config.read(words=["data=dsprites"]).identity


@pytest.mark.parametrize("own", ["optimizer=AdamW", "schedule=Cosine", "learning_rate=2e-4"])
def test_naming_one_of_the_three_chooses_all_three(own: str) -> None:
    assert config("data=dsprites", own) == Config.read(words=["data=dsprites", own])


def test_other_keys_and_options_keep_the_recommendation() -> None:
    made = config("data=dsprites", "steps=9000", "optimizer.momentum=0.9", "objective.beta=4")
    usual = config("data=dsprites")
    assert (made.steps, made.learning_rate, made.schedule) == (9000, usual.learning_rate, usual.schedule)
    assert made.optimizer.options == {**usual.optimizer.options, "momentum": 0.9}


@pytest.mark.parametrize(
    "own",
    [
        ("steps=1999",),
        ("pairing=AdaGVAE",),
        ("decoder=./part.py:Decoder",),
    ],
)
def test_unfolding_is_left_out_where_it_cannot_serve(own: tuple[str, ...]) -> None:
    values = {"decoder": own[0].partition("=")[2]} if own[0].startswith("decoder") else {}
    if values:  # the part need not exist to be seen as one from outside
        assert recommended.recommended("DSprites", values)["schedule"]["name"] == "Linear"
    else:
        assert config("data=dsprites", *own).schedule.name == "Linear"
    assert config("data=dsprites", "steps=2000").schedule.name == "Unfolding"


def test_a_gan_keeps_its_own_training() -> None:
    words = ["data=dsprites", "model=InfoGAN"]
    assert config(*words) == Config.read(words=words)


def test_an_unknown_value_is_named() -> None:
    with pytest.raises(UnweaveError, match="unknown training 'recomended': did you mean recommended"):
        Config.read(words=["data=circles", "training=recomended"])


def test_points_get_networks_for_points_unless_others_are_named() -> None:
    made = config("data=pinwheel")
    assert (made.encoder.name, made.decoder.name, made.latents) == ("MLP", "MLP", 2)
    assert made.likelihood.options["variance"] == 1e-3
    own = config("data=pinwheel", "decoder.hidden=[7]", "latents=3", "learning_rate=1e-4")
    assert own.decoder.name == "MLP" and own.decoder.options["hidden"] == (7,) and own.latents == 3
    assert own.learning_rate == 1e-4 and own.optimizer.name == "Adam"
