"""Weights on their way from another value: paths in closed form, in every objective, and refusals."""

from typing import Any

import pytest
import torch

from unweave.errors import UnweaveError
from unweave.gan import GANS
from unweave.objectives import OBJECTIVES, Averaged, BetaTCVAE, BetaVAE, Objective, Progress, Ramp, Ramped
from unweave.objectives.ramps import ramped_weights
from unweave.runs import Config
from unweave.slots import accepted, options_of
from unweave.vae import VAE

TINY: dict[str, Any] = {key: {"name": "MLP", "hidden": [8]} for key in ("encoder", "decoder")}
SMALL = {"critic_layers": 1, "critic_width": 8, "dataset_size": 50}


def made(name: str, **options: Any) -> Objective:
    part = OBJECTIVES[name]
    small = {key: value for key, value in SMALL.items() if key in options_of(part)}
    return part(**accepted(part, latents=3), **small, **options)


def total(objective: Objective, progress: Progress) -> float:
    """The same VAE, critic, images and noise each time, in double precision."""
    torch.manual_seed(0)
    vae = VAE.assemble((1, 4, 4), 3, **TINY).double()
    objective = objective.double()
    for parameter in objective.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    images = torch.rand(8, 1, 4, 4, dtype=torch.float64)
    torch.manual_seed(1)
    loss = objective(vae, images, progress)
    return loss.total.item()


def test_the_paths() -> None:
    linear, geometric = Ramp(10.0, after=0.2, until=0.7), Ramp(16.0, until=0.8, shape="geometric")
    assert [linear.at(f, end=0.0) for f in (0.0, 0.2, 0.45, 0.7, 1.0)] == pytest.approx([10, 10, 5, 0, 0])
    assert [geometric.at(f, end=1.0) for f in (0.0, 0.2, 0.4, 0.8, 0.9)] == pytest.approx([16, 8, 4, 1, 1])
    assert [Ramp(3.0, after=0.5, until=0.5).at(f, end=7.0) for f in (0.0, 0.49, 0.5)] == [3.0, 3.0, 7.0]
    assert Ramp(0.0).at(0.25, end=4.0) == 1.0


WEIGHTS = [(name, weight) for name in OBJECTIVES for weight in ramped_weights(made(name))]


@pytest.mark.parametrize(("name", "weight"), WEIGHTS)
def test_a_ramped_weight_is_the_weight(name: str, weight: str) -> None:
    """Halfway from 2 to 8 the loss is that of the objective with 5, before it with 2, behind it with 8."""
    ramped = Ramped(made(name, **{weight: 8.0}), {weight: Ramp(2.0, after=0.25, until=0.75)})
    for step, value in ((0, 2.0), (25, 2.0), (50, 5.0), (75, 8.0), (99, 8.0)):
        progress = Progress(step, 100)
        assert total(ramped, progress) == pytest.approx(
            total(made(name, **{weight: value}), progress), rel=1e-12
        )
        assert ramped.weights(progress) == {weight: pytest.approx(value)}


def test_every_weight_of_every_objective_can_be_ramped() -> None:
    assert len(WEIGHTS) == 14
    assert {name for name, _ in WEIGHTS} == set(OBJECTIVES)


def test_averaged_and_annealed_objectives_pass_the_weight_on() -> None:
    words = ["data=circles", "latents=3", "averaged=true", "capacity=0", "objective.beta=2", "ramps.beta=6"]
    vae = VAE.assemble((1, 4, 4), 3, **TINY)
    ramped = Config.read(words=words).make_objective(vae)
    plain = Config.read(words=[*words[:-2], "objective.beta=4"]).make_objective(vae)
    assert total(ramped, Progress(5, 10)) == pytest.approx(total(plain, Progress(5, 10)), rel=1e-12)
    assert ramped.name == "BetaVAE"


