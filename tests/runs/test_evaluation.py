import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save

from unweave import artefacts, cli
from unweave.data import Arrays
from unweave.errors import UnweaveError
from unweave.metrics import METRICS, Score
from unweave.model_metrics import (
    MODEL_METRICS,
    Evaluated,
    LogLikelihood,
    ModelMetric,
    log_likelihood,
    model_metric,
)
from unweave.runs import Config, Run
from unweave.runs import evaluation as module
from unweave.runs.evaluation import evaluate
from unweave.training.randomness import generator

TINY = [
    *("data=circles", "data.size=32", "latents=2", "batch_size=4", "steps=2"),
    *("encoder.channels=[4,4]", "encoder.hidden=[8]", "decoder.channels=[4,4]", "decoder.hidden=[8]"),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(module, "SAMPLES", 600)
    made = Run.create(Config.read(words=TINY), tmp_path / "run")
    made.train()
    return made


def test_named_scores_join_those_of_the_same_weights(run: Run) -> None:
    quick = evaluate(run)
    assert set(quick) == {"elbo", "nll", "kl", "latents_used", "mig", "factor_vae_score", "geometry"}
    assert set(evaluate(run, metrics=["hoyer", "Modularity"])) == {"hoyer", "modularity"}
    assert set(run.scores) == set(quick) | {"hoyer", "modularity"}
    everything = evaluate(run, metrics=["all"])
    expected = {name for m in METRICS.values() if m.standard for name in m.labels}
    assert set(everything) == expected | set(quick)
    # A score does not depend on what else is computed.
    assert everything["factor_vae_score"] == quick["factor_vae_score"]
    with pytest.raises(UnweaveError, match="did you mean mig"):
        evaluate(run, metrics=["mgi"])


def test_data_are_encoded_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(run)
    monkeypatch.setattr(module, "_encode", lambda *_: pytest.fail("encoded again"))
    assert "sap" in evaluate(run, metrics=["sap"])


def test_the_command_line_scores_runs_and_arrays(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["evaluate", str(run.folder), "--metrics", "mig,hoyer"])
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split() == ["score", "value", "95", "%", "interval", "range", "better"]
    assert "hoyer" in printed
    v = np.tile(np.stack(np.meshgrid(range(4), range(4)), -1).reshape(-1, 2), (20, 1))
    np.savez(tmp_path / "codes.npz", codes=v * 1.0, factors=v)
    cli.main(["score", str(tmp_path / "codes.npz"), "--metrics", "MIG,modularity"])
    assert "mig         1.000" in capsys.readouterr().out
    stored = json.loads((tmp_path / "codes.scores.json").read_text())
    assert stored["mig"]["value"] == pytest.approx(1)
    assert stored["mig"]["constants"]["mode"] == "disentanglement_lib"
    for words, message in (
        (["score", str(tmp_path / "codes.npz"), "--metrics", "mgi"], "did you mean mig"),
        (["score", str(tmp_path / "none.npz")], "does not exist"),
        (["score", str(tmp_path / "codes.scores.json")], "must be an npz, npy, csv or parquet file"),
        (["score", str(tmp_path / "codes.npz"), "--metrics", "sampled_mig"], "needs scales"),
    ):
        with pytest.raises(SystemExit) as end:
            cli.main(words)
        assert end.value.code == 2
        assert message in capsys.readouterr().err
    cli.main(["metrics"])
    assert "factor_vae_score" in capsys.readouterr().out


def test_distances_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["data", "distances", "xysquares", "--pairs", "40", "--out", str(tmp_path / "d.png")])
    printed = capsys.readouterr().out
    assert "x_r     0.0104         0.0000" in printed
    assert (tmp_path / "d.png").exists()
    assert (tmp_path / "d-matrices.png").exists()


