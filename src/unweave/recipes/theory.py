"""The studies of ``unweave theory``: what the papers prove and their toy systems, as tables and pictures.

The recipes of DEC and ISA compute and draw them; here they are put together by subject.
"""

import math
from collections.abc import Callable

import numpy as np

from unweave.errors import plain, unknown
from unweave.plots import priors as prior_plots
from unweave.plots import theory as theory_plots
from unweave.priors import GaussianMixture, GeneralizedNormal, SparseMixture, Tree
from unweave.recipes.dec import appendix_c, corollary_1, figure_5, theorem_1, theorem_2
from unweave.recipes.dec import figure_3 as pinwheel_figure
from unweave.recipes.dec.equations import HEADER, equation_row
from unweave.recipes.isa import appendix_b3, appendix_b4, appendix_b5, figure_1, figure_2, figure_3
from unweave.recipes.recipe import Tell
from unweave.theory.entropy import entropy_bias
from unweave.theory.factor_analysis import over_complete
from unweave.theory.ica import Components, fit_components
from unweave.theory.pinwheel import ablation
from unweave.theory.prior_pictures import TableAndPictures, density_of
from unweave.theory.rotation import preferred_angles, rotations


def densities_study(tell: Tell = lambda _: None) -> TableAndPictures:
    """Densities and iso-contours of the priors: DEC figures 5 and 6, ISA figures 2, 3 and 4.

    Example:
        >>> sorted(STUDIES)
        ['annealing', 'densities', 'entropy', 'factor-analysis', 'ica', 'pinwheel', 'rotation']
    """
    tell("densities")
    angles = np.radians(np.linspace(0, 90, 91))
    rows = [["prior", "entropy (nats)", "variance", "best angle of a square"]]
    panels, log_densities = [], []
    for p in figure_3.EXPONENTS:
        prior = GeneralizedNormal(2, p=p)
        entropy, variance = prior().entropy().item(), prior().variance[0].item()
        log_densities.append(preferred_angles(p, angles))
        best = float(angles[log_densities[-1].argmax()])
        panels.append((f"p = {p:g}", density_of(prior), best))
        numbers = [f"{entropy:.4f}", f"{variance:.4f}", f"{math.degrees(best):.0f} degrees"]
        rows.append([f"generalised normal, p = {p:g}", *numbers])
    mixtures = {
        "mixture of Gaussians": density_of(GaussianMixture(2)),
        "sparse, γ = 0.8, σ₀ = 0.2": density_of(SparseMixture(2, gamma=0.8, sigma0=0.2)),
    }
    pictures = {
        "student-t": figure_5.picture(),
        "mixtures": prior_plots.densities(mixtures, low=-1.5, high=2.5),
        "iso-surfaces": figure_2.picture(),
        "orientation": prior_plots.preferred_orientation(panels, angles, log_densities),
        "tree": prior_plots.norm_tree(Tree.parse([[4]] * 5).children, [2.1, 2.2, 2.2, 2.2, 2.2, 2.2]),
    }
    return TableAndPictures(rows, pictures)


def annealing_study(tell: Tell = lambda _: None) -> TableAndPictures:
    """DEC theorem 1 and its corollaries: both sides of each equation.

    Example:
        >>> annealing_study().rows[1][0]
        'theorem 1, StudentT'
    """
    tell("theorem 1 and corollaries")
    sides = theorem_1.both_sides()
    rows = [HEADER, *(equation_row(name, each.left, each.right) for name, each in sides.items())]
    return TableAndPictures([*rows, *corollary_1.corollaries().rows], {"theorem-1": theorem_1.picture()})


def rotation_study(tell: Tell = lambda _: None) -> TableAndPictures:
    """DEC theorem 2: change of the objective under 100 random rotations, for every prior.

    Example:
        >>> callable(rotation_study)
        True
    """
    tell("100 rotations under 8 priors")
    found = rotations()
    rows = [["prior", "largest change (nats)", "mean |change|", "least largest change of a rotation"]]
    rows += [[name, largest, mean, least] for name, mean, largest, least in theorem_2.change_table(found)[1:]]
    return TableAndPictures(rows, {"theorem-2": theory_plots.rotations(found.changes)})


def entropy_study(tell: Tell = lambda _: None) -> TableAndPictures:
    """DEC appendix C: the minibatch estimate of the entropy, its bias, and how the bias shrinks with the batch size.

    Example:
        >>> callable(entropy_study)
        True
    """
    tell("batches of several sizes")
    bias = entropy_bias()
    return TableAndPictures(appendix_c.bias_table(bias), {"entropy": appendix_c.picture(bias)})


