"""The studies of ``unweave theory``: what the papers prove and their toy systems, as tables and pictures.

The recipes of DEC and ISA compute and draw them; here they are put together by subject.
"""

import inspect
import math
import typing
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unweave.errors import plain, unknown
from unweave.plots import priors as prior_plots
from unweave.plots import theory as theory_plots
from unweave.priors import GaussianMixture, GeneralizedNormal, SparseMixture, Tree
from unweave.recipes.dec import appendix_c, corollary_1, figure_5, theorem_1, theorem_2
from unweave.recipes.dec import figure_3 as pinwheel_figure
from unweave.recipes.dec.equations import BETA, equation_row, header
from unweave.recipes.isa import appendix_b3, appendix_b4, appendix_b5, figure_1, figure_2, figure_3
from unweave.recipes.recipe import Tell
from unweave.runs.config import read_words
from unweave.slots import convert
from unweave.theory.entropy import entropy_bias
from unweave.theory.factor_analysis import over_complete
from unweave.theory.ica import Components, fit_components
from unweave.theory.pinwheel import ablation
from unweave.theory.prior_pictures import TableAndPictures, density_of
from unweave.theory.rotation import PRIORS, preferred_angles, rotations

Study = Callable[..., TableAndPictures]


def shows(computation: Callable[..., Any]) -> Callable[[Study], Study]:
    """Give a study of ``tell`` and ``**parameters`` the parameters of the computation that it shows.

    Example:
        >>> list(inspect.signature(pinwheel_study).parameters)
        ['tell', 'alphas', 'betas', 'seeds', 'steps', 'learning_rate']
    """
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    taken = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(computation).parameters.values()
        if parameter.kind in named and parameter.name not in ("tell", "priors")
    ]

    def give(study: Study) -> Study:
        own = inspect.signature(study)
        vars(study)["__signature__"] = own.replace(parameters=[own.parameters["tell"], *taken])
        study.__annotations__ |= {parameter.name: parameter.annotation for parameter in taken}
        return study

    return give


def densities_study(
    tell: Tell = lambda _: None,
    *,
    nus: tuple[float, ...] = figure_5.NUS,
    exponents: tuple[float, ...] = figure_3.EXPONENTS,
    norms: tuple[float, ...] = figure_2.EXPONENTS,
    gamma: float = 0.8,
    sigma0: float = 0.2,
    angles: int = 91,
) -> TableAndPictures:
    """Densities and iso-contours of the priors: DEC figures 5 and 6, ISA figures 2, 3 and 4.

    Args:
        tell: receives texts on the progress.
        nus: degrees of freedom of the Student-t priors.
        exponents: of the generalised normals.
        norms: exponents of the nested norms, all pairs of them.
        gamma: weight of the narrow part of the sparse prior.
        sigma0: its deviation.
        angles: from 0 to 90 degrees, how many.

    Example:
        >>> sorted(STUDIES)
        ['annealing', 'densities', 'entropy', 'factor-analysis', 'ica', 'pinwheel', 'rotation']
    """
    tell("densities")
    turns = np.radians(np.linspace(0, 90, angles))
    rows = [["prior", "entropy (nats)", "variance", "best angle of a square"]]
    panels, log_densities = [], []
    for p in exponents:
        prior = GeneralizedNormal(2, p=p)
        entropy, variance = prior().entropy().item(), prior().variance[0].item()
        log_densities.append(preferred_angles(p, turns))
        best = float(turns[log_densities[-1].argmax()])
        panels.append((f"p = {p:g}", density_of(prior), best))
        numbers = [f"{entropy:.4f}", f"{variance:.4f}", f"{math.degrees(best):.0f} degrees"]
        rows.append([f"generalised normal, p = {p:g}", *numbers])
    mixtures = {
        "mixture of Gaussians": density_of(GaussianMixture(2)),
        f"sparse, γ = {gamma:g}, σ₀ = {sigma0:g}": density_of(SparseMixture(2, gamma=gamma, sigma0=sigma0)),
    }
    pictures = {
        "student-t": figure_5.picture(nus),
        "mixtures": prior_plots.densities(mixtures, low=-1.5, high=2.5),
        "iso-surfaces": figure_2.picture(norms),
        "orientation": prior_plots.preferred_orientation(panels, turns, log_densities),
        "tree": prior_plots.norm_tree(Tree.parse([[4]] * 5).children, [2.1, 2.2, 2.2, 2.2, 2.2, 2.2]),
    }
    return TableAndPictures(rows, pictures)


