"""What must not change when the house is rebuilt: losses, weights, scores, identities and the runs of every recipe.

``python tests/golden/test_golden.py record FILE`` writes what this code computes; ``golden.json`` was written so by the
commit before the open slots.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXPECTED: dict[str, Any] = json.loads((Path(__file__).parent / "golden.json").read_text())

TINY = [
    *(
        "data.size=32",
        "steps=3",
        "batch_size=6",
        "latents=3",
        "encoder.channels=[4,4,4]",
        "encoder.hidden=[8]",
    ),
]
SMALL_DECODER = ["decoder.channels=[4,4,4]", "decoder.hidden=[8]"]
SMOOTH = ["optimizer.eps=1", "critic_optimizer.eps=1"]
CIRCLES = ["data=circles", *TINY]
SQUARES = ["data=XYSquares", *TINY]

RUNS: dict[str, list[str]] = {
    "default": [*CIRCLES, *SMALL_DECODER],
    "beta": [*CIRCLES, *SMALL_DECODER, "objective.beta=4", "learning_rate=1e-3", "seed=5"],
    "annealed": [*CIRCLES, *SMALL_DECODER, "objective=AnnealedVAE", "objective.gamma=10"],
    "factor": [
        *(*CIRCLES, *SMALL_DECODER, "objective=FactorVAE", "objective.gamma=5"),
        *("objective.critic_width=8", "objective.critic_layers=2"),
    ],
    "factor-prior": [
        *(*CIRCLES, *SMALL_DECODER, "objective=FactorVAE", "objective.target=prior"),
        *("objective.critic_width=8", "objective.critic_layers=2"),
    ],
    "aae": [
        *(*CIRCLES, *SMALL_DECODER, "objective=AAE", "objective.critic_width=8", "objective.critic_layers=2"),
    ],
    "tc": [*CIRCLES, *SMALL_DECODER, "objective=BetaTCVAE", "objective.dataset_size=1000"],
    "tc-mss": [*SQUARES, *SMALL_DECODER, "objective=BetaTCVAE", "objective.estimator=mss"],
    "dip": [*CIRCLES, *SMALL_DECODER, "objective=DIPVAE"],
    "dip-ii": [*CIRCLES, *SMALL_DECODER, "objective=DIPVAE", "objective.kind=ii"],
    "dropout": [*CIRCLES, *SMALL_DECODER, "objective=InformationDropout", "objective.dataset_size=99"],
    "decomposition": [*CIRCLES, *SMALL_DECODER, "objective=DecompositionVAE", "objective.alpha=5"],
    "decomposition-mmd": [
        *(*CIRCLES, *SMALL_DECODER, "objective=DecompositionVAE", "objective.alpha=5"),
        "objective.divergence=mmd",
    ],
    "entropy": [*CIRCLES, *SMALL_DECODER, "objective=MaxEntropyVAE"],
    "capacity": [*CIRCLES, *SMALL_DECODER, "capacity=5", "capacity_steps=2", "objective.beta=20"],
    "averaged": [*CIRCLES, *SMALL_DECODER, "averaged=true", "likelihood=MSE"],
    "standardised": [*CIRCLES, *SMALL_DECODER, "standardise=true", "likelihood=MSE"],
    "gaussian": [*CIRCLES, *SMALL_DECODER, "likelihood=Gaussian", "likelihood.learned=true"],
    "blurred": [*CIRCLES, *SMALL_DECODER, "likelihood.blur=gaussian", "likelihood.blur_radius=3"],
    "boxed": [*CIRCLES, *SMALL_DECODER, "likelihood=MSE", "likelihood.blur=box", "likelihood.blur_radius=3"],
    "broadcast": [*CIRCLES, "decoder=SpatialBroadcast", "decoder.width=4", "decoder.mlp=[6]"],
    "coordconv": [*CIRCLES, "decoder=CoordConv", "decoder.channels=[4,4,4]"],
    "mlp": [
        "data=circles",
        *TINY[:4],
        "encoder=MLP",
        "encoder.hidden=[8]",
        "decoder=MLP",
        "decoder.hidden=[8]",
    ],
    "dcgan": ["data=circles", *TINY[:4], "encoder=DCGAN", "decoder=DCGAN"],
    "pca": [
        *(*CIRCLES, *SMALL_DECODER, "prior=AnisotropicNormal", "prior.learned=true"),
        "prior.scales=pca",
    ],
    "shares": [*CIRCLES, *SMALL_DECODER, "prior=AnisotropicNormal", "prior.learned=true"],
    "student": [*CIRCLES, *SMALL_DECODER, "prior=StudentT"],
    "mixture": [*CIRCLES, *SMALL_DECODER, "prior=GaussianMixture"],
    "sparse": [*CIRCLES, *SMALL_DECODER, "prior=SparseMixture"],
    "generalised": [*CIRCLES, *SMALL_DECODER, "prior=GeneralizedNormal"],
    "nested": [*CIRCLES, *SMALL_DECODER, "prior=LpNested"],
    "isa": [*CIRCLES, *SMALL_DECODER, "prior=ISA", "prior.subspaces=[2,1]"],
    "landing": [
        *CIRCLES,
        *SMALL_DECODER,
        "prior=ISA",
        "prior.subspaces=[2,1]",
        "posterior.sticking_the_landing=true",
    ],
    "ada": [*SQUARES, *SMALL_DECODER, "pairing=AdaGVAE"],
    "ada-ml": [*SQUARES, *SMALL_DECODER, "pairing=AdaMLVAE", "pairing.k=1"],
    "held-out": [*SQUARES, *SMALL_DECODER, "sampling=HeldOut", "sampling.factors=[x_r,y_g]"],
    "infogan": ["data=circles", "data.size=32", "steps=2", "batch_size=4", "model=InfoGAN"],
    "infowgangp": ["data=circles", "data.size=32", "steps=2", "batch_size=4", "model=InfoWGANGP"],
    "dcgan-smooth": ["data=circles", *TINY[:4], "encoder=DCGAN", "decoder=DCGAN", *SMOOTH[:1]],
    "infogan-smooth": [
        "data=circles",
        "data.size=32",
        "steps=2",
        "batch_size=4",
        "model=InfoGAN",
        "seed=1",
        *SMOOTH,
    ],
    "infowgangp-smooth": [
        *("data=circles", "data.size=32", "steps=2", "batch_size=4", "model=InfoWGANGP"),
        *SMOOTH,
    ],
}
"""Short runs through every objective, prior, network, likelihood and pairing."""

NORMALISED = ("dcgan", "infogan", "infowgangp")
"""Runs that depend on the processor after their first step. A bias before a batch normalisation has a gradient of zero
but for rounding, and the first step of Adam divides that rounding by itself. Of these the first record is compared, but
for the critic's loss, which follows the step, and of the same networks with a larger eps (``-smooth``), which lets
rounding stay small, everything."""

CRITIC = ("critic_loss", "discriminator_accuracy")

TREES = ("dci", "dci_completeness", "dci_informativeness")
"""Scores of a run that are not compared: one rounding of a code moves a split of a tree. Those of codes are."""

SCORED = ("default", "ada", "isa")
"""Those of them that are scored as well."""

IDENTITIES: list[list[str]] = [
    ["data=dsprites"],
    ["data=dsprites", "objective=FactorVAE", "objective.gamma=35", "decoder=SpatialBroadcast", "prior=ISA"],
    ["data=Shapes3D", "objective=BetaTCVAE", "steps=10", "seed=7"],
    ["data=circles", "data.hole=center", "data.variant=xh", "learning_rate=3e-4"],
    ["data=ColoredSprites", "averaged=true", "capacity=25", "objective=AnnealedVAE"],
    ["data=Pinwheel", "encoder=MLP", "decoder=MLP", "likelihood=Gaussian", "latents=2"],
    [
        *("data=Pinwheel", "data.radial=0.1", "data.tangential=0.3", "data.rate=0.25", "encoder=MLP"),
        *("decoder=MLP", "likelihood=Gaussian", "latents=2"),
    ],
    ["data=BusySprites", "model=InfoWGANGP"],
    ["data=Glyphs", "sampling=Correlated", "sampling.factors=[font,shade]"],
    ["data=Objects3D", "pairing=AdaGVAE", "standardise=true"],
]


def identities() -> dict[str, list[str]]:
    """Identity and label of configs."""
    from unweave.runs import Config

    found = {}
    for words in [*IDENTITIES, *RUNS.values()]:
        config = Config.read(words=words)
        found[" ".join(words)] = [config.identity, config.label]
    return found


def one_run(name: str, folder: Path) -> dict[str, Any]:
    """History, weights and perhaps scores of a short run."""
    from safetensors.numpy import load_file

    from unweave.runs import Config, Run
    from unweave.runs.evaluation import evaluate

    run = Run.create(Config.read(words=RUNS[name]), folder / name)
    run.train()
    history = [{k: v for k, v in record.items() if k != "seconds"} for record in run.history]
    weights = {
        key: [float(np.sum(w, dtype=np.float64)), float(np.sum(np.abs(w), dtype=np.float64))]
        for key, w in sorted(load_file(run.folder / "model.safetensors").items())
    }
    found: dict[str, Any] = {"history": history, "weights": weights}
    if name in SCORED:
        scores = evaluate(run, metrics=["all"] if name == "ada" else None)
        found["scores"] = {key: [s.value, s.low, s.high] for key, s in scores.items() if key not in TREES}
    return found


def codes() -> Iterator[tuple[str, Any]]:
    """Three kinds of codes with their factors."""
    from unweave.metrics import Encoded

    rng = np.random.default_rng(3)
    factors = np.stack(np.meshgrid(range(3), range(4), range(5), indexing="ij"), -1).reshape(-1, 3)
    factors = np.repeat(factors, 20, axis=0)
    noise = rng.standard_normal((len(factors), 4))
    aligned = np.concatenate([factors, factors[:, :1]], 1) + 0.1 * noise
    turned = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    scales = np.full(aligned.shape, 0.3) * (1 + rng.random(aligned.shape))
    for name, code in (("aligned", aligned), ("turned", aligned @ turned), ("noise", noise)):
        yield name, Encoded.of(code, factors, scales)


def metrics() -> dict[str, Any]:
    """Every metric on codes with known factors."""
    from unweave.metrics import METRICS, score_all

    found = {}
    for name, encoded in codes():
        scores = score_all(encoded, list(METRICS), seed=2)
        found[name] = {key: [s.value, s.low, s.high] for key, s in scores.items()}
    return found


def recipes() -> dict[str, Any]:
    """The identities of the runs of every recipe at every scale, as a digest."""
    from unweave.recipes.catalogue import RECIPES

    found = {}
    for name, recipe in sorted(RECIPES.items()):
        for scale in ("smoke", "small", "paper"):
            study = recipe.study(scale)
            if study is not None:
                made = sorted(run.config.identity for run in study.runs)
                found[f"{name} {scale}"] = [
                    len(made),
                    hashlib.sha256("".join(made).encode()).hexdigest()[:16],
                ]
    return found


def results() -> dict[str, str]:
    """What the published results say, as a digest of each."""
    from unweave.recipes.published_results import published_results

    found = {}
    for name, kept in published_results().items():
        content = [dict(vars(kept.result)) if kept.result else None]
        content.append({scale: dict(vars(cost)) for scale, cost in kept.costs.items()})
        found[name] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    return found


def everything() -> dict[str, Any]:
    """All of it."""
    with tempfile.TemporaryDirectory() as place:
        runs = {name: one_run(name, Path(place)) for name in RUNS}
    return {
        "identities": identities(),
        "runs": runs,
        "metrics": metrics(),
        "recipes": recipes(),
        "results": results(),
    }


def assert_close(found: Any, expected: Any, where: str = "", scale: float = 0.0) -> None:
    """Equal structure; numbers to 5 digits, since other processors add in another order.

    The KL of a latent is a difference of numbers of the size of their sum, so that is what its digits are counted of.
    """
    if isinstance(expected, dict):
        assert set(found) == set(expected), where
        for key, value in expected.items():
            size = abs(expected["kl"]) if key == "kl_per_latent" else 0.0
            assert_close(found[key], value, f"{where}.{key}", size)
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            assert_close(found[number], value, f"{where}[{number}]", scale)
    elif isinstance(expected, float):
        least = max(2e-6, 2e-5 * scale)
        assert found == pytest.approx(expected, rel=2e-5, abs=least, nan_ok=True), where
    else:
        assert found == expected, where


@pytest.mark.parametrize("name", RUNS)
def test_a_short_run_ends_where_it_ended_before(name: str, tmp_path: Path) -> None:
    found, expected = json.loads(json.dumps(one_run(name, tmp_path))), EXPECTED["runs"][name]
    if name in NORMALISED:
        assert set(found["weights"]) == set(expected["weights"])
        found, expected = (
            {key: value for key, value in run["history"][0].items() if key not in CRITIC}
            for run in (found, expected)
        )
    assert_close(found, expected, name)


def test_identities_and_labels_are_those_of_before() -> None:
    assert identities() == EXPECTED["identities"]


def test_every_metric_gives_the_value_of_before() -> None:
    assert_close(json.loads(json.dumps(metrics())), EXPECTED["metrics"], "metrics")


def test_every_recipe_trains_what_it_trained_before() -> None:
    assert {k: list(v) for k, v in recipes().items()} == EXPECTED["recipes"]


def test_published_results_say_what_they_said_before() -> None:
    assert results() == EXPECTED["results"]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(everything(), indent=1))