def factor_analysis_study(tell: Tell = lambda _: None) -> TableAndPictures:
    """ISA B.2 to B.6: factor analysis, likelihood and mean-field free energy under rotation and over-completeness.

    Example:
        >>> factor_analysis_study().rows[2]
        ['B.3, turned by 45 degrees', '-17.82', '-57.16']
    """
    tell("factor analysis")
    orthogonal, turned = appendix_b3.cases().values()
    cases = {
        "B.3, orthogonal weights": orthogonal,
        "B.3, turned by 45 degrees": turned,
        "B.4, alpha = 0 (pruned)": over_complete(0.0),
        "B.4, alpha = 1/2": over_complete(0.5),
    }
    rows = [["case", "log-likelihood (nats)", "free energy (nats)"]]
    rows += [[name, f"{m.log_likelihood():.2f}", f"{m.free_energy():.2f}"] for name, m in cases.items()]
    curves = appendix_b5.energies()
    for beta, bias in appendix_b5.biases(curves).items():
        swing = f"swing over the rotation {bias.swing:.2f}, highest at {bias.angle:.0f} degrees"
        rows.append([f"B.5, beta = {beta:g}, free energy / beta", "", swing])
    pictures = {
        "factor-analysis": appendix_b3.picture(),
        "factor-analysis-beta": appendix_b5.picture(curves),
        "over-complete": appendix_b4.picture(),
    }
    return TableAndPictures(rows, pictures)


def ica_study(tell: Tell = lambda _: None) -> TableAndPictures:
    """ISA B.7 and B.8, figure 1: over-complete ICA with Student-t sources, beta 1 and 5, from the true components.

    Example:
        >>> callable(ica_study)
        True
    """
    fits = {beta: fit_components(beta=beta, tell=tell) for beta in figure_1.BETAS}
    longer = fit_components(beta=1.0, steps=400, tell=tell)
    rows = [["beta", "steps", "lengths of the components", "angle of the two longest", "free energy (nats)"]]
    rows += [_components_row(fit, f"{fit.free_energy[0]:.3f} ") for fit in fits.values()]
    rows.append(_components_row(longer))
    pictures = {"ica": figure_1.picture(fits), "ica-path": figure_1.pruning_picture(longer, fits[5.0])}
    return TableAndPictures(rows, pictures)


def _components_row(fit: Components, start: str = "") -> list[str]:
    lengths = ", ".join(f"{length:.3f}" for length in fit.lengths)
    energy = f"{start}to {fit.free_energy[-1]:.3f}"
    return [f"{fit.beta:g}", str(len(fit.free_energy)), lengths, f"{fit.angle():.0f} degrees", energy]


def pinwheel_study(tell: Tell = lambda _: None) -> TableAndPictures:
    """DEC figure 3: the pinwheel under every alpha and beta, 4 seeds each, trained at once.

    Example:
        >>> callable(pinwheel_study)
        True
    """
    done = ablation(tell=tell)
    overlap, mismatch = pinwheel_figure.overlap_and_mismatch(done)
    betas = [f"beta {beta:g}" for beta in done.betas]
    rows = [["overlap: alpha", *betas]]
    rows += [[f"{a:g}", *(f"{v:.1f}" for v in row)] for a, row in zip(done.alphas, overlap, strict=True)]
    rows.append(["KL(p || q): alpha", *betas])
    rows += [[f"{a:g}", *(f"{v:.3f}" for v in row)] for a, row in zip(done.alphas, mismatch, strict=True)]
    grows = bool((np.diff(overlap, axis=1) > 0).all())
    falls = bool((np.diff(mismatch, axis=0) < 0).all())
    blank = [""] * (len(done.betas) - 1)
    rows.append(["overlap grows with beta at every alpha", "yes" if grows else "no", *blank])
    rows.append(["mismatch falls with alpha at every beta", "yes" if falls else "no", *blank])
    return TableAndPictures(rows, {"pinwheel": pinwheel_figure.picture(done)})


STUDIES: dict[str, Callable[[Tell], TableAndPictures]] = {
    "densities": densities_study,
    "annealing": annealing_study,
    "rotation": rotation_study,
    "entropy": entropy_study,
    "factor-analysis": factor_analysis_study,
    "ica": ica_study,
    "pinwheel": pinwheel_study,
}
"""Name on the command line -> study."""


def named(name: str) -> Callable[[Tell], TableAndPictures]:
    """The study of this name; case, hyphens and underscores do not count.

    Example:
        >>> named("Factor_Analysis") is factor_analysis_study
        True
    """
    by_plain = {plain(known): study for known, study in STUDIES.items()}
    if plain(name) not in by_plain:
        raise unknown("study", name, STUDIES)
    return by_plain[plain(name)]