def annealing_study(
    tell: Tell = lambda _: None,
    *,
    beta: float = BETA,
    betas: tuple[float, ...] = theorem_1.BETAS,
    nu: float = 5.0,
    reach: float = 14.0,
    nodes: int = 351,
    seed: int = 0,
) -> TableAndPictures:
    """DEC theorem 1 and its corollaries: both sides of each equation.

    Args:
        tell: receives texts on the progress.
        beta: the weight of the KL in the table.
        betas: those of the picture.
        nu: degrees of freedom of the Student-t prior.
        reach: the quadrature runs from minus this to this.
        nodes: of the quadrature, along each axis.
        seed: of the codes of corollary 1 and the linear VAE of corollary 2.

    Example:
        >>> annealing_study().rows[1][0]
        'theorem 1, StudentT'
    """
    tell("theorem 1 and corollaries")
    sides = theorem_1.both_sides(beta, nu, reach, nodes)
    rows = [header(beta), *(equation_row(name, each.left, each.right) for name, each in sides.items())]
    picture = theorem_1.picture(betas, nu, reach, nodes)
    return TableAndPictures([*rows, *corollary_1.corollaries(beta, seed).rows], {"theorem-1": picture})


@shows(rotations)
def rotation_study(tell: Tell = lambda _: None, **parameters: Any) -> TableAndPictures:
    """DEC theorem 2: change of the objective under 100 random rotations, for every prior.

    Args:
        tell: receives texts on the progress.
        parameters: of :func:`unweave.theory.rotation.rotations`.

    Example:
        >>> rotation_study(latents=4, count=2, images=2, samples=4).rows[1][0]
        'StandardNormal'
    """
    tell(f"rotations under {len(PRIORS)} priors")
    changes = rotations(**parameters)
    rows = [["prior", "largest change (nats)", "mean |change|", "least largest change of a rotation"]]
    rows += [
        [name, largest, mean, least] for name, mean, largest, least in theorem_2.change_table(changes)[1:]
    ]
    return TableAndPictures(rows, {"theorem-2": theory_plots.rotations(changes)})


@shows(entropy_bias)
def entropy_study(tell: Tell = lambda _: None, **parameters: Any) -> TableAndPictures:
    """DEC appendix C: the minibatch estimate of the entropy, its bias, and how the bias shrinks with the batch size.

    Args:
        tell: receives texts on the progress.
        parameters: of :func:`unweave.theory.entropy.entropy_bias`.

    Example:
        >>> [row[0] for row in entropy_study(n=40, batches=3).rows][1:4]
        ['2', '8', '32']
    """
    tell("batches of several sizes")
    bias = entropy_bias(**parameters)
    return TableAndPictures(appendix_c.bias_table(bias), {"entropy": appendix_c.picture(bias)})


def factor_analysis_study(
    tell: Tell = lambda _: None,
    *,
    n: int = 100,
    angle: float = 45.0,
    alpha: float = 0.5,
    rho: float = 0.5,
    noise: float = 0.1,
    betas: tuple[float, ...] = appendix_b5.BETAS,
) -> TableAndPictures:
    """ISA B.2 to B.6: factor analysis, likelihood and mean-field free energy under rotation and over-completeness.

    Args:
        tell: receives texts on the progress.
        n: number of observations.
        angle: by which the weights of B.3 are turned, in degrees.
        alpha: weight of the redundant component of B.4.
        rho: length of its third component.
        noise: variance of its observation noise.
        betas: weights of the KL in B.5.

    Example:
        >>> factor_analysis_study().rows[2]
        ['B.3, turned by 45 degrees', '-17.82', '-57.16']
    """
    tell("factor analysis")
    orthogonal, turned = appendix_b3.cases(n, angle).values()
    pruned, whole = (over_complete(each, rho=rho, noise=noise, n=n) for each in (0.0, alpha))
    cases = {
        "B.3, orthogonal weights": orthogonal,
        f"B.3, turned by {angle:g} degrees": turned,
        "B.4, alpha = 0 (pruned)": pruned,
        f"B.4, alpha = {alpha:g}": whole,
    }
    rows = [["case", "log-likelihood (nats)", "free energy (nats)"]]
    rows += [[name, f"{m.log_likelihood():.2f}", f"{m.free_energy():.2f}"] for name, m in cases.items()]
    curves = appendix_b5.energies(betas, n)
    for beta, bias in appendix_b5.biases(curves).items():
        swing = f"swing over the rotation {bias.swing:.2f}, highest at {bias.angle:.0f} degrees"
        rows.append([f"B.5, beta = {beta:g}, free energy / beta", "", swing])
    pictures = {
        "factor-analysis": appendix_b3.picture(n, angle),
        "factor-analysis-beta": appendix_b5.picture(curves),
        "over-complete": appendix_b4.picture(rho, noise, n),
    }
    return TableAndPictures(rows, pictures)


