"""The models of the ISA figures: methods, networks, and the runs on dSprites, 3D faces and cars."""

from collections.abc import Mapping, Sequence
from typing import Any

from unweave.recipes.beta_grid import FACTOR_VAE, Model, grid, variants
from unweave.recipes.dec.models import shapes
from unweave.recipes.recipe import Job, Scale, at, data_or_stand_in

SCORE = "sampled_mig"
"""MIG as its authors compute it, from samples of q(z): what this paper reports."""

METHODS: dict[str, dict[str, Any]] = {
    "β-VAE": {"objective": "BetaVAE", "prior": "StandardNormal"},
    "β-TCVAE": {"objective": "BetaTCVAE", "prior": "StandardNormal"},
    "ISA-VAE": {"objective": "BetaVAE", "prior": "ISA"},
    "ISA-TCVAE": {"objective": "BetaTCVAE", "prior": "ISA"},
}
"""Objective and prior of the four methods on dSprites."""

DISCRIMINATOR: dict[str, Any] = {"critic_layers": 5, "critic_width": 1000}
"""The discriminator of FactorVAE in A.4: five hidden layers of 1000, leaky ReLU 0.2, two outputs."""


def methods_on_sprites(scale: Scale) -> dict[str, dict[str, Any]]:
    """The methods of table 1 on dSprites, FactorVAE among them; below the paper's scale its discriminator is narrow.

    Example:
        >>> methods_on_sprites("paper")["FactorVAE"]["objective"]["critic_width"]
        1000
    """
    discriminator = DISCRIMINATOR if scale == "paper" else {**DISCRIMINATOR, "critic_width": 32}
    factor_vae = {"objective": {"name": "FactorVAE", **discriminator}, "prior": "StandardNormal"}
    return {**METHODS, FACTOR_VAE: factor_vae}


LEARNED = "ISA-VAE, learned"

METHODS_ON_FACES: dict[str, dict[str, Any]] = {
    "β-VAE": {"objective": "BetaVAE", "prior": "StandardNormal"},
    "β-TCVAE": {"objective": "BetaTCVAE", "prior": "StandardNormal"},
    "ISA-VAE": {"objective": "BetaVAE", "prior": {"name": "ISA", "p": 1.9}},
    LEARNED: {"objective": "BetaVAE", "prior": {"name": "ISA", "learned": True}},
}
"""Objective and prior of the methods on 3D faces and cars, with exponents fixed and learned."""

MLPS = "networks of width 256, 2,000 steps of 64 images"
"""The small scale on 3D faces and cars."""


def study(
    scale: Scale,
    base: Mapping[str, Any],
    models: Sequence[Model],
    methods: Mapping[str, Mapping[str, Any]] = METHODS,
    *,
    smoke: int = 2,
    small: int = 4,
    paper: int,
) -> dict[str, Any]:
    """A study of models, scored by MIG; ``smoke``, ``small`` and ``paper`` are the seeds of these scales.

    Example:
        >>> study("paper", {}, [Model("β-VAE", 2.0)], paper=50)["seeds"]
        50
    """
    return {
        "base": dict(base),
        "variants": variants(models, methods),
        "seeds": at(scale, smoke=smoke, small=small, paper=paper),
        "metrics": [SCORE],
    }


def sprites(scale: Scale) -> dict[str, Any]:
    """What all runs on dSprites have in common: the MLPs of appendix A.4 and table 1; at small scale those of DEC.

    Example:
        >>> base = sprites("paper")
        >>> base["steps"], base["batch_size"], base["latents"], base["decoder"]["hidden"]
        (7200, 2048, 20, [1200, 1200, 1200])
    """
    if (
        scale == "small"
    ):  # convolutions learn more in a minute, and DEC has the runs of the normal prior already
        return shapes(scale)
    return {**mlp(scale), "data": "DSprites", "latents": 20}


def sprite_models(scale: Scale) -> list[Model]:
    """The models on dSprites: four methods over beta, and FactorVAE over gamma (table 1).

    Example:
        >>> len(sprite_models("paper"))
        44
    """
    betas = {
        "smoke": [1.0, 2.0],
        "small": [1.0, 2.0, 4.0],
        "paper": [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0],
    }
    names = ["β-VAE", "β-TCVAE", "ISA-VAE"] if scale == "smoke" else list(METHODS)
    gammas = {"smoke": [5.0], "small": [5.0], "paper": [float(gamma) for gamma in range(1, 11)]}[scale]
    return [*grid(names, betas[scale]), *(Model(FACTOR_VAE, gamma) for gamma in gammas)]


