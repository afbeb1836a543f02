"""The sentence on how much smaller a reproduction is than the paper's protocol."""

from types import SimpleNamespace
from typing import Any

from unweave.recipes.catalogue import RECIPES
from unweave.recipes.shortfall import compared_with_paper, shortfall
from unweave.runs.config import Config


def planned(name: str, scale: Any) -> Any:
    """A job whose runs are those planned, as if they had finished."""
    study = RECIPES[name].study(scale)
    assert study is not None
    return SimpleNamespace(
        recipe=RECIPES[name],
        scale=scale,
        changes={},
        variants=list(study.variants),
        runs=lambda variant: [SimpleNamespace(config=run.config) for run in study.variants[variant]],
    )


def test_the_small_scale_of_a_vae() -> None:
    assert shortfall(planned("fac-fig5", "small")) == (
        "Against the paper: 6,000 steps instead of 300,000, 5 replicas instead of 10, 4 models instead of 9, "
        "32 channels instead of 64, 32 images in a batch instead of 64, "
        "200 units in a layer of the discriminator instead of 1,000, learning rate 0.0005 instead of 0.0001."
    )


def test_a_run_and_its_beginning_are_one_model() -> None:
    assert "4 models instead of 9," in shortfall(planned("fac-fig4", "small"))


def test_the_channels_of_a_gan_are_those_of_its_model() -> None:
    assert "32 channels instead of 128" in shortfall(planned("fac-fig25", "small"))
    # FactorVAE has another gamma than in the paper: a GAN is the last variant that both have.
    assert shortfall(planned("fac-fig8", "small")).startswith(
        "Against the paper: 1,500 steps instead of 300,000"
    )


def test_nothing_is_smaller_at_the_scale_of_the_paper() -> None:
    for name in ("fac-fig4", "fac-fig8", "sbd-fig3", "sbd-table9"):
        assert shortfall(planned(name, "paper")) == ""


def test_a_size_that_one_of_the_two_does_not_have_is_not_compared() -> None:
    ours = Config.read(words=["data=circles", "encoder=MLP", "steps=1"])
    theirs = Config.read(words=["data=DSprites", "steps=10"])
    assert compared_with_paper(ours, theirs) == "Against the paper: 1 step instead of 10."
