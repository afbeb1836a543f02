"""Each piece of theory as a study: numbers, printed as a table, and pictures."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unweave.errors import UnweaveError, plain, unknown
from unweave.plots import priors as prior_plots
from unweave.plots import theory as plots
from unweave.priors import (
    GaussianMixture,
    GeneralizedNormal,
    LpNested,
    LpNestedSymmetric,
    SparseMixture,
    StudentT,
    Tree,
)
from unweave.theory.annealing import LinearVAE, corollary_one, diagonal, theorem_one
from unweave.theory.entropy import entropy_bias
from unweave.theory.factor_analysis import example, over_complete
from unweave.theory.ica import fit_components
from unweave.theory.pinwheel import ablation
from unweave.theory.rotation import preferred_angles, rotations

Tell = Callable[[str], None]


@dataclass(frozen=True)
class TheoryResult:
    """What a study found: rows of a table, its head first, and pictures by name.

    Example:
        >>> TheoryResult([["what", "nats"], ["bound", "-17.82"]], {}).rows[1][0]
        'bound'
    """

    rows: list[list[str]]
    pictures: Mapping[str, Figure]


def densities_study(tell: Tell = lambda _: None) -> TheoryResult:
    """Densities and iso-contours of the priors: DEC figures 5 and 6, ISA figures 2, 3 and 4.

    Example:
        >>> sorted(STUDIES)
        ['annealing', 'densities', 'entropy', 'factor-analysis', 'ica', 'pinwheel', 'rotation']
    """
    tell("densities")
    nested = {f"$p_0 = {p0:g}$, $p_1 = {p1:g}$": (p0, p1) for p0 in (1, 2, 9) for p1 in (1, 2, 9)}
    surfaces = [(name, _norm_of([1, [1, 1]], p)) for name, p in nested.items()]
    angles = np.radians(np.linspace(0, 90, 91))
    liked = [preferred_angles(p, angles) for p in (1.0, 2.4)]
    best = [float(angles[values.argmax()]) for values in liked]
    laws = [GeneralizedNormal(2, p=p) for p in (1.0, 2.4)]
    panels = [
        (f"p = {p:g}", _density_of(law), angle) for p, law, angle in zip((1.0, 2.4), laws, best, strict=True)
    ]
    rows = [["prior", "entropy (nats)", "variance", "best angle of a square"]]
    for p, law, angle in zip((1.0, 2.4), laws, best, strict=True):
        entropy, variance = law().entropy().item(), law().variance[0].item()
        rows.append([f"generalised normal, p = {p:g}", f"{entropy:.4f}", f"{variance:.4f}", _degrees(angle)])
    tree = Tree.parse([[4]] * 5)
    return TheoryResult(
        rows,
        {
            "student-t": prior_plots.densities(
                {f"ν = {nu:g}": _density_of(StudentT(2, nu=nu)) for nu in (3.0, 5.0, 100.0)}
            ),
            "mixtures": prior_plots.densities(
                {
                    "mixture of Gaussians": _density_of(GaussianMixture(2)),
                    "sparse, γ = 0.8, σ₀ = 0.2": _density_of(SparseMixture(2, gamma=0.8, sigma0=0.2)),
                },
                low=-1.5,
                high=2.5,
            ),
            "iso-surfaces": prior_plots.iso_surfaces([surfaces[k : k + 3] for k in (0, 3, 6)]),
            "orientation": prior_plots.preferred_orientation(panels, angles, liked),
            "tree": prior_plots.norm_tree(tree.children, [2.1, 2.2, 2.2, 2.2, 2.2, 2.2]),
        },
    )


def annealing_study(tell: Tell = lambda _: None) -> TheoryResult:
    """DEC theorem 1 and its corollaries: both sides of each equation.

    Example:
        >>> study = annealing_study()
        >>> study.rows[1][0]
        'theorem 1, StudentT'
    """
    tell("theorem 1 and corollaries")
    beta = 4.0
    axis = torch.linspace(-14, 14, 351, dtype=torch.float64)
    weights = torch.full_like(axis, 28 / 350)
    q = diagonal(
        torch.tensor([0.7, -0.4], dtype=torch.float64), torch.tensor([0.3, 0.6], dtype=torch.float64)
    )
    rows = [["equation, beta = 4", "left (nats)", "right (nats)", "difference"]]

    def add(name: str, left: float, right: float) -> None:
        rows.append([name, f"{left:.6f}", f"{right:.6f}", f"{abs(left - right):.1e}"])

    for prior in (
        StudentT(2),
        GaussianMixture(2, variance=0.4),
        GeneralizedNormal(2, p=1.5),
        LpNested(2, p=1.3),
    ):
        sides = theorem_one(_bumpy, q, prior.double()(), beta, axis, weights)
        add(f"theorem 1, {type(prior).__name__}", sides.left, sides.right)
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(200, 2, generator=generator, dtype=torch.float64)
    covariances = (
        torch.tensor([[0.3, 0.1], [0.1, 0.5]]).double(),
        torch.diag(torch.tensor([2.0, 0.5]).double()),
    )
    sides = corollary_one(_bumpy, torch.tensor([0.7, -0.4]).double(), *covariances, beta, noise)
    add("corollary 1", sides.left, sides.right)
    root = torch.randn(4, 4, generator=generator, dtype=torch.float64)
    vae = LinearVAE(root @ root.T, latents=2)
    at = vae.stationary_point(beta)
    for name, point, target in (
        ("corollary 2, gradient of L_beta at its optimum", at, vae.beta_objective),
        ("corollary 2, gradient of L_H,beta there, rescaled", vae.rescaled(at, beta), vae.entropy_objective),
        ("corollary 2, the same without rescaling (not 0)", at, vae.entropy_objective),
    ):
        there = point.clone().requires_grad_()
        add(name, torch.autograd.grad(target(there, beta), there)[0].norm().item(), 0.0)
    betas = np.geomspace(0.25, 8, 16)
    terms: dict[str, list[float]] = {}
    left = []
    law = StudentT(2).double()()
    for value in betas:
        sides = theorem_one(_bumpy, q, law, float(value), axis, weights)
        left.append(sides.left)
        for name, part in sides.parts.items():
            terms.setdefault(name, []).append(part)
    named = {"(β − 1) entropy" if name == "entropy" else name: values for name, values in terms.items()}
    figure = plots.lines(
        betas,
        named,
        xlabel="β",
        ylabel="nats",
        title="Three terms whose sum is the β-VAE's objective",
        level=("objective", left),
    )
    return TheoryResult(rows, {"theorem-1": figure})


def rotation_study(tell: Tell = lambda _: None) -> TheoryResult:
    """DEC theorem 2: change of the objective under 100 random rotations, for every prior.

    Example:
        >>> callable(rotation_study)
        True
    """
    tell("100 rotations under 8 priors")
    found = rotations()
    rows = [["prior", "largest change (nats)", "mean |change|", "least largest change of a rotation"]]
    for name, change in found.changes.items():
        size = np.abs(change)
        rows.append([name, f"{size.max():.2g}", f"{size.mean():.2g}", f"{size.max(1).min():.2g}"])
    return TheoryResult(rows, {"theorem-2": plots.rotations(found.changes)})


def entropy_study(tell: Tell = lambda _: None) -> TheoryResult:
    """DEC appendix C: the minibatch entropy estimate, its bias, its log n offset, and how it fades.

    Example:
        >>> callable(entropy_study)
        True
    """
    tell("batches of several sizes")
    bias = entropy_bias()
    rows = [["batch size", "entropy estimate (nats)", "bias", "estimated KL to the prior"]]
    for size, value, kl in zip(bias.batch_sizes, bias.estimates, bias.divergence_estimates, strict=True):
        rows.append([str(size), f"{value:.2f}", f"{value - bias.exact:+.2f}", f"{kl:+.2f}"])
    rows.append(["exact", f"{bias.exact:.2f}", "0", f"{bias.divergence:+.2f}"])
    rows.append(["log n + E H[q(z|x)]", f"{bias.no_overlap:.2f}", f"{bias.no_overlap - bias.exact:+.2f}", ""])
    drawn = plots.entropy_bias(
        bias.batch_sizes, bias.estimates, bias.errors, bias.exact, bias.no_overlap, bias.n
    )
    return TheoryResult(rows, {"entropy": drawn})


def factor_analysis_study(tell: Tell = lambda _: None) -> TheoryResult:
    """ISA B.2 to B.6: factor analysis, likelihood and mean-field free energy under rotation and over-completeness.

    Example:
        >>> factor_analysis_study().rows[2]
        ['B.3, turned by 45 degrees', '-17.82', '-57.16']
    """
    tell("factor analysis")
    model = example()
    turned = model.rotated(math.pi / 4)
    angles = np.linspace(0, 2 * np.pi, 361)
    each = [model.rotated(angle) for angle in angles]
    alphas = np.linspace(0, 1 / math.sqrt(2), 100)
    pruned = [over_complete(alpha) for alpha in alphas]
    rows = [["case", "log-likelihood (nats)", "free energy (nats)"]]
    cases = (
        ("B.3, orthogonal weights", model),
        ("B.3, turned by 45 degrees", turned),
        ("B.4, alpha = 0 (pruned)", over_complete(0.0)),
        ("B.4, alpha = 1/2", over_complete(0.5)),
    )
    for name, case in cases:
        rows.append([name, f"{case.log_likelihood():.2f}", f"{case.free_energy():.2f}"])
    for beta in (1.0, 2.0, 5.0, 10.0):
        energies = np.array([m.free_energy(beta) / beta for m in each])
        top = np.degrees(angles[energies.argmax()])
        swing = f"swing over the rotation {np.ptp(energies):.2f}, highest at {top:.0f} degrees"
        rows.append([f"B.5, beta = {beta:g}, free energy / beta", "", swing])
    panels = [
        (name, m.weights, m.posterior_covariance(), m.mean_field_covariance())
        for name, m in (("0°", model), ("45°", turned))
    ]
    energies_by = {f"free energy, β = {b:g}": [m.free_energy(b) / b for m in each] for b in (1.0, 2.0, 5.0)}
    return TheoryResult(
        rows,
        {
            "factor-analysis": plots.factor_analysis(
                panels,
                angles,
                [m.log_likelihood() for m in each],
                {"free energy": energies_by["free energy, β = 1"]},
            ),
            "factor-analysis-beta": plots.lines(
                np.degrees(angles),
                energies_by,
                xlabel="rotation (degrees)",
                ylabel="free energy / β (nats)",
                title="β changes the size of the bias, not its direction",
            ),
            "over-complete": plots.lines(
                alphas,
                {"free energy": [m.free_energy() for m in pruned]},
                xlabel="α, weight of the redundant component",
                ylabel="nats",
                title="Mean-field inference prunes",
                level=("log-likelihood", [m.log_likelihood() for m in pruned]),
            ),
        },
    )


def ica_study(tell: Tell = lambda _: None) -> TheoryResult:
    """ISA B.7 and B.8, figure 1: over-complete ICA with Student-t sources, beta 1 and 5, from the true components.

    Example:
        >>> callable(ica_study)
        True
    """
    fits = {beta: fit_components(beta=beta, tell=tell) for beta in (1.0, 5.0)}
    rows = [["beta", "steps", "lengths of the components", "angle of the two longest", "free energy (nats)"]]
    for beta, fit in fits.items():
        lengths = ", ".join(f"{length:.3f}" for length in fit.lengths)
        energy = f"{fit.free_energy[0]:.3f} to {fit.free_energy[-1]:.3f}"
        rows.append([f"{beta:g}", str(len(fit.free_energy)), lengths, f"{fit.angle():.0f} degrees", energy])
    first = fits[1.0]
    panels = {"Data and truth": None, **{f"β = {beta:g}": fit.found for beta, fit in fits.items()}}
    longer = fit_components(beta=1.0, steps=400, tell=tell)
    lengths = ", ".join(f"{length:.3f}" for length in longer.lengths)
    rows.append(["1", "400", lengths, f"{longer.angle():.0f} degrees", f"to {longer.free_energy[-1]:.3f}"])
    shortest = {
        "β = 1": np.linalg.norm(longer.path, axis=1).min(1),
        "β = 5": np.pad(np.linalg.norm(fits[5.0].path, axis=1).min(1), (0, 320), mode="edge"),
    }
    return TheoryResult(
        rows,
        {
            "ica": plots.components(first.data, first.true, panels),
            "ica-path": plots.lines(
                np.arange(401),
                shortest,
                xlabel="step",
                ylabel="length of the shortest component",
                title="β = 1 prunes too, only later",
            ),
        },
    )


def pinwheel_study(tell: Tell = lambda _: None) -> TheoryResult:
    """DEC figure 3: the pinwheel under every alpha and beta, 4 seeds each, trained at once.

    Example:
        >>> callable(pinwheel_study)
        True
    """
    done = ablation(tell=tell)
    overlap = np.exp(np.log(done.overlap).mean(-1))
    mismatch = done.mismatch.mean(-1)
    head = ["alpha", *(f"beta {beta:g}" for beta in done.betas)]
    rows = [[f"overlap: {head[0]}", *head[1:]]]
    for alpha, values in zip(done.alphas, overlap, strict=True):
        rows.append([f"{alpha:g}", *(f"{v:.1f}" for v in values)])
    rows.append([f"KL(p || q): {head[0]}", *head[1:]])
    for alpha, values in zip(done.alphas, mismatch, strict=True):
        rows.append([f"{alpha:g}", *(f"{v:.3f}" for v in values)])
    grows = bool((np.diff(overlap, axis=1) > 0).all())
    falls = bool((np.diff(mismatch, axis=0) < 0).all())
    blank = [""] * (len(done.betas) - 1)
    rows.append(["overlap grows with beta at every alpha", "yes" if grows else "no", *blank])
    rows.append(["mismatch falls with alpha at every beta", "yes" if falls else "no", *blank])
    drawn = plots.alpha_beta(
        done.alphas, done.betas, lambda i, j, z: done.density(i, j, 0, z), overlap, mismatch
    )
    return TheoryResult(rows, {"pinwheel": drawn})


STUDIES: dict[str, Callable[[Tell], TheoryResult]] = {
    "densities": densities_study,
    "annealing": annealing_study,
    "rotation": rotation_study,
    "entropy": entropy_study,
    "factor-analysis": factor_analysis_study,
    "ica": ica_study,
    "pinwheel": pinwheel_study,
}
"""Name on the command line -> study."""


def named(name: str) -> Callable[[Tell], TheoryResult]:
    """The study of this name; case, hyphens and underscores do not count.

    Example:
        >>> named("Factor_Analysis") is factor_analysis_study
        True
    """
    by_plain = {plain(known): study for known, study in STUDIES.items()}
    if plain(name) not in by_plain:
        raise unknown("study", name, STUDIES)
    return by_plain[plain(name)]


def prior_pictures(prior: torch.nn.Module, latents: int) -> TheoryResult:
    """A prior looked at: its density if it has two latents, histograms of samples otherwise, its tree if it has one.

    Example:
        >>> from unweave.priors import ISA
        >>> sorted(prior_pictures(ISA(4, subspaces=(2, 2)), 4).pictures)
        ['density', 'tree']
    """
    law = prior()
    name = type(prior).__name__
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        samples = law.sample((400_000,)).numpy()
    deviations = law.stddev.detach().numpy()
    rows = [["latent", "standard deviation", "of 400,000 samples", "kurtosis of samples"]]
    for k in range(min(latents, 20)):
        column = samples[:, k]
        kurtosis = np.mean((column - column.mean()) ** 4) / column.var() ** 2
        rows.append([f"z{k + 1}", f"{deviations[k]:.4f}", f"{column.std():.4f}", f"{kurtosis:.2f}"])
    reach = float(np.quantile(np.abs(samples[:, :2]), 0.995)) * 1.15
    panels: dict[str, Callable[[NDArray[Any]], Any]] = {}
    if latents == 2:
        panels["density"] = _density_of(prior)
    elif latents > 2:
        panels["$z_1$, $z_2$ of samples"] = _histogram(samples[:, :2], reach)
        panels[f"$z_1$, $z_{latents}$ of samples"] = _histogram(samples[:, [0, -1]], reach)
    else:
        raise UnweaveError("a picture needs at least 2 latents: set latents=2")
    pictures = {"density": prior_plots.densities(panels, low=-reach, high=reach, title=name)}
    if isinstance(law, LpNestedSymmetric):
        pictures["tree"] = prior_plots.norm_tree(law.tree.children, law.exponents.detach().numpy())
    return TheoryResult(rows, pictures)


def _density_of(prior: torch.nn.Module) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def density(points: NDArray[Any]) -> NDArray[Any]:
        with torch.no_grad():
            values: NDArray[Any] = prior().log_prob(torch.from_numpy(points).float()).exp().numpy()
        return values

    return density


def _norm_of(tree: Any, p: Sequence[float]) -> Callable[[NDArray[Any]], NDArray[Any]]:
    law = LpNestedSymmetric(Tree.parse(tree), torch.tensor(p, dtype=torch.float64), torch.ones(()))

    def norm(points: NDArray[Any]) -> NDArray[Any]:
        values: NDArray[Any] = law.log_function(torch.from_numpy(points)).exp().numpy()
        return values

    return norm


def _histogram(samples: NDArray[Any], reach: float, bins: int = 90) -> Callable[[NDArray[Any]], NDArray[Any]]:
    from scipy.ndimage import gaussian_filter

    edges = np.linspace(-reach, reach, bins + 1)
    counts, _, _ = np.histogram2d(samples[:, 0], samples[:, 1], bins=[edges, edges])
    counts = gaussian_filter(counts, 1.2)  # so that contours show the density and not the noise

    def density(points: NDArray[Any]) -> NDArray[Any]:
        cells = np.clip(np.searchsorted(edges, points) - 1, 0, bins - 1)
        values: NDArray[Any] = counts[cells[:, 0], cells[:, 1]]
        return values

    return density


def _bumpy(z: torch.Tensor) -> torch.Tensor:
    """``log p(x|z)`` of some image under some decoder that is not linear."""
    hidden = torch.tanh(z @ torch.tensor([[1.0, -0.5, 0.3], [0.2, 0.8, -1.0]], dtype=z.dtype))
    return -3 * (hidden - torch.tensor([0.5, -0.2, 0.1], dtype=z.dtype)).square().sum(-1) - 1


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.0f} degrees"
