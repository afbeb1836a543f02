"""The models of DEC appendix B and table 1: on 2D Shapes (dSprites), the pinwheel and faces."""

from typing import Any

from unweave.recipes.recipe import Job, Scale

AMSGRAD: dict[str, Any] = {"name": "Adam", "amsgrad": True, "betas": [0.9, 0.999]}
"""The optimiser on 2D Shapes and the pinwheel: the paper cites two references for its Adam, of which the second is
AMSGrad; the code of the authors has it too."""


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
        "encoder": {"name": "Conv", "channels": channels, "hidden": hidden, "hidden_activation": "none"},
        "decoder": {"name": "Deconv", "channels": [2 * width, *channels[:0:-1]], "hidden": hidden},
        "latents": 10,
        "optimizer": AMSGRAD,
        "batch_size": {"smoke": 8, "small": 32, "paper": 64}[scale],
        "learning_rate": {"smoke": 1e-3, "small": 1e-3, "paper": 1e-4}[scale],
        "steps": {"smoke": 3, "small": 3000, "paper": 20 * 737_280 // 64}[scale],
    }


def pinwheel(alpha: float, beta: float) -> dict[str, Any]:
    """The model of DEC figure 3 as a config: table 1b, Eq. 7 with the inclusive KL, Eq. 9, 500 steps of all points.

    (The figure itself trains all its models at once, see :mod:`unweave.theory.pinwheel`.)

    Example:
        >>> pinwheel(1.0, 0.1)["likelihood"]
        {'name': 'Gaussian', 'per_output': True}
    """
    return {
        "data": "Pinwheel",
        "encoder": {"name": "MLP", "hidden": [100]},
        "decoder": {"name": "MLP", "hidden": [100], "activation": "relu"},
        "likelihood": {"name": "Gaussian", "per_output": True},
        "prior": "GaussianMixture",
        "objective": {"name": "DecompositionVAE", "alpha": alpha, "beta": beta, "aggregate": "data"},
        "optimizer": AMSGRAD,
        "latents": 2,
        "batch_size": 400,
        "learning_rate": 1e-3,
        "steps": 500,
    }


def faces(scale: Scale) -> dict[str, Any]:
    """What all runs of figure 4 have in common but the data (DEC appendix B and table 1c); small networks below.

    Example:
        >>> faces("paper")["optimizer"]["betas"], faces("paper")["latents"]
        ([0.5, 0.999], 50)
    """
    optimizer = {"name": "Adam", "betas": [0.5, 0.999]}
    if scale == "paper":
        return {
            "encoder": "DCGAN",
            "decoder": "DCGAN",
            "optimizer": optimizer,
            "latents": 50,
            "batch_size": 256,
            "learning_rate": 2e-4,
            "steps": 60 * 162_770 // 256,
        }
    width = 8 if scale == "smoke" else 128
    return {
        "encoder": {"name": "MLP", "hidden": [width, width]},
        "decoder": {"name": "MLP", "hidden": [width, width], "activation": "relu"},
        "optimizer": optimizer,
        "latents": 10,
        "batch_size": 8 if scale == "smoke" else 128,
        "learning_rate": 1e-3,
        "steps": 3 if scale == "smoke" else 2000,
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
        "The score is that of Kim and Mnih, who count a latent as collapsed when its posterior is as wide as N(0, 1); "
        "beside it stands the score that counts those as wide as their own prior. The code that the authors published "
        "trains at 5e-4 instead of the paper's 1e-4: learning_rate=5e-4."
    )
