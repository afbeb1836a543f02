from pathlib import Path

import pytest

from unweave import plots
from unweave.runs import Config, Run

TINY = [
    *("data=xysquares", "steps=2", "batch_size=4", "latents=3"),
    *("encoder=MLP", "encoder.hidden=[4]", "decoder=MLP", "decoder.hidden=[4]"),
]
GAN = ["data=xysquares", "steps=2", "batch_size=4", "model.channels=[4,4]", "model.hidden=8"]
CRITIC = ["objective.critic_layers=1", "objective.critic_width=8"]


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        (
            [*TINY, "objective=FactorVAE", *CRITIC],
            {
                "total correlation",
                "discriminator accuracy",
                "critic loss",
                "KL of each latent",
                "KL to the prior",
            },
        ),
        ([*TINY, "objective=BetaTCVAE"], {"total correlation", "mutual information", "dimension wise kl"}),
        ([*TINY, "capacity=3"], {"capacity"}),
        ([*GAN, "model=InfoWGANGP"], {"critic gap", "gradient penalty", "KL of each latent"}),
        ([*GAN, "model=InfoGAN"], {"discriminator accuracy", "code log likelihood"}),
    ],
)
def test_the_page_follows_the_terms_that_matter(tmp_path: Path, words: list[str], titles: set[str]) -> None:
    run = Run.create(Config.read(words=words), tmp_path / "run")
    run.train()
    shown = {axes.get_title(loc="left") for axes in plots.curves(run.history).axes}
    assert titles <= shown, shown
    assert not shown & {"step", "seconds"}
