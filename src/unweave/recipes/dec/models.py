"""The models on 2D Shapes (dSprites) of DEC figure 2."""

from typing import Any

from unweave.recipes.recipe import Job, Scale


def shapes(scale: Scale) -> dict[str, Any]:
    """What all runs on 2D Shapes have in common (DEC appendix B and table 1a), reduced below the paper's scale.

    Example:
        >>> shapes("paper")["encoder"]["channels"], shapes("paper")["learning_rate"]
        ([32, 32, 64, 64], 0.0001)
    """
    width = {"smoke": 4, "small": 8, "paper": 32}[scale]
    channels = [width, width, 2 * width, 2 * width]
    hidden = [{"smoke": 16, "small": 128, "paper": 128}[scale]]
    return {
        "data": "DSprites",
        "encoder": {"name": "Conv", "channels": channels, "hidden": hidden},
        "decoder": {"name": "Deconv", "channels": channels[::-1], "hidden": hidden},
        "latents": 10,
        "batch_size": {"smoke": 8, "small": 32, "paper": 64}[scale],
        "learning_rate": {"smoke": 1e-3, "small": 1e-3, "paper": 1e-4}[scale],
        "steps": {"smoke": 3, "small": 3000, "paper": 20 * 737_280 // 64}[scale],
    }


def note_protocol_of_shapes(job: Job) -> None:
    """Note how the runs on 2D Shapes differ from the paper's.

    Example:
        >>> from unweave.recipes.recipe import RECIPES
        >>> job = Job(RECIPES["dec-fig2-top"], "smoke")
        >>> note_protocol_of_shapes(job)
        >>> job.notes[0]
        'A few steps of tiny networks: this only shows that it runs.'
    """
    if job.scale == "small":
        job.note(
            "Networks of a quarter of the paper's width, 3,000 steps of 32 images at a learning rate of 1e-3, 4 seeds; "
            "the paper trains for 230,400 steps of 64 at 1e-4 (top) and 115,200 of 256 (bottom) with 100 seeds."
        )
    elif job.scale == "smoke":
        job.note("A few steps of tiny networks: this only shows that it runs.")
    job.note(
        "Latents are counted as collapsed when their posterior is as wide as their own prior, not as N(0, 1)."
    )
