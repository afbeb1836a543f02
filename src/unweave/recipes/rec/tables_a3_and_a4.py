"""REC tables A3 and A4: networks and grids, as published and as they are built."""

import torch

from unweave.plots.text_table import text_table
from unweave.recipes.architecture import Column, architecture, layers_of
from unweave.recipes.claims import equal
from unweave.recipes.rec.models import networks, protocol
from unweave.recipes.recipe import RECIPES, Conclusion, Job, recipe
from unweave.runs.config import Config
from unweave.vae import VAE

ENCODER = [
    *(word for c in (32, 32, 64, 64) for word in (f"conv 4x4 {c} stride 2", "relu")),
    *("linear 256", "relu", "linear 18"),
]
DECODER = [
    *("linear 256", "relu", "linear 1024", "relu"),
    *(word for c in (64, 32, 32) for word in (f"upconv 4x4 {c} stride 2", "relu")),
    "upconv 4x4 3 stride 2",
]
"""Table A3 with three channels and 9 latents; "2x Linear {9 or 25}" is one layer with twice the outputs here."""


def table_a3() -> list[Column]:
    """Encoder and decoder."""
    shared = protocol("paper", steps=1, small=1, latents=9)
    config = Config.of({**shared, **networks("paper"), "data": {"name": "XYSquares"}})

    def layers(part: str) -> list[str]:
        model = config.make_model((3, 64, 64))
        assert isinstance(model, VAE)
        shape = (2, 3, 64, 64) if part == "encoder" else (2, 9)
        return layers_of(getattr(model, part), inputs=torch.zeros(*shape))

    return [
        Column("encoder", ENCODER, lambda: layers("encoder")),
        Column("decoder", DECODER, lambda: layers("decoder")),
    ]


recipe(
    "rec-tablea3",
    title="Encoder and decoder",
    claim="The networks that are built have the published layers.",
    published="table A3",
)(architecture(table_a3))

PUBLISHED = {
    "figure 6": (160, 1, 115_200, {0.000316, 0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1.0}, {9, 25}),
    "figure 9": (32, 5, 57_600, {0.001, 0.00316}, {9}),
    "figure 11": (8, 5, 57_600, {0.0001, 0.0316}, {25}),
}
"""Table A4: models, repeats, steps, values of beta, latents."""


@recipe(
    "rec-tablea4",
    title="Grids of hyper-parameters of figures 6, 9 and 11",
    claim="Recipes at the paper's scale train the published grids.",
    published="table A4: 160, 160 and 40 runs",
)
def table_a4(job: Job) -> Conclusion:
    """Published grids and those of the plans."""
    rows = [["experiment", "what", "published", "planned"]]
    for name, theirs in PUBLISHED.items():
        study = RECIPES[f"rec-{name.replace('figure ', 'fig')}"].study("paper")
        assert study is not None
        first = [runs[0].config for runs in study.variants.values()]
        repeats = {len(runs) for runs in study.variants.values()}
        ours = (
            *(len(first), max(repeats), max(config.steps for config in first)),
            {float(config.objective.options["beta"]) for config in first},
            {config.latents for config in first},
        )
        whats = ("models", "repeats", "train steps", "beta", "latents")
        rows += [
            [name, what, _shown(printed), _shown(planned)]
            for what, printed, planned in zip(whats, theirs, ours, strict=True)
        ]
    wrong = sum(row[2] != row[3] for row in rows[1:])
    return Conclusion(
        rows, [equal("cells that differ from the published ones", wrong, 0)], {"table": text_table(rows)}
    )


def _shown(value: object) -> str:
    return ", ".join(f"{v:g}" for v in sorted(value)) if isinstance(value, set) else str(value)
