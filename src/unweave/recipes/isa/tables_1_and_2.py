"""ISA tables 1 and 2 and the listings of A.4: hyper-parameters and layers, printed from plans and built networks."""

from typing import Any

from unweave.plots.text_table import text_table
from unweave.recipes.architecture import architecture
from unweave.recipes.claims import equal
from unweave.recipes.isa.models import face_models, small_images, sprite_models, sprites
from unweave.recipes.isa.settings import layer_columns, listed, planned, settings_rows
from unweave.recipes.recipe import Conclusion, Job, recipe

BETAS_1, GAMMAS_1 = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0), tuple(float(n) for n in range(1, 11))
BETAS_2 = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
TABLE_1 = {
    "β": listed(BETAS_1),
    "γ (FactorVAE)": listed(GAMMAS_1),
    "Epochs": "20",
    "Learning Rate": "0.001",
    "Batch Size": "2048",
    "Latent dimension": "20",
    "Loss function": "Bernoulli",
    "Optimizer": "Adam",
}
TABLE_2 = {
    "β": listed(BETAS_2),
    "Epochs": "1500",
    "Learning Rate": "0.001",
    "Batch Size": "2048",
    "Latent dimension": "10",
    "Loss function": "Bernoulli",
    "Optimizer": "Adam",
}

SPRITES, FACES = 737_280, 127_050
"""Numbers of images."""


def _conclusion(published: dict[str, str], ours: dict[str, str]) -> Conclusion:
    rows = [["parameter", "published", "planned", "compared"], *settings_rows(published, ours)]
    wrong = sum(row[3] == "differs" for row in rows)
    found = [equal("settings that differ from the published ones", wrong, 0)]
    return Conclusion(rows, found, {"table": text_table(rows)})


@recipe(
    "isa-table1",
    title="Hyper-parameters on dSprites",
    claim="The grids and settings of FactorVAE, β-VAE, β-TCVAE and ISA-VAE on dSprites.",
    published="table 1",
)
def table_1(job: Job) -> Conclusion:
    """What figure 5b plans at the paper's scale, beside the table."""
    ours = planned(sprites("paper"), sprite_models("paper"), SPRITES)
    return _conclusion(TABLE_1, ours)


@recipe(
    "isa-table2",
    title="Hyper-parameters on 3D faces",
    claim="The grid and settings of β-VAE, β-TCVAE and ISA-VAE on 3D faces.",
    published="table 2; the caption of figure 5c has other betas",
)
def table_2(job: Job) -> Conclusion:
    """What figure 5c plans at the paper's scale, beside the table; of its betas, those that the table has."""
    models = [model for model in face_models("paper") if model.beta in BETAS_2]
    data: dict[str, Any] = {"name": "Faces3D"}
    ours = planned(small_images("paper", data, FACES), models, FACES)
    job.note("Figure 5c also trains β = 0.5 and 5 of its caption, which table 2 lacks.")
    return _conclusion(TABLE_2, ours)


recipe(
    "isa-a4",
    title="Architecture of encoder, decoder and discriminator",
    claim="MLPs of width 1,200 for the VAE, and of width 1,000 for the discriminator of FactorVAE.",
    published="listings (A.4), layer by layer",
)(
    architecture(
        lambda: layer_columns(sprites("paper")),
        note="The listing of the encoder also creates a convolution that it never applies; it is omitted.",
    )
)
