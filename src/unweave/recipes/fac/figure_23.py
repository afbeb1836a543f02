"""FAC figure 23: the AAE and the variant of FactorVAE with the prior (Eq. 12), 2D Shapes."""

from typing import Any

from unweave.plots.seed_bands import banded_curves
from unweave.recipes.claims import higher
from unweave.recipes.fac.curves import band, histories
from unweave.recipes.fac.methods import AAE, FACTOR_VAE, TOWARDS_PRIOR, variants_of
from unweave.recipes.fac.models import Variants, critic, gammas_2d, shapes_2d
from unweave.recipes.fac.scores import ERROR, HIGGINS, SCORE, best_variant, score_table
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe
from unweave.recipes.shortfall import shortfall


def adversarial_2d(scale: Scale) -> dict[str, Any]:
    """FactorVAE, its variant with the prior in place of the marginals (FAC Eq. 12), and the AAE with a weight."""
    study = shapes_2d(scale)
    others: Variants = {}
    for gamma in gammas_2d(scale)[1 if scale == "smoke" else 0 :]:
        options = {"gamma": gamma, **critic(scale)}
        others[f"Eq. 12 gamma={gamma}"] = {"objective": {"name": "FactorVAE", **options, "target": "prior"}}
        others[f"AAE gamma={gamma}"] = {"objective": {"name": "AAE", **options}}
    return {**study, "variants": {**study["variants"], **others}}


@recipe(
    "fac-fig23",
    title="The AAE and the variant of FactorVAE with the prior (Eq. 12), 2D Shapes",
    claim="The disentanglement of both is somewhat lower than that of FactorVAE.",
    published="curves only",
    runs=adversarial_2d,
)
def figure_23(job: Job) -> Conclusion:
    """Errors over training and final scores of the two, beside FactorVAE."""
    job.note(shortfall(job))
    others = {"AAE": AAE, "variant of FactorVAE (Eq. 12)": TOWARDS_PRIOR}
    panels = [(title, histories(job, method, "reconstruction")) for title, method in others.items()]
    curves = {}
    for title, method in {**others, "FactorVAE": FACTOR_VAE}.items():
        variants = variants_of(job, method)
        scores = [job.scores(variant.name, SCORE) for variant in variants]
        curves[title] = band([variant.weight for variant in variants], scores)
    top = best_variant(job, FACTOR_VAE)
    findings = []
    for method in others.values():
        other = best_variant(job, method)
        findings.append(
            higher(
                f"FactorVAE score, FactorVAE ({top.label}) minus {method.name} ({other.label})",
                job.scores(top.name, SCORE),
                job.scores(other.name, SCORE),
            )
        )
    return Conclusion(
        score_table(job, ERROR, HIGGINS, SCORE),
        findings,
        {
            "scores": banded_curves(
                [[("", curves)]], rows=["FactorVAE score"], x="gamma", unit_interval=(0,)
            ),
            "errors": banded_curves([panels], rows=["reconstruction error"]),
        },
    )
