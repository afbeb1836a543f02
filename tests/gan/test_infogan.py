import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributions import Categorical, Normal

from unweave.data import XYSquares
from unweave.errors import UnweaveError
from unweave.gan import GANS, InfoGAN, InfoWGANGP
from unweave.gan.infogan import GeneratedBatch
from unweave.objectives import Loss, Progress
from unweave.reports import write_run_report
from unweave.runs import Config, Run
from unweave.runs.evaluation import codes_of, evaluate
from unweave.training import train
from unweave.training.state import TrainingState

SHAPE = (1, 8, 8)
SMALL: dict[str, Any] = {"channels": (4, 8), "hidden": 16, "noise": 3}


def small(name: str, **options: Any) -> Any:
    torch.manual_seed(0)
    return GANS[name](SHAPE, **{**SMALL, **options})


def test_codes_come_from_their_priors() -> None:
    """FAC appendix H: U[-1, 1], uniform classes, standard normal noise."""
    drawn = small("InfoGAN", continuous=1, categorical=(3, 2), noise=1).draw(6000)
    c, classes, e = drawn.continuous, drawn.classes, drawn.noise
    assert c.min() > -1
    assert c.max() < 1
    assert abs(c.mean().item()) < 4 * (1 / 3 / 6000) ** 0.5
    assert abs(c.var().item() - 1 / 3) < 0.02
    for j, size in enumerate((3, 2)):
        counts = torch.bincount(classes[:, j])
        assert len(counts) == size
        assert (counts - 6000 / size).abs().max() < 4 * (6000 / size) ** 0.5
    assert abs(e.mean().item()) < 4 / 6000**0.5
    assert abs(e.var().item() - 1) < 0.08


def test_the_log_likelihood_of_codes_is_that_of_a_gaussian_and_of_categoricals() -> None:
    gan = small("InfoGAN", continuous=2, categorical=(3, 2))
    features = torch.randn(5, 2 * 2 + 3 + 2)
    drawn = gan.draw(5)
    found = gan.log_likelihood(features, drawn)
    normal = Normal(features[:, :2], (0.5 * features[:, 2:4]).exp())
    torch.testing.assert_close(found[:, :2], normal.log_prob(drawn.continuous))
    torch.testing.assert_close(
        found[:, 2], Categorical(logits=features[:, 4:7]).log_prob(drawn.classes[:, 0])
    )
    torch.testing.assert_close(found[:, 3], Categorical(logits=features[:, 7:]).log_prob(drawn.classes[:, 1]))


def test_the_generator_sees_codes_one_hot_classes_and_noise() -> None:
    gan = small("InfoGAN", continuous=1, categorical=(3,), noise=2)
    seen: list[torch.Tensor] = []
    gan.generator = nn.Module()
    gan.generator.forward = lambda inputs: seen.append(inputs) or torch.zeros(len(inputs), *SHAPE)
    gan.generate(GeneratedBatch(torch.tensor([[0.5]]), torch.tensor([[2]]), torch.tensor([[7.0, 8.0]])))
    assert seen[0].tolist() == [[0.5, 0, 0, 1, 7, 8]]


def test_the_original_game_by_hand() -> None:
    gan = small("InfoGAN")
    game, images = gan.game(), torch.rand(6, *SHAPE)
    torch.manual_seed(1)
    loss = game(gan, images, Progress(0, 1))
    torch.manual_seed(1)
    drawn = gan.draw(6)
    scores, features = gan.critic(gan.generate(drawn))
    information = gan.log_likelihood(features, drawn).sum(1).mean()
    torch.testing.assert_close(loss.total, -scores.sigmoid().log().mean() - information)
    assert loss.reconstruction is None

    torch.manual_seed(2)
    judged = game.critic_loss(gan, images, loss, 0)
    torch.manual_seed(2)
    drawn = gan.draw(6)
    fake, features = gan.critic(gan.generate(drawn))
    real = gan.critic(images)[0]
    v = real.sigmoid().log().mean() + (1 - fake.sigmoid()).log().mean()
    torch.testing.assert_close(judged.total, -v - gan.log_likelihood(features, drawn).sum(1).mean())
    accuracy = 0.5 * ((real > 0).float().mean() + (fake < 0).float().mean())
    torch.testing.assert_close(judged.terms["discriminator_accuracy"], accuracy)


