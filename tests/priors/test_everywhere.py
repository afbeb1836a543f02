"""Any prior in any objective, from the command line's words; priors that look at the data before step 0."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from unweave import VAE
from unweave.data import Arrays, Circles
from unweave.errors import UnweaveError
from unweave.functional.singular_values import singular_values
from unweave.objectives import OBJECTIVES, BetaVAE
from unweave.priors import PRIORS, AnisotropicNormal
from unweave.runs import Config, Run
from unweave.training import train
from unweave.training.randomness import generator
from unweave.vae import as_tensor


@pytest.mark.parametrize("prior", sorted(PRIORS))
def test_every_prior_goes_with_every_objective(prior: str, tmp_path: Path) -> None:
    """Only the two names change; or the objective says before step 0 that it cannot be, and why."""
    np.savez(tmp_path / "own.npz", images=np.random.default_rng(0).random((64, 8, 8), np.float32))
    small = {"name": "MLP", "hidden": [16]}
    trained = []
    for objective in sorted(OBJECTIVES):
        asked = {
            "encoder": small,
            "decoder": small,
            "latents": 4,
            "steps": 2,
            "batch_size": 8,
            "prior": prior,
        }
        config = Config.of({"data": str(tmp_path / "own.npz"), "objective": objective, **asked})
        run = Run.create(config, tmp_path / objective)
        try:
            assert run.train().status == "finished", objective
        except UnweaveError as error:
            assert prior in str(error), (objective, error)
            continue
        assert all(math.isfinite(record["total"]) for record in run.history)
        assert all(torch.isfinite(p).all() for p in run.model().parameters())
        trained.append(objective)
    assert {"BetaVAE", "AnnealedVAE"} & set(trained)


@pytest.mark.parametrize(
    "words",
    [
        ["prior=ISA", "prior.subspaces=[2,2]", "latents=4"],
        ["prior=isa", "prior.learned=true", "prior.p=[2.0,2.5]", "prior.subspaces=[3,1]", "latents=4"],
        ["prior=lp-nested", "prior.tree=[[1,1],[1,1,1]]", "prior.p=[2.1,1,4]", "latents=5"],
        ["prior=GaussianMixture", "prior.means=[[0,0],[1,1],[2,0]]", "prior.weights=[1,1,2]", "latents=2"],
        ["prior=AnisotropicNormal", "prior.learned=true", "prior.images=64", "latents=3"],
        ["prior=StudentT", "posterior.sticking_the_landing=true", "latents=3"],
    ],
    ids=lambda words: words[0],
)
def test_priors_from_words_train_and_are_scored(words: list[str], tmp_path: Path) -> None:
    config = Config.read(words=["data=circles", "data.size=32", "steps=2", "batch_size=4", *words])
    assert Config.of(config.to_mapping()) == config
    run = Run.create(config, tmp_path / "run")
    assert run.train().status == "finished"
    before = run.model().prior().log_prob(torch.ones(config.latents))
    assert torch.isfinite(before)
    from unweave.runs.evaluation import _encode

    dataset = Arrays.from_arrays(
        run.dataset().sample(30, np.random.default_rng(0)).images.transpose(0, 2, 3, 1)
    )
    codes = _encode(run.model(), (np.arange(30), dataset.at, None), 0, 2, lambda _: None)
    splits = config.prior.name in ("AnisotropicNormal", "StudentT")
    assert codes.kl.shape == (30, config.latents if splits else 1)


def principal_deviations(images: torch.Tensor, rank: int) -> torch.Tensor:
    covariance = torch.cov(images.T, correction=0)
    return torch.linalg.eigvalsh(covariance).flip(0)[:rank].sqrt()


def test_the_scales_come_from_the_principal_components() -> None:
    """Against a plain eigendecomposition of the covariance: shares of the variance, which sum to the latents."""
    data = Circles(size=32)
    images = as_tensor(data.sample(600, np.random.default_rng(1)).images).flatten(1).double()
    prior = AnisotropicNormal(5, images=600)
    prior.initialise(lambda n: images.float()[:n])
    squares = principal_deviations(images, 5).square()
    torch.testing.assert_close(prior().variance.double(), 5 * squares / squares.sum(), rtol=1e-4, atol=1e-4)
    assert prior().variance.sum().item() == pytest.approx(5, abs=1e-4)
    assert (prior().stddev.diff() <= 0).all()


def test_the_scales_as_the_sentence_of_the_paper_reads() -> None:
    data = Circles(size=32)
    images = as_tensor(data.sample(600, np.random.default_rng(1)).images).flatten(1).double()
    prior = AnisotropicNormal(5, scales="pca", images=600)
    prior.initialise(lambda n: images.float()[:n])
    expected = 5 * torch.softmax(principal_deviations(images, 5), 0)
    torch.testing.assert_close(prior().stddev.double(), expected, rtol=1e-4, atol=1e-4)
    assert prior().stddev.mean().item() == pytest.approx(1, abs=1e-5)


def test_learned_shares_keep_their_sum() -> None:
    """A step that would widen every latent widens none: beta is not scaled."""
    prior = AnisotropicNormal(4, learned=True)
    optimizer = torch.optim.Adam(prior.parameters(), lr=0.02)
    for _ in range(50):
        optimizer.zero_grad()
        (-prior().log_prob(torch.tensor([5.0, 5.0, 5.0, 9.0]))).backward()
        optimizer.step()
    assert prior().variance.sum().item() == pytest.approx(4, abs=1e-5)
    assert prior().variance[3] > 1.2 > 1 > prior().variance[0]
    free = AnisotropicNormal(4, scales="ones", learned=True)
    (-free().log_prob(torch.full((4,), 5.0))).backward()
    assert free.log_variance.grad is not None and (free.log_variance.grad < -1).all()


def test_the_whole_data_set_gives_the_scales(tmp_path: Path) -> None:
    """All 400 points of the pinwheel, as a run asks for them; data without an end are refused."""
    words = ["encoder=MLP", "decoder=MLP", "encoder.hidden=[4]", "decoder.hidden=[4]", "latents=2", "steps=1"]
    words += ["batch_size=4", "likelihood=Gaussian", "prior=AnisotropicNormal", "prior.images=null"]
    run = Run.create(Config.read(words=["data=Pinwheel", *words]), tmp_path / "all")
    run.train()
    points = torch.from_numpy(run.dataset().at(np.arange(400))).flatten(1).double()
    squares = principal_deviations(points, 2).square()
    variance = run.model().prior().variance.double()  # type: ignore[union-attr, operator]
    torch.testing.assert_close(variance, 2 * squares / squares.sum(), rtol=1e-4, atol=1e-4)
    endless = Run.create(Config.read(words=["data=circles", "data.size=16", *words]), tmp_path / "endless")
    with pytest.raises(UnweaveError, match="no fixed number"):
        endless.train()


def test_the_randomised_singular_values_are_the_true_ones() -> None:
    matrix = torch.randn(300, 200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matrix = matrix * torch.logspace(0, -4, 200, dtype=torch.float64)
    exact = torch.linalg.svdvals(matrix)
    torch.testing.assert_close(singular_values(matrix, 10), exact[:10], rtol=1e-5, atol=0)
    few = singular_values(matrix[:3], 5)
    torch.testing.assert_close(few[:3], torch.linalg.svdvals(matrix[:3]))
    assert (few[3:] == 0).all()


@pytest.mark.parametrize("learned", [False, True])
def test_training_initialises_the_prior_once_and_a_resumed_run_does_not(
    learned: bool, tmp_path: Path
) -> None:
    words = [
        "data=circles",
        "data.size=32",
        "steps=4",
        "batch_size=4",
        "latents=3",
        "prior=AnisotropicNormal",
    ]
    config = Config.read(words=[*words, "prior.images=128", f"prior.learned={str(learned).lower()}"])
    whole = Run.create(config, tmp_path / "whole")
    whole.train()
    stopped = Run.create(config, tmp_path / "stopped")
    count = 0

    def after_two() -> bool:
        nonlocal count
        count += 1
        return count == 2

    assert stopped.train(stop=after_two).status == "interrupted"
    kept = stopped.checkpoints.latest("cpu")["vae"]["prior.log_variance"]
    drawn = as_tensor(config.make_dataset().sample(128, generator(0, "prior")).images)
    fresh = AnisotropicNormal(3, images=128)
    fresh.initialise(lambda n: drawn)
    assert torch.allclose(kept, fresh.log_variance, atol=1e-3) and not torch.equal(kept, torch.zeros(3))
    assert torch.equal(kept, fresh.log_variance) is not learned
    stopped.train()
    for a, b in zip(whole.model().state_dict().values(), stopped.model().state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_the_prior_is_asked_for_no_more_images_than_it_needs() -> None:
    asked = []
    prior = AnisotropicNormal(2)
    prior.initialise(lambda n: asked.append(n) or torch.rand(n, 1, 4, 4))
    assert asked == [4096]
    untouched = AnisotropicNormal(2, scales="ones")
    untouched.initialise(lambda n: asked.append(n))
    assert asked == [4096]
    with pytest.raises(UnweaveError, match=r"prior.images must be at least 2"):
        AnisotropicNormal(2, images=1)


def test_learned_parameters_are_trained_and_others_are_not() -> None:
    data = Circles(size=32)
    for name, options, learned in (
        ("ISA", {"learned": True}, True),
        ("ISA", {}, False),
        ("AnisotropicNormal", {"learned": True, "images": 64}, True),
        ("GeneralizedNormal", {"learned": True, "p": 2.0}, True),
    ):
        torch.manual_seed(0)
        vae = VAE.assemble((3, 32, 32), 4, prior={"name": name, **options})
        before = [p.clone() for p in vae.prior.parameters()]
        train(vae, BetaVAE(), data, steps=2, batch_size=4)
        assert bool(before) is learned
        assert all(not torch.equal(a, b) for a, b in zip(before, vae.prior.parameters(), strict=True))


def test_a_learned_variance_cannot_degenerate() -> None:
    for extreme in ([-1e10, -1e10], [1e10, 1e10], [-1e10, 1e10]):
        for prior in (AnisotropicNormal(2, learned=True), AnisotropicNormal(2, scales="ones", learned=True)):
            with torch.no_grad():
                prior.log_variance.copy_(torch.tensor(extreme))
            assert torch.isfinite(prior().log_prob(torch.ones(2)))
