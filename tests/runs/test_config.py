from pathlib import Path

import pytest

from unweave.errors import UnweaveError
from unweave.objectives import Annealed, Averaged
from unweave.runs import Config
from unweave.runs import config as config_module


def test_words_and_file_mean_the_same(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        "data: {name: Circles, variant: xh}\nobjective: {name: BetaVAE, beta: 4}\nlearning_rate: 3e-4\n"
    )
    from_file = Config.read(file)
    from_words = Config.read(
        words=[
            "data=circles",
            "data.variant=xh",
            "objective=beta_vae",
            "objective.beta=4",
            "learning_rate=3e-4",
        ]
    )
    assert from_file == from_words
    assert from_file.identity == from_words.identity
    assert from_file.learning_rate == 0.0003


def test_words_go_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("data: circles\nobjective: {name: AnnealedVAE, gamma: 5}\nseed: 1\n")
    config = Config.read(file, ["seed=3", "objective.capacity=7"])
    assert (config.seed, config.objective.options["gamma"], config.objective.options["capacity"]) == (
        3,
        5.0,
        7.0,
    )
    other = Config.read(file, ["objective=BetaVAE"])
    assert other.objective.name == "BetaVAE"
    assert "gamma" not in other.objective.options


def test_the_written_config_is_the_same_config(tmp_path: Path) -> None:
    config = Config.read(
        words=["data=circles", "decoder=SpatialBroadcast", "decoder.mlp=[32,16]", "averaged=true"]
    )
    (tmp_path / "config.yaml").write_text(config.to_yaml())
    assert Config.read(tmp_path / "config.yaml") == config


def test_an_option_of_a_default_part_needs_no_name() -> None:
    assert Config.read(words=["data=circles", "objective.beta=4"]).objective.options == {"beta": 4.0}


@pytest.mark.parametrize(
    "word", ["seed=1", "objective.beta=2", "decoder.hidden=[128]", "latents=9", "averaged=true"]
)
def test_every_choice_enters_the_identity(word: str) -> None:
    assert Config.read(words=["data=circles", word]).identity != Config.read(words=["data=circles"]).identity


def test_a_path_is_the_users_own_data(tmp_path: Path) -> None:
    folder = tmp_path / "my.images"
    folder.mkdir()
    config = Config.read(words=[f"data={folder}", "data.size=32"])
    assert config.data.name == "Folder"
    assert config.data.options["path"] == str(folder)
    assert config.data.options["size"] == 32


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["seed=1"], "no data set is named"),
        (["data=circels"], r"unknown data 'circels': did you mean Circles\?"),
        (["data=circles", "stepps=4"], r"unknown option 'stepps': did you mean steps\?"),
        (["data=circles", "objective=BetaVEA"], r"unknown objective 'BetaVEA': did you mean BetaVAE "),
        (
            ["data=circles", "objective.betta=1"],
            r"unknown option of objective BetaVAE 'betta': did you mean beta\?",
        ),
        (["data=circles", "latents=0"], "latents must be at least 1, got 0"),
        (["data=circles", "steps=0"], "steps must be at least 1, got 0"),
        (["data=circles", "latents=many"], "latents must be a whole number, got 'many'"),
        (["data=circles", "learning_rate=-1"], "learning_rate must be greater than 0, got -1"),
        (["data=circles", "seed=-1"], "seed must be at least 0, got -1"),
        (["data=circles", "fast"], "expected key=value, got 'fast'"),
        (["data=./nowhere"], "there is no folder or file ./nowhere"),
    ],
)
def test_mistakes_are_told(words: list[str], message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        Config.read(words=words)


@pytest.mark.parametrize("content", ["{", "- 1\n- 2\n", "\x00\x01"])
def test_a_file_that_is_no_config_is_told(tmp_path: Path, content: str) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(content)
    with pytest.raises(UnweaveError, match=r"broken\.yaml is not a config file"):
        Config.read(file)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnweaveError, match=r"there is no config file .*none\.yaml"):
        Config.read(tmp_path / "none.yaml")


def test_capacity_and_averaging_wrap_any_objective() -> None:
    config = Config.read(
        words=["data=circles", "objective=FactorVAE", "capacity=7", "capacity_steps=50", "averaged=true"]
    )
    model = config.make_model((3, 64, 64))
    objective = config.make_objective(model)
    assert isinstance(objective, Averaged)
    assert isinstance(objective.objective, Annealed)
    assert (objective.objective.capacity, objective.objective.steps) == (7.0, 50)
    assert objective.name == "FactorVAE"
    assert objective.batches == 2
    assert len(objective.critic_parameters(model)) == 14  # type: ignore[arg-type]


def test_no_capacity_is_the_default_and_can_be_said() -> None:
    assert Config.read(words=["data=circles", "capacity=none"]) == Config.read(words=["data=circles"])
    with pytest.raises(UnweaveError, match="AAE has no KL that a capacity could hold"):
        config = Config.read(words=["data=circles", "objective=AAE", "capacity=3"])
        config.make_objective(config.make_model((3, 64, 64)))


def test_a_pairing_is_part_of_the_model_and_of_the_identity() -> None:
    paired = Config.read(words=["data=circles", "pairing=ada-gvae", "pairing.k=1"])
    assert paired.pairing.options == {"k": 1, "divergence": "symmetric"}
    assert paired.make_model((3, 64, 64)).pairing.k == 1  # type: ignore[union-attr]
    plain = Config.read(words=["data=circles", "pairing=none"])
    assert plain == Config.read(words=["data=circles"])
    assert plain.identity != paired.identity
    assert plain.make_model((3, 64, 64)).pairing is None  # type: ignore[union-attr]


def test_a_key_that_came_later_changes_no_older_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a key and an option out of the first format: at their defaults they no longer count, otherwise they do."""
    plain, beta, held = (
        Config.read(words=["data=circles", *words])
        for words in ([], ["objective.beta=2"], ["capacity=5", "capacity_steps=9"])
    )
    before = plain.identity
    first = {
        "keys": [key for key in config_module._FIRST_KEYS["keys"] if key != "capacity_steps"],
        "options": {**config_module._FIRST_KEYS["options"], "objective": {"BetaVAE": []}},
    }
    monkeypatch.setattr(config_module, "_FIRST_KEYS", first)
    canonical = config_module._canonical(plain)
    assert "capacity_steps" not in canonical
    assert canonical["objective"] == {"name": "BetaVAE"}
    assert plain.identity != before
    assert config_module._canonical(beta)["objective"] == {"name": "BetaVAE", "beta": 2.0}
    assert config_module._canonical(held)["capacity_steps"] == 9
    assert len({config.identity for config in (plain, beta, held)}) == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("capacity_steps", 9),
            ("capacity", 6.0),
            ("standardise", True),
            ("averaged", True),
            ("latents", 11),
        ),
        *(("steps", 9), ("batch_size", 9), ("learning_rate", 2e-4), ("seed", 9), ("pairing", "AdaGVAE")),
        *(
            ("sampling", {"name": "Correlated", "factors": ["x", "y"]}),
            ("optimizer", "AdamW"),
            ("critic_optimizer", "AdamW"),
            ("schedule", "Cosine"),
        ),
    ],
)
def test_every_key_is_part_of_the_identity(key: str, value: object) -> None:
    held = {"data": "circles", "capacity": 5.0, "capacity_steps": 8}
    assert Config.of({**held, key: value}).identity != Config.of(held).identity