def test_the_wasserstein_game_by_hand() -> None:
    gan = small("InfoWGANGP")
    game, images = gan.game(), torch.rand(6, *SHAPE)
    torch.manual_seed(2)
    judged = game.critic_loss(gan, images, Loss(torch.zeros(())), 0)
    torch.manual_seed(2)
    drawn = gan.draw(6)
    made = gan.generate(drawn).detach()
    fake, features = gan.critic(made)
    gap = gan.critic(images)[0].mean() - fake.mean()
    torch.testing.assert_close(judged.terms["critic_gap"], gap)
    u = torch.rand(6, 1, 1, 1)
    between = (u * images + (1 - u) * made).requires_grad_()
    slopes = torch.autograd.grad(gan.critic.scores(between).sum(), between)[0].flatten(1).norm(dim=1)
    penalty = (slopes - 1).square().mean()
    information = gan.log_likelihood(features, drawn).sum(1).mean()
    torch.testing.assert_close(judged.total, -gap + 10 * penalty - information, rtol=1e-4, atol=1e-5)


def test_each_turn_of_the_critic_has_a_batch_of_its_own() -> None:
    gan = small("InfoWGANGP", critic_steps=3)
    game = gan.game()
    assert (game.batches, game.critic_turns) == (3, 3)
    seen: list[torch.Tensor] = []
    scores = gan.critic.scores
    gan.critic.scores = lambda images: seen.append(images) or scores(images)
    images = torch.rand(12, *SHAPE)
    for turn in range(3):
        seen.clear()
        game.critic_loss(gan, images, Loss(torch.zeros(())), turn)
        assert torch.equal(seen[0], images[4 * turn : 4 * turn + 4])


def test_optimisers_are_those_of_the_paper() -> None:
    game = small("InfoGAN").game()
    assert game.betas == game.critic_betas == (0.5, 0.999)
    assert game.critic_learning_rate == 1e-4


def test_representation_and_its_decoding() -> None:
    """One column a code: means, and the likeliest class spread over [-1, 1], which decodes to that class."""
    gan = small("InfoGAN", continuous=1, categorical=(5,)).eval()
    assert gan.latents == 2
    features = torch.tensor([[0.3, 2 * math.log(0.5), 0.0, 0.0, 0.0, 9.0, 0.0]])
    gan.critic = nn.Module()
    gan.critic.forward = lambda images: (torch.zeros(len(images)), features.expand(len(images), -1))
    means, scales = gan.codes(np.zeros((3, *SHAPE), np.uint8))
    np.testing.assert_allclose(means, [[0.3, 0.5]] * 3)
    assert scales[0, 0] == pytest.approx(0.5)
    assert 0 < scales[0, 1] < 0.1
    measured = gan.measure(torch.zeros(1, *SHAPE))
    assert measured.nll is None
    assert measured.kl[0, 0].item() == pytest.approx(
        math.log(2) - 0.5 * math.log(2 * math.pi * math.e * 0.25)
    )
    assert measured.kl[0, 1].item() == pytest.approx(math.log(5), abs=0.02)

    drawn = GeneratedBatch(torch.tensor([[0.3]]), torch.tensor([[3]]), gan.shown_noise[None])
    with torch.no_grad():
        expected = gan.generate(drawn).numpy()
    for value in (0.5, 0.4, 0.7):  # the nearest of -1, -0.5, 0, 0.5, 1
        np.testing.assert_allclose(gan.decode_mean(np.array([[0.3, value]])), expected, atol=1e-6)


def test_the_fixed_noise_is_kept_with_the_weights() -> None:
    one = small("InfoGAN")
    torch.manual_seed(9)
    other = GANS["InfoGAN"](SHAPE, **SMALL)
    assert not torch.equal(one.shown_noise, other.shown_noise)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one.shown_noise, other.shown_noise)