def test_the_weights_of_a_gan() -> None:
    def losses(ramps: dict[str, Ramp], **weights: float) -> list[float]:
        torch.manual_seed(0)
        gan: Any = GANS["InfoWGANGP"]((1, 8, 8), channels=(4, 8), hidden=16, noise=3, **weights)
        game = Ramped(gan.game(), ramps)
        images = torch.rand(4 * game.batches, 1, 8, 8)
        loss = game(gan, images, Progress(1, 4))
        return [loss.total.item(), game.critic_loss(gan, images, loss, 0).total.item()]

    ramps = {"eta": Ramp(0.0, until=0.5), "lambda_mi": Ramp(3.0)}
    assert losses(ramps, eta=10.0, lambda_mi=1.0) == pytest.approx(
        losses({}, eta=5.0, lambda_mi=2.5), rel=1e-5
    )


def test_a_prior_that_the_first_weight_cannot_have_is_refused() -> None:
    """BetaTCVAE weighs the KL of each latent at first, which an ISA prior does not have, though at the end it is 1."""
    vae = VAE.assemble((1, 4, 4), 3, **TINY, prior="ISA")
    with pytest.raises(UnweaveError, match="BetaTCVAE with gamma = 4 weighs"):
        Ramped(BetaTCVAE(gamma=1.0), {"gamma": Ramp(4.0)}).check(vae)
    ramped = Ramped(BetaTCVAE(beta=1.0), {"beta": Ramp(4.0)})
    ramped.check(vae)
    assert ramped.objective.beta == 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ramps.beto.start=4"], "weight of BetaVAE in ramps .*beto.* did you mean beta"),
        (["ramps.beta.until=0.5"], "ramps.beta needs the option ramps.beta.start"),
        (["ramps.beta.start=-1"], "ramps.beta.start must be at least 0, got -1"),
        (["ramps.beta.start=4", "ramps.beta.til=1"], "did you mean until"),
        (["ramps.beta.start=4", "ramps.beta.until=2"], "fractions of all steps in this order, got 0 and 2"),
        (["ramps.beta.start=4", "ramps.beta.after=0.5", "ramps.beta.until=0.2"], "got 0.5 and 0.2"),
        (["ramps.beta.start=4", "ramps.beta.shape=round"], "must be one of linear, geometric"),
        (["ramps.beta.start=0", "ramps.beta.shape=geometric"], "needs both ends greater than 0, got 0 and 1"),
        (["ramps=4"], "ramps must name weights"),
        (["objective=FactorVAE", "ramps.critic_learning_rate=1"], "weight of FactorVAE in ramps"),
        (["weight_average=1"], "weight_average must be greater than 0 and less than 1"),
        (["clip_norm=0"], "clip_norm must be greater than 0"),
    ],
)
def test_wrong_ramps_are_one_sentence(words: list[str], message: str) -> None:
    with pytest.raises(UnweaveError, match=message):
        Config.read(words=["data=circles", *words]).make_objective(VAE.assemble((1, 4, 4), 3, **TINY))


def test_the_config_of_a_ramp(tmp_path: Any) -> None:
    plain = Config.read(words=["data=circles"])
    short = Config.read(words=["data=circles", "ramps.beta=40"])
    long = Config.read(words=["data=circles", "ramps.beta.start=40", "ramps.beta.shape=linear"])
    assert short == long
    assert short.identity == long.identity != plain.identity
    assert Config.read(words=["data=circles", "ramps=none"]).identity == plain.identity
    file = tmp_path / "ramp.yaml"
    file.write_text(short.to_yaml())
    assert Config.read(file) == short
    changed = Config.read(file, ["ramps.beta.until=0.5", "ramps.gamma=3"])
    assert changed.ramps is not None
    assert changed.ramps["beta"] == {"start": 40.0, "after": 0.0, "until": 0.5, "shape": "linear"}
    assert set(changed.ramps) == {"beta", "gamma"}


def test_wrapping_twice_ramps_the_innermost() -> None:
    twice = Ramped(Averaged(Ramped(BetaVAE(beta=1.0), {})), {"beta": Ramp(3.0)})
    assert twice.weights(Progress(5, 10)) == {"beta": 2.0}


def test_a_ramp_does_not_meet_the_falling_weight_of_the_recommended_schedule() -> None:
    words = ["data=dsprites", "training=recommended"]
    assert Config.read(words=words).schedule.name == "Unfolding"
    assert Config.read(words=[*words, "ramps.beta=40"]).schedule.name == "Linear"
