"""FAC figure 23: the AAE and the variant of FactorVAE with the prior (Eq. 12), 2D Shapes."""

from unweave.plots.seed_bands import banded_curves
from unweave.recipes.claims import higher
from unweave.recipes.fac.curves import histories, scores_by_stage
from unweave.recipes.fac.methods import AAE, FACTOR_VAE, TOWARDS_PRIOR
from unweave.recipes.fac.models import Variants, critic, factor_vaes_2d, gammas_2d, stages_2d
from unweave.recipes.fac.scores import ERROR, HEADINGS, SCORE, best_variant, higgins_of, score_table
from unweave.recipes.recipe import Conclusion, Job, Scale, recipe
from unweave.recipes.shortfall import shortfall


def adversarial_2d(scale: Scale) -> Variants:
    """FactorVAE, its variant with the prior in place of the marginals (FAC Eq. 12), and the AAE with a weight."""
    others: Variants = {}
    for gamma in gammas_2d(scale)[1 if scale == "smoke" else 0 :]:
        options = {"gamma": gamma, **critic(scale)}
        others[f"Eq. 12 gamma={gamma}"] = {"objective": {"name": "FactorVAE", **options, "target": "prior"}}
        others[f"AAE gamma={gamma}"] = {"objective": {"name": "AAE", **options}}
    return {**factor_vaes_2d(scale), **others}


@recipe(
    "fac-fig23",
    title="The AAE and the variant of FactorVAE with the prior (Eq. 12), 2D Shapes",
    claim="The disentanglement of both is somewhat lower than that of FactorVAE.",
    published="curves only",
    runs=stages_2d(adversarial_2d),
)
def figure_23(job: Job) -> Conclusion:
    """As figure 4, for the two: errors as logged, both metrics where runs were stopped; FactorVAE in the table."""
    job.note(shortfall(job))
    others, higgins = {"AAE": AAE, "variant of FactorVAE (Eq. 12)": TOWARDS_PRIOR}, higgins_of(job.scale)
    panels = [[(title, histories(job, method, "reconstruction")) for title, method in others.items()]]
    panels += [
        [("", scores_by_stage(job, method, score)) for method in others.values()]
        for score in (higgins, SCORE)
    ]
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
    rows = [HEADINGS[score] for score in (ERROR, higgins, SCORE)]
    return Conclusion(
        score_table(job, ERROR, higgins, SCORE),
        findings,
        {"training": banded_curves(panels, rows=rows, unit_interval=(1, 2))},
    )