WORDS = [
    *("data=xysquares", "batch_size=8", "learning_rate=1e-3"),
    *(
        "model.channels=[4,4]",
        "model.hidden=8",
        "model.noise=2",
        "model.continuous=3",
        "model.categorical=[4]",
    ),
]


@pytest.mark.parametrize("name", GANS)
def test_a_gan_shares_run_scores_and_page(tmp_path: Path, name: str) -> None:
    config = Config.read(words=[f"model={name}", "steps=3", *WORDS])
    assert config == Config.of(config.to_mapping())
    assert config.latents == 4
    run = Run.create(config, tmp_path / "run")
    assert run.train().status == "finished"
    assert codes_of(run).means.shape == (10_000, 4)
    scores = evaluate(run)
    assert {"mig", "factor_vae_score"} <= set(scores)
    assert "elbo" not in scores
    page = write_run_report(run).read_text()
    assert f"XYSquares · {name}" in page


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("objective=FactorVAE", "model InfoGAN takes the place of the VAE's objective: omit objective"),
        ("decoder.hidden=[3]", "takes the place of the VAE's decoder"),
        ("pairing=AdaGVAE", "takes the place of the VAE's pairing"),
        ("capacity=3", "takes the place of the VAE's capacity"),
        ("averaged=true", "takes the place of the VAE's averaged"),
        ("latents=7", r"takes the place of the VAE's latents.*its codes have 4 columns"),
    ],
)
def test_what_a_gan_does_not_have_is_refused(word: str, message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        Config.read(words=["model=InfoGAN", *WORDS, word])


@pytest.mark.parametrize("gan", [InfoGAN, InfoWGANGP])
@pytest.mark.parametrize("codes", [(2, (10,)), (0, (3,)), (3, ())])
def test_any_mixture_of_codes_trains(gan: Any, codes: tuple[int, tuple[int, ...]]) -> None:
    model = gan((3, 64, 64), continuous=codes[0], categorical=codes[1], channels=(4, 4), hidden=8, noise=0)
    assert train(model, model.game(), XYSquares(), steps=2, batch_size=4).status == "finished"


@pytest.mark.parametrize(("q_step", "moved"), [("critic", [1]), ("generator", [0]), ("both", [0, 1])])
def test_q_is_trained_in_the_step_that_is_chosen(q_step: Any, moved: list[int]) -> None:
    """FAC Eq. 14 lets G and Q minimise together; Chen et al. train Q with D, with which it shares layers."""
    torch.manual_seed(0)
    gan = InfoGAN((1, 8, 8), continuous=1, categorical=(2,), noise=2, channels=(4,), hidden=8, q_step=q_step)
    state = TrainingState(gan, gan.game(), learning_rate=1e-2)
    images, progress = torch.rand(4, 1, 8, 8), Progress(0, 10)
    own, shared = gan.critic.code[0].weight, gan.critic.linear[0].weight
    changed = []
    for step in (0, 1):
        before, before_shared = own.detach().clone(), shared.detach().clone()
        loss = state.objective(gan, images, progress)
        if step == 0:
            state.update_model(loss.total)
            assert torch.equal(shared, before_shared)
        else:
            state.update_critic(state.objective.critic_loss(gan, images, loss, 0).total)
            assert not torch.equal(shared, before_shared)
        if not torch.equal(own, before):
            changed.append(step)
    assert changed == moved


def test_a_gan_says_which_codes_are_classes_and_how_its_prior_varies() -> None:
    gan = InfoGAN((1, 8, 8), continuous=2, categorical=(3, 2), channels=(4,), hidden=8)
    assert gan.discrete == (2, 3)
    drawn = gan.draw(200_000)
    assert drawn.continuous.var(0).tolist() == pytest.approx([1 / 3, 1 / 3], rel=0.02)
    classes = drawn.classes.double() / torch.tensor([2.0, 1.0]) * 2 - 1
    assert gan.prior_variances[2:] == pytest.approx(classes.var(0).tolist(), rel=0.02)
