from pathlib import Path

import pytest

from unweave import cli
from unweave.errors import UnweaveError
from unweave.runs import Config, Study
from unweave.runs.study import load, nested

BASE = {"data": "circles", "data.size": 32, "steps": 5, "batch_size": 4, "latents": 2}


def test_a_grid_is_every_combination_over_every_seed() -> None:
    grid = {"objective.beta": [1, 4], "decoder": ["Deconv", "SpatialBroadcast"]}
    study = Study.of({"base": BASE, "grid": grid, "seeds": [3, 5, 7]}, name="s")
    assert [(v, [run.config.seed for run in runs]) for v, runs in study.variants.items()] == [
        (variant, [3, 5, 7])
        for variant in (
            "beta=1 Deconv",
            "beta=1 SpatialBroadcast",
            "beta=4 Deconv",
            "beta=4 SpatialBroadcast",
        )
    ]
    last = study.runs[-1]
    assert (last.config.objective.options["beta"], last.config.decoder.name) == (4.0, "SpatialBroadcast")
    assert last.settings == {"objective.beta": 4, "decoder": "SpatialBroadcast"}
    assert len({run.config.identity for run in study.runs}) == 12


def test_variants_cross_the_grid_and_override_the_base() -> None:
    variants = {
        "plain": {},
        "annealed": {"objective": {"name": "AnnealedVAE", "capacity": 5}, "latents": 3},
    }
    study = Study.of({"base": BASE, "variants": variants, "grid": {"learning_rate": [1e-3, 1e-4]}}, name="s")
    assert list(study.variants) == [
        "plain learning_rate=0.001",
        "plain learning_rate=0.0001",
        "annealed learning_rate=0.001",
        "annealed learning_rate=0.0001",
    ]
    annealed = study.variants["annealed learning_rate=0.001"][0]
    assert annealed.config.objective.options["capacity"] == 5.0
    assert annealed.config.latents == 3
    assert annealed.settings["objective"] == "AnnealedVAE"


def test_more_seeds_keep_the_identities_of_the_first() -> None:
    study = Study.of({"base": BASE, "grid": {"objective.beta": [1, 4]}, "seeds": 2}, name="s")
    more = study.with_seeds(5)
    assert len(more.runs) == 10
    assert {run.config.identity for run in study.runs} < {run.config.identity for run in more.runs}


def test_dotted_keys_are_what_config_files_hold() -> None:
    assert nested({"decoder": {"name": "Deconv"}, "decoder.depth": 2}) == {
        "decoder": {"name": "Deconv", "depth": 2}
    }
    assert nested({"decoder.depth": 2, "decoder": "Deconv"}) == {"decoder": {"depth": 2, "name": "Deconv"}}


def test_a_function_may_return_configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mystudy.py"
    file.write_text(
        "def study():\n"
        "    return [{'data': 'circles', 'objective.beta': b, 'seed': s} for b in (1, 4) for s in range(3)]\n"
        "def named():\n"
        "    from unweave.runs import Config\n"
        "    return {'small': Config.read(words=['data=circles', 'latents=2'])}\n"
        "def whole():\n"
        "    from unweave.runs import Study\n"
        "    return Study.of({'base': {'data': 'circles'}, 'seeds': 4}, name='given')\n"
    )
    study = load(str(file))
    assert study.name == "mystudy-study"
    assert {name: len(runs) for name, runs in study.variants.items()} == {"beta=1.0": 3, "beta=4.0": 3}
    assert study.runs[0].settings == {"objective.beta": 1.0}
    assert list(load(f"{file}:named").variants) == ["small"]
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load("mystudy:whole").name == "given"


def test_parts_from_outside_are_labelled_by_their_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(
            "from unweave.objectives import BetaVAE, Objective\n"
            "class Own(Objective):\n"
            "    def forward(self, vae, images, progress):\n"
            "        return BetaVAE()(vae, images, progress)\n"
        )
    one, two = (f"{tmp_path / name}.py:Own" for name in ("one", "two"))
    grid = {"objective": ["BetaVAE", one]}
    assert list(Study.of({"base": {"data": "circles"}, "grid": grid}, name="s").variants) == [
        "BetaVAE",
        "Own",
    ]
    (tmp_path / "two.py").write_text((tmp_path / "two.py").read_text() + "# another\n")
    grid = {"objective": [one, two]}
    assert list(Study.of({"base": {"data": "circles"}, "grid": grid}, name="s").variants) == [one, two]


def test_a_file_is_a_study(tmp_path: Path) -> None:
    file = tmp_path / "betas.yaml"
    file.write_text(
        "title: Betas\nbase: {data: circles, learning_rate: 3e-4}\ngrid: {objective.beta: [1, 4]}\nseeds: 2\n"
    )
    study = load(str(file))
    assert (study.name, study.title, len(study.runs)) == ("betas", "Betas", 4)
    assert study.runs[0].config == Config.read(
        words=["data=circles", "learning_rate=3e-4", "objective.beta=1"]
    )


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"base": BASE, "gird": {}}, "unknown key of a study 'gird': did you mean grid?"),
        ({"base": BASE, "grid": {"latents": 3}}, "grid: latents must be a list of values, got 3"),
        ({"base": BASE, "grid": {"objective.betta": [1]}}, "did you mean beta?"),
        ({"base": BASE, "seeds": 0}, "seeds must be a number of at least 1"),
        ({"base": BASE, "seeds": [1, 1]}, "list of different numbers"),
        ({"base": {}}, "no data set is named"),
        ({"base": BASE, "variants": {"a": {}, "b": {}}}, "'a' and 'b' are the same config"),
        ({"base": BASE, "grid": {"latents": [2, 0]}}, "latents=0: latents must be at least 1"),
        ({"base": BASE, "metrics": ["dcy"]}, "unknown metric 'dcy'"),
        ({"base": BASE, "name": "a/b"}, "also its folder's"),
    ],
)
def test_mistakes_are_told(mapping: dict[str, object], message: str) -> None:
    with pytest.raises(UnweaveError) as told:
        Study.of(mapping, name="s")
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nothing.yaml", "there is no config file nothing.yaml"),
        ("nothing.py", "nothing.py:study cannot be loaded: there is no file"),
        ("no_such_module:f", "there is no module no_such_module"),
        ("json:nothing", "json has no 'nothing'"),
        ("json:__name__", "'__name__' of json is not a function"),
        ("json", "a study is a .yaml file"),
    ],
)
def test_missing_studies_are_told(target: str, message: str) -> None:
    with pytest.raises(UnweaveError) as told:
        load(target)
    assert message in str(told.value)


def test_a_study_in_python_says_that_its_code_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before it is run: the sentence stands there even if the code fails at once."""
    file = tmp_path / "own.py"
    file.write_text("def study():\n    return [{'data': 'circles', 'data.size': 32, 'steps': 1}]\n")
    words = ["--out", str(tmp_path / "out"), "--dry-run"]
    cli.main(["sweep", str(file), *words])
    told = f"running the code of {file}, which is not part of unweave"
    assert told in " ".join(capsys.readouterr().err.split())
    file.write_text("1 / 0")
    with pytest.raises(SystemExit):
        cli.main(["sweep", str(file), *words])
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(told)
    assert "ZeroDivisionError" in said
    assert not (tmp_path / "out").exists()