def ica_study(
    tell: Tell = lambda _: None,
    *,
    beta: float = 5.0,
    n: int = 300,
    noise: float = 0.1,
    nu: float = 3.5,
    steps: int = 80,
    more_steps: int = 400,
    seed: int = 0,
) -> TableAndPictures:
    """ISA B.7 and B.8, figure 1: over-complete ICA with Student-t sources, beta 1 and 5, from the true components.

    Args:
        tell: receives texts on the progress.
        beta: weight of the KL that is compared with 1.
        n: number of data points.
        noise: standard deviation of the observation noise.
        nu: degrees of freedom of the sources.
        steps: of learning.
        more_steps: of learning at beta 1 once more.
        seed: of the data.

    Example:
        >>> ica_study(n=10, steps=1, more_steps=2).rows[2][0]
        '5'
    """
    common: dict[str, Any] = {"n": n, "noise": noise, "nu": nu, "seed": seed, "tell": tell}
    fits = {each: fit_components(beta=each, steps=steps, **common) for each in (1.0, beta)}
    longer = fit_components(beta=1.0, steps=max(steps, more_steps), **common)
    rows = [["beta", "steps", "lengths of the components", "angle of the two longest", "free energy (nats)"]]
    rows += [_components_row(fit, f"{fit.free_energy[0]:.3f} ") for fit in fits.values()]
    rows.append(_components_row(longer))
    pictures = {"ica": figure_1.picture(fits), "ica-path": figure_1.pruning_picture(longer, fits[beta])}
    return TableAndPictures(rows, pictures)


def _components_row(fit: Components, start: str = "") -> list[str]:
    lengths = ", ".join(f"{length:.3f}" for length in fit.lengths)
    energy = f"{start}to {fit.free_energy[-1]:.3f}"
    return [f"{fit.beta:g}", str(len(fit.free_energy)), lengths, f"{fit.angle():.0f} degrees", energy]


@shows(ablation)
def pinwheel_study(tell: Tell = lambda _: None, **parameters: Any) -> TableAndPictures:
    """DEC figure 3: the pinwheel under every alpha and beta, 4 seeds each, trained at once.

    Args:
        tell: receives texts on the progress.
        parameters: of :func:`unweave.theory.pinwheel.ablation`.

    Example:
        >>> pinwheel_study(alphas=(0.0, 1.0), betas=(0.1,), seeds=1, steps=1).rows[0]
        ['overlap: alpha', 'beta 0.1']
    """
    done = ablation(**parameters, tell=tell)
    overlap, mismatch = pinwheel_figure.overlap_and_mismatch(done)
    columns = [f"beta {beta:g}" for beta in done.betas]
    rows = [["overlap: alpha", *columns]]
    rows += [[f"{a:g}", *(f"{v:.1f}" for v in row)] for a, row in zip(done.alphas, overlap, strict=True)]
    rows.append(["KL(p || q): alpha", *columns])
    rows += [[f"{a:g}", *(f"{v:.3f}" for v in row)] for a, row in zip(done.alphas, mismatch, strict=True)]
    grows = bool((np.diff(overlap, axis=1) > 0).all())
    falls = bool((np.diff(mismatch, axis=0) < 0).all())
    blank = [""] * (len(done.betas) - 1)
    rows.append(["overlap grows with beta at every alpha", "yes" if grows else "no", *blank])
    rows.append(["mismatch falls with alpha at every beta", "yes" if falls else "no", *blank])
    return TableAndPictures(rows, {"pinwheel": pinwheel_figure.picture(done)})


STUDIES: dict[str, Study] = {
    "densities": densities_study,
    "annealing": annealing_study,
    "rotation": rotation_study,
    "entropy": entropy_study,
    "factor-analysis": factor_analysis_study,
    "ica": ica_study,
    "pinwheel": pinwheel_study,
}
"""Name on the command line -> study."""


def named(name: str) -> Study:
    """The study of this name; case, hyphens and underscores do not count.

    Example:
        >>> named("Factor_Analysis") is factor_analysis_study
        True
    """
    by_plain = {plain(known): study for known, study in STUDIES.items()}
    if plain(name) not in by_plain:
        raise unknown("study", name, STUDIES)
    return by_plain[plain(name)]


def parameters_of(study: Study) -> dict[str, Any]:
    """The parameters of a study and their defaults.

    Example:
        >>> parameters_of(rotation_study)["beta"]
        1.0
    """
    found = inspect.signature(study).parameters
    return {name: p.default for name, p in found.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}


def read_parameters(study: Study, words: Sequence[str]) -> dict[str, Any]:
    """What ``key=value`` words say of the parameters of a study, each as its annotated type.

    Example:
        >>> read_parameters(pinwheel_study, ["betas=[0.1,1]", "seeds=2"])
        {'betas': (0.1, 1.0), 'seeds': 2}
    """
    hints, known = typing.get_type_hints(study), parameters_of(study)
    given = read_words(words)
    for name in given:
        if name not in known:
            raise unknown("parameter", name, known)
    return {name: convert(name, value, hints[name]) for name, value in given.items()}