def mlp(scale: Scale) -> dict[str, Any]:
    """The networks of appendix A.4 and their training (tables 1 and 2), reduced below the paper's scale.

    Example:
        >>> mlp("paper")["encoder"]
        {'name': 'MLP', 'hidden': [1200, 1200]}
    """
    width = {"smoke": 16, "small": 256, "paper": 1200}[scale]
    return {
        "encoder": {"name": "MLP", "hidden": [width, width]},
        "decoder": {"name": "MLP", "hidden": [width, width, width]},
        "learning_rate": 1e-3,
        "batch_size": {"smoke": 8, "small": 64, "paper": 2048}[scale],
        "steps": {"smoke": 3, "small": 2000, "paper": 20 * 737_280 // 2048}[scale],
    }


def small_images(scale: Scale, data: Mapping[str, Any], images: int) -> dict[str, Any]:
    """What the runs on 3D faces or cars have in common: the MLPs of A.4, 10 latents, 1,500 epochs in the paper.

    Example:
        >>> small_images("paper", {"name": "Faces3D"}, 127_050)["steps"]
        93000
    """
    base = {**mlp(scale), "data": data, "latents": 10}
    return base | ({"steps": 1500 * (images // 2048)} if scale == "paper" else {})


BETAS_ON_FACES = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
"""Those of the caption of figure 5c (0.5, 1, 2, 3, 4, 5) and of table 2 (1, 1.5, 2, 2.5, 3, 4), which differ."""


def face_models(scale: Scale) -> list[Model]:
    """The models on 3D faces: four methods over beta.

    Example:
        >>> len(face_models("paper"))
        31
    """
    betas = {"smoke": [1.0, 2.0], "small": [0.5, 1.0, 2.0], "paper": list(BETAS_ON_FACES)}[scale]
    return grid(list(METHODS_ON_FACES), betas)


def learned_models(scale: Scale) -> list[Model]:
    """The models of figure 7: exponents learned, over the betas that A.2 names.

    Example:
        >>> [model.beta for model in learned_models("paper")]
        [0.5, 1.0, 2.0, 3.0, 4.0, 5.0]
    """
    named = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
    return [model for model in face_models(scale) if model.method == LEARNED and model.beta in named]


def faces(scale: Scale, models: Sequence[Model], *, paper: int) -> dict[str, Any]:
    """The runs of figures 5c and 7: 3D faces over beta, exponents fixed and learned (ISA table 2).

    Example:
        >>> study = faces("paper", face_models("paper"), paper=50)
        >>> study["base"]["steps"], study["base"]["latents"], study["seeds"]
        (93000, 10, 50)
    """
    base = small_images(scale, data_or_stand_in("Faces3D", "Objects3D", channels=1)[0], 127_050)
    return study(scale, base, models, METHODS_ON_FACES, paper=paper)


def note_protocol_of_sprites(job: Job) -> None:
    """Note how the runs on dSprites differ from the paper's.

    Example:
        >>> from unweave.recipes.recipe import RECIPES
        >>> job = Job(RECIPES["isa-fig5a"], "smoke")
        >>> note_protocol_of_sprites(job)
        >>> job.notes
        ['A few steps of tiny networks: this only shows that it runs.']
    """
    paper = "MLPs of width 1,200, 20 latents in 5 subspaces, 7,200 steps of 2,048 images (20 epochs), 50 runs"
    ours = "narrow convolutions (8 to 16 channels), 10 latents in subspaces of 4, 3 and 3, 3,000 steps of 32 images"
    note_protocol(job, ours, paper)


def note_protocol(job: Job, ours: str, paper: str) -> None:
    """Note our protocol and the paper's, where they differ.

    Example:
        >>> from unweave.recipes.recipe import RECIPES
        >>> job = Job(RECIPES["isa-fig6"], "paper")
        >>> note_protocol(job, "few runs", "many runs")
        >>> job.notes
        []
    """
    if job.scale == "small":
        job.note(f"{ours[0].upper()}{ours[1:]}, {len(job.runs(job.variants[0]))} runs; the paper: {paper}.")
    elif job.scale == "smoke":
        job.note("A few steps of tiny networks: this only shows that it runs.")