def test_log_likelihood_of_a_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    few = LogLikelihood(particles=20, images=2)
    by_object = evaluate(run, metrics=[few])["log_likelihood"]
    monkeypatch.setitem(MODEL_METRICS, "log_likelihood", few)
    messages: list[str] = []
    by_name = evaluate(run, metrics=["log-likelihood"], tell=messages.append)["log_likelihood"]
    assert by_name == by_object
    assert "log-likelihood: image 2 of 2, 20 particles each" in messages
    assert by_name.constants["images"] == 2
    assert by_name.value < 0
    images = run.dataset().sample(2, generator(run.config.seed, "evaluation", 1)).images
    assert by_name == log_likelihood(run.model(), images, particles=20, seed=run.config.seed)


class Seen(ModelMetric):
    """Two scores: the mean of some reconstructions, and a draw of torch."""

    name = "seen"

    @property
    def labels(self) -> dict[str, str]:
        return {"seen": "seen", "drawn": "drawn"}

    def compute(self, evaluated: Evaluated, rng: np.random.Generator) -> dict[str, Score]:
        mean = float(np.mean(evaluated.model.reconstruct(evaluated.dataset.sample(3, rng).images)))
        drawn = float(torch.rand(()))
        return {"seen": Score("seen", mean + evaluated.codes.step), "drawn": Score("drawn", drawn)}


def test_metrics_of_models_from_outside_are_classes_objects_and_references(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "from unweave.metrics import Score\n"
        "from unweave.model_metrics import ModelMetric\n"
        "class Steps(ModelMetric):\n"
        "    name = 'steps_taken'\n"
        "    def compute(self, evaluated, rng):\n"
        "        return Score(self.name, float(evaluated.codes.step), range=(0, None))\n"
    )
    before = torch.get_rng_state()
    first = evaluate(run, metrics=[Seen, "mig"])
    assert torch.equal(torch.get_rng_state(), before), "the caller's random numbers are left alone"
    torch.rand(3)
    again = evaluate(run, metrics=[Seen(), f"{file}:Steps"])
    assert {name: again[name] for name in ("seen", "drawn")} == {
        name: first[name] for name in ("seen", "drawn")
    }
    assert again["steps_taken"].value == 2
    assert {"seen", "drawn", "mig", "steps_taken"} <= set(run.scores)


def test_installed_metrics_of_models_are_known_by_name(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> object:
        raise ImportError("no module named nothing")

    points = {
        "seen": SimpleNamespace(load=lambda: Seen),
        "broken": SimpleNamespace(name="broken", dist=None, load=broken),
    }
    monkeypatch.setattr(
        model_metric, "entry_points_of", lambda group: points if group == "unweave.model_metrics" else {}
    )
    with caplog.at_level("WARNING", logger="unweave"):
        assert set(evaluate(run, metrics=["Seen"])) == {"seen", "drawn"}
    assert "broken of an installed package cannot be loaded" in caplog.text
    with pytest.raises(UnweaveError, match="did you mean seen"):
        evaluate(run, metrics=["sene"])


def test_a_model_is_opened_once_until_its_weights_change(run: Run) -> None:
    model = run.model()
    assert run.model() is model
    assert Run(run.folder).model() is model, "whoever opens the run gets the same object"
    assert run.dataset() is Run(run.folder).dataset()
    weights = load_file(run.folder / "model.safetensors")
    changed_weights = save({name: tensor + 1 for name, tensor in weights.items()})
    artefacts.write(run.folder / "model.safetensors", changed_weights)
    changed = run.model()
    assert changed is not model
    for name, tensor in changed.state_dict().items():
        assert torch.equal(tensor, weights[name] + 1), name


@pytest.mark.parametrize("labelled", [False, True])
def test_images_are_encoded_by_their_rows_with_the_factors_that_are_known(labelled: bool) -> None:
    factors = np.array([[0], [1], [2], [2], [1]])
    data = Arrays.from_arrays(np.zeros((5, 8, 8), np.uint8), factors if labelled else None)
    rows, images_of, known = module._evaluation_sample(data, generator(0, "evaluation"))
    assert sorted(rows) == list(range(5))
    assert images_of(rows).shape == (5, 1, 8, 8)
    if labelled:
        np.testing.assert_array_equal(known, factors[rows])
    else:
        assert known is None
