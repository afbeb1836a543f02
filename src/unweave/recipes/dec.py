"""Figures and theorems of Mathieu et al. 2019, Disentangling disentanglement in variational auto-encoders (DEC)."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unweave.functional.mmd import SCALES, inverse_multiquadratic, mmd, over_scales
from unweave.metrics import factor_vae_score, hoyer
from unweave.metrics.statistics import mean_interval
from unweave.plots import priors as prior_plots
from unweave.plots import theory as theory_plots
from unweave.plots.style import PALETTE, style
from unweave.plots.sweeps import Point, trade_off
from unweave.priors import GaussianMixture, StandardNormal, StudentT
from unweave.recipes.claims import equal, higher, paired, proportion
from unweave.recipes.recipe import Conclusion, Job, Scale, data_or_stand_in, recipe
from unweave.runs.config import Config
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run
from unweave.theory.annealing import corollary_one
from unweave.theory.entropy import entropy_bias
from unweave.theory.pinwheel import ALPHAS, BETAS, ablation
from unweave.theory.rotation import PRIORS, rotations
from unweave.theory.studies import annealing_study

Array = NDArray[np.float64]

GAUSSIANS: dict[str, Any] = {
    "isotropic": {"prior": "StandardNormal"},
    "anisotropic, PCA": {"prior": {"name": "AnisotropicNormal"}},
    "anisotropic, learned": {"prior": {"name": "AnisotropicNormal", "learned": True}},
}
"""The three priors of figure 2 top."""


def shapes(scale: Scale) -> dict[str, Any]:
    """What all runs on 2D Shapes have in common (DEC appendix B and table 1a), as far as the scale allows.

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


def anisotropic(scale: Scale) -> dict[str, Any]:
    """Figure 2 top: three Gaussian priors at several betas.

    Example:
        >>> plan = anisotropic("paper")
        >>> plan["seeds"], plan["base"]["steps"], plan["base"]["batch_size"]
        (100, 230400, 64)
    """
    betas = {"smoke": [1.0], "small": [1.0], "paper": [1.0, 2.0, 4.0, 6.0, 8.0]}[scale]
    return {
        "base": shapes(scale),
        "variants": {
            f"{name}, β = {beta:g}": {**settings, "objective": {"name": "BetaVAE", "beta": beta}}
            for name, settings in GAUSSIANS.items()
            for beta in betas
        },
        "seeds": {"smoke": 2, "small": 4, "paper": 100}[scale],
    }


def heavy_tails(scale: Scale) -> dict[str, Any]:
    """Figure 2 bottom: products of Student's t at beta 1, and the Gaussian they tend to.

    Example:
        >>> plan = heavy_tails("paper")
        >>> plan["base"]["steps"], plan["base"]["batch_size"], list(plan["variants"])[:2]
        (115200, 256, ['Gaussian', 'ν = 100'])
    """
    base = {**shapes(scale), "objective": {"name": "BetaVAE", "beta": 1.0}}
    if scale == "paper":
        base |= {"batch_size": 256, "steps": 40 * 737_280 // 256}
    nus = {"smoke": [5.0], "small": [10.0, 3.0], "paper": [100.0, 30.0, 10.0, 5.0, 3.0, 2.5]}[scale]
    return {
        "base": base,
        "variants": {
            "Gaussian": {"prior": "StandardNormal"},
            **{f"ν = {nu:g}": {"prior": {"name": "StudentT", "nu": nu}} for nu in nus},
        },
        "seeds": {"smoke": 2, "small": 4, "paper": 100}[scale],
    }


@recipe(
    "dec-fig2-top",
    title="Reconstruction loss against disentanglement: anisotropic Gaussian priors, 2D Shapes",
    claim="For a given beta, Gaussian priors that are not isotropic (of principal components, or learned) are better "
    "disentangled than the isotropic one.",
    published="curves only (figure 2 top): FactorVAE score over reconstruction loss, 100 networks a point",
    runs=anisotropic,
)
def figure_2_top(job: Job) -> Conclusion:
    """Scores of the three priors; the claim is tested on pairs of runs with the same beta and seed."""
    found = {name: np.array([disentanglement(run) for run in job.runs(name)]) for name in job.variants}
    lost = {name: job.scores(name, "nll") for name in job.variants}
    series = {
        prior: [
            Point(name.rpartition("= ")[2], list(lost[name]), list(found[name]))
            for name in job.variants
            if name.startswith(f"{prior}, β")
        ]
        for prior in GAUSSIANS
    }
    plain, fixed, learned = (
        np.concatenate([np.asarray(point.y) for point in points]) for points in series.values()
    )
    _say_shapes(job)
    job.note("The betas of the figure stand in no text; these are ours.")
    return Conclusion(
        rows=_scored(found, lost),
        pictures={
            "trade-off": trade_off(
                series, x="reconstruction loss (nats)", y="FactorVAE score", swept="β", unit_interval=True
            )
        },
        findings=[
            paired(
                "FactorVAE score, mean of both anisotropic priors minus isotropic, same beta and seed",
                (fixed + learned) / 2,
                plain,
            )
        ],
    )


@recipe(
    "dec-fig2-bottom",
    title="Reconstruction loss against disentanglement: Student-t priors, 2D Shapes, beta 1",
    claim="Fewer degrees of freedom cost little reconstruction and are better disentangled than the Gaussian.",
    published="curves only (figure 2 bottom): FactorVAE score over reconstruction loss, 100 networks a point",
    runs=heavy_tails,
)
def figure_2_bottom(job: Job) -> Conclusion:
    """Scores over the degrees of freedom; the claim is tested on pairs of runs with the same seed."""
    found = {name: np.array([disentanglement(run) for run in job.runs(name)]) for name in job.variants}
    lost = {name: job.scores(name, "nll") for name in job.variants}
    gaussian, *heavy = found.values()
    series = {
        "": [Point(name.replace("Gaussian", "∞"), list(lost[name]), list(found[name])) for name in found]
    }
    _say_shapes(job)
    job.note("The degrees of freedom of the figure stand in no text; these are ours.")
    drawn = trade_off(
        {key or "ν": value for key, value in series.items()},
        x="reconstruction loss (nats)",
        y="FactorVAE score",
        swept="degrees of freedom ν (∞: the Gaussian)",
        unit_interval=True,
    )
    light = [values for name, values in zip(list(found)[1:], heavy, strict=True) if _nu(name) <= 10]
    return Conclusion(
        rows=_scored(found, lost),
        pictures={"trade-off": drawn},
        findings=[
            paired(
                "FactorVAE score, mean over ν of at most 10 minus Gaussian, same seed", _mean(light), gaussian
            )
        ],
    )


@recipe(
    "dec-fig3",
    title="Aggregate posterior of the pinwheel for every alpha and beta",
    claim="Beta raises the overlap of the encodings; alpha improves the match of the aggregate with the mixture prior; "
    "too large a beta spoils the match.",
    published="densities only (figure 3)",
)
def figure_3(job: Job) -> Conclusion:
    """All VAEs of the grid, trained at once; overlap and mismatch as numbers."""
    alphas, betas = job.pick(smoke=((0.0, 3.0), (0.1, 1.2)), small=(ALPHAS, BETAS), paper=(ALPHAS, BETAS))
    seeds, steps = job.pick(smoke=(2, 5), small=(4, 500), paper=(10, 500))
    done = ablation(alphas, betas, seeds=seeds, steps=steps, tell=job.tell)
    overlap, mismatch = np.exp(np.log(done.overlap).mean(-1)), done.mismatch.mean(-1)
    head = [f"β = {beta:g}" for beta in betas]
    rows = [["overlap (of 400) / KL(p‖q)", *head]]
    for alpha, many, apart in zip(alphas, overlap, mismatch, strict=True):
        rows.append([f"α = {alpha:g}", *(f"{m:.3g} / {k:.2f}" for m, k in zip(many, apart, strict=True))])
    grows, falls = np.diff(overlap, axis=1) > 0, np.diff(mismatch, axis=0) < 0
    job.note(f"The alphas and betas of the figure stand in no text; these are ours. {seeds} seeds of each.")
    return Conclusion(
        rows=rows,
        pictures={
            "densities": theory_plots.alpha_beta(
                alphas, betas, lambda i, j, z: done.density(i, j, 0, z), overlap, mismatch
            )
        },
        findings=[
            proportion("steps up in beta that raise the overlap", int(grows.sum()), grows.size, 0.5),
            proportion("steps up in alpha that improve the match", int(falls.sum()), falls.size, 0.5),
            higher(
                "KL(p‖q) at the largest alpha, largest beta minus the beta that fits best",
                done.mismatch[-1, -1],
                done.mismatch[-1, mismatch[-1].argmin()],
            ),
        ],
    )


GAMMA: dict[Scale, float] = {"smoke": 0.8, "small": 0.8, "paper": 0.9}
"""How likely a latent is to be off under the sparse prior: 2 of 10 latents are on, or 5 of the paper's 50."""


def sparse(scale: Scale) -> dict[str, Any]:
    """Figure 4: sparse and Gaussian prior, MMD of several weights (DEC appendix B and table 1c).

    Example:
        >>> plan = sparse("paper")
        >>> plan["seeds"], plan["base"]["batch_size"], plan["base"]["steps"], plan["base"]["latents"]
        (3, 256, 38149, 50)
    """
    data, _ = _faces(scale)
    mmd_of: dict[str, Any] = {"name": "DecompositionVAE", "divergence": "mmd"}
    if scale == "paper":
        base: dict[str, Any] = {
            "encoder": "DCGAN",
            "decoder": "DCGAN",
            "latents": 50,
            "batch_size": 256,
            "learning_rate": 2e-4,
            "steps": 60 * 162_770 // 256,
        }
    else:
        width = {"smoke": 8, "small": 128}[scale]
        base = {
            "encoder": {"name": "MLP", "hidden": [width, width]},
            "decoder": {"name": "MLP", "hidden": [width, width], "activation": "relu"},
            "latents": 10,
            "batch_size": {"smoke": 8, "small": 128}[scale],
            "learning_rate": 1e-3,
            "steps": {"smoke": 3, "small": 2000}[scale],
        }
        # Few latents and a kernel that is narrow and pointed: what tells sparse from Gaussian in a few minutes.
        mmd_of |= {"norm": "plain", "scales": [0.01, 0.1, 1.0]}
    alphas = {"smoke": (0.0, 1000.0), "small": (0.0, 1000.0), "paper": (0.0, 10.0, 100.0, 500.0, 1000.0)}[
        scale
    ]
    betas = {"smoke": (0.1,), "small": (0.1,), "paper": (0.1, 1.0, 5.0)}[scale]
    return {
        "base": {"data": data, **base},
        "variants": {
            f"γ = {gamma:g}, β = {beta:g}, α = {alpha:g}": {
                "prior": {"name": "SparseMixture", "gamma": gamma},
                "objective": {**mmd_of, "alpha": alpha, "beta": beta},
            }
            for gamma in (0.0, GAMMA[scale])
            for beta in betas
            for alpha in alphas
        },
        "seeds": {"smoke": 2, "small": 4, "paper": 3}[scale],
    }


@recipe(
    "dec-fig4",
    title="Sparsity, reconstruction loss and divergence against alpha, for sparse and Gaussian priors",
    claim="A sparse prior makes sparse codes, and far more so with the regularisation of the aggregate (alpha > 0).",
    published="curves only (figure 4): Hoyer sparsity, reconstruction loss and MMD over alpha, 3 networks a point",
    runs=sparse,
)
def figure_4(job: Job) -> Conclusion:
    """Three panels over alpha; both claims are tested at the largest alpha."""
    of: dict[str, dict[str, Array]] = {}
    for name in job.variants:
        runs = job.runs(name)
        of[name] = {
            "Hoyer sparsity": np.array([hoyer(codes_of(run).means).value for run in runs]),
            "reconstruction loss (nats)": job.scores(name, "nll"),
            "MMD to the prior": np.array([divergence(run) for run in runs]),
        }
    at = {name: tuple(float(part.rpartition("= ")[2]) for part in name.split(", ")) for name in of}
    lines: dict[str, list[str]] = {}
    for name, (gamma, beta, _) in at.items():
        lines.setdefault(f"γ = {gamma:g}, β = {beta:g}", []).append(name)
    rows = [["prior and weights", "Hoyer sparsity", "reconstruction loss (nats)", "MMD"]]
    rows += [
        [name, *(str(mean_interval(values)) for values in scores.values())] for name, scores in of.items()
    ]
    most = max(alpha for _, _, alpha in at.values())
    high, beta = GAMMA[job.scale], job.pick(smoke=0.1, small=0.1, paper=1.0)
    thick, off, thin = (
        of[f"γ = {gamma:g}, β = {beta:g}, α = {alpha:g}"]["Hoyer sparsity"]
        for gamma, alpha in ((high, most), (high, 0.0), (0.0, most))
    )
    job.note(_faces(job.scale)[1])
    if job.scale != "paper":
        job.note(
            "Linear layers of width 128, 10 latents, γ = 0.8, β = 0.1, 2,000 steps of 128 images of 16 x 16 pixels, 4 "
            "seeds; the paper has DCGAN networks, 50 latents, γ = 0.9, 60 epochs in batches of 256, 3 networks."
            if job.scale == "small"
            else "A few steps of tiny networks: this only shows that it runs."
        )
    job.note(
        "The values of alpha and the widths of the kernel stand in no text and are ours; Adam's first momentum is 0.9 "
        "here and 0.5 in the paper. Each latent is divided by its standard deviation before the sparsity is taken."
    )
    job.admit(
        "Data, number of latents, beta and kernel were chosen after about a dozen trials of one seed, none of "
        "which showed the claims clearly."
    )
    return Conclusion(
        rows=rows,
        pictures={"sparsity": _over_alpha(of, at, lines)},
        findings=[
            higher(f"Hoyer sparsity at α = {most:g}, γ = {high:g} minus γ = 0", thick, thin),
            higher(f"Hoyer sparsity at γ = {high:g}, α = {most:g} minus α = 0", thick, off),
        ],
    )


@recipe(
    "dec-fig5",
    title="Densities of factored Student-t priors, ν = 3, 5, 100",
    claim="The product of Student-t tends to the isotropic Gaussian as ν grows.",
    published="densities (figure 5); the limit is exact",
)
def figure_5(job: Job) -> Conclusion:
    """The three densities, and how far each is from the Gaussian."""
    axis = np.linspace(-4, 4, 81)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    target = density(StandardNormal(2), points)
    apart = {
        nu: float(np.abs(density(StudentT(2, nu=nu), points) - target).max()) for nu in (3.0, 5.0, 100.0, 1e6)
    }
    rows = [["ν", "largest difference from the Gaussian density"]]
    rows += [[f"{nu:g}", f"{value:.2e}"] for nu, value in apart.items()]
    panels = {f"ν = {nu:g}": lambda z, nu=nu: density(StudentT(2, nu=nu), z) for nu in (3.0, 5.0, 100.0)}
    nearer = float(np.all(np.diff(list(apart.values())) < 0))
    return Conclusion(
        rows=rows,
        pictures={"densities": prior_plots.densities(panels)},
        findings=[
            equal("largest difference from the Gaussian density at ν = 10⁶", apart[1e6], 0.0, within=1e-6),
            equal("the difference shrinks at every step up in ν (1: yes)", nearer, 1.0),
        ],
    )


@recipe(
    "dec-fig6",
    title="Density of the mixture prior of Eq. 9",
    claim="Four equal modes at {0, 1}² with variance 0.03 each.",
    published="density (figure 6), C = 4, D = 2, Σ = 0.03 I, weights 1/4 (Eq. 9)",
)
def figure_6(job: Job) -> Conclusion:
    """The density, checked against the formula at its modes and for its mass."""
    corners = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    squares = ((corners[:, None] - corners) ** 2).sum(-1)
    formula = (0.25 * np.exp(-0.5 * squares / 0.03) / (2 * np.pi * 0.03)).sum(1)
    prior = GaussianMixture(2)
    ours = density(prior, corners)
    axis = np.linspace(-2, 3, 501)
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    mass = float(density(prior, points).sum() * (axis[1] - axis[0]) ** 2)
    rows = [["mode", "density", "Eq. 9"]]
    rows += [
        [f"({a:g}, {b:g})", f"{o:.6f}", f"{f:.6f}"]
        for (a, b), o, f in zip(corners, ours, formula, strict=True)
    ]
    rows.append(["mass on [-2, 3]²", f"{mass:.6f}", "1"])
    panels = {"mixture of four Gaussians": lambda z: density(prior, z)}
    return Conclusion(
        rows=rows,
        pictures={"density": prior_plots.densities(panels, low=-0.75, high=1.75)},
        findings=[
            equal(
                "largest difference from Eq. 9 at the modes", np.abs(ours - formula).max(), 0.0, within=1e-5
            ),
            equal("mass", mass, 1.0, within=1e-4),
        ],
    )


def _annealing(job: Job, which: str) -> tuple[list[list[str]], Mapping[str, Figure], list[list[str]]]:
    study = annealing_study(job.tell)
    chosen = [row for row in study.rows[1:] if row[0].startswith(which)]
    return [study.rows[0], *chosen], study.pictures, chosen


@recipe(
    "dec-theorem1",
    title="The beta-VAE is a VAE with annealed prior and an entropy bonus",
    claim="L_β(x) = L(x; annealed target) + (β − 1) H[q] + log F_β for every prior (theorem 1).",
    published="an identity: the difference is 0",
)
def theorem_1(job: Job) -> Conclusion:
    """Both sides by quadrature, for four priors."""
    rows, pictures, chosen = _annealing(job, "theorem 1")
    return Conclusion(
        rows=rows,
        pictures=pictures,
        findings=[
            equal(
                "largest difference of the two sides (nats)",
                max(float(row[3]) for row in chosen),
                0.0,
                within=1e-9,
            )
        ],
    )


@recipe(
    "dec-corollary1",
    title="For Gaussians, beta is a rescaling of the code and an entropy bonus",
    claim="L_β(x; θ, φ) = L(x; θ', φ') + (β − 1)/2 log |S'| + c; stationary points correspond (corollaries 1 and 2).",
    published="an identity: the difference is 0; at a stationary point the rescaled gradient is 0",
)
def corollary_1(job: Job) -> Conclusion:
    """Both sides of corollary 1, and the gradient of corollary 2 at an optimum, rescaled and not."""
    rows, _, chosen = _annealing(job, "corollary")
    same, _, rescaled, plain = (float(row[3]) for row in chosen)
    betas = np.geomspace(0.25, 8, 16)
    mean, spread = torch.tensor([0.7, -0.4]).double(), torch.tensor([[0.3, 0.1], [0.1, 0.5]]).double()
    noise = torch.randn(200, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sides = [
        corollary_one(
            lambda z: -2 * (z.sin() - 0.3).square().sum(-1), mean, spread, torch.eye(2).double(), b, noise
        )
        for b in betas.tolist()
    ]
    off = max(abs(each.left - each.right) for each in sides)
    rows.append(["corollary 1, largest of 16 betas", "", "", f"{off:.1e}"])
    drawn = theory_plots.lines(
        betas,
        {name: [each.parts[name] for each in sides] for name in sides[0].parts},
        xlabel="β",
        ylabel="nats",
        title="ELBO of rescaled networks, bonus and constant",
        level=("objective of the β-VAE", [each.left for each in sides]),
    )
    return Conclusion(
        rows=rows,
        pictures={"corollary-1": drawn},
        findings=[
            equal("largest difference of the two sides (nats)", max(same, off), 0.0, within=1e-9),
            equal(
                "gradient of L_H,β at the rescaled optimum of L_β, over that without rescaling",
                rescaled / plain,
                0.0,
                within=1e-6,
            ),
        ],
    )


@recipe(
    "dec-theorem2",
    title="Rotations of the code under eight priors",
    claim="With an isotropic Gaussian prior the objective of the beta-VAE does not change when the code is turned; "
    "with other priors it does.",
    published="an identity: the change is 0",
)
def theorem_2(job: Job) -> Conclusion:
    """Change of the objective of data points under random rotations of encoder and decoder."""
    latents, count, images, samples = job.pick(
        smoke=(4, 3, 4, 8), small=(20, 100, 16, 64), paper=(20, 1000, 16, 64)
    )
    priors = {
        name: PRIORS[name] for name in job.pick(smoke=["StandardNormal", "ISA"], small=PRIORS, paper=PRIORS)
    }
    found = rotations(priors, latents=latents, count=count, images=images, samples=samples)
    rows = [["prior", "mean |change| (nats)", "largest change", "least largest change of a rotation"]]
    for name, change in found.changes.items():
        size = np.abs(change)
        rows.append([name, f"{size.mean():.2g}", f"{size.max():.2g}", f"{size.max(1).min():.2g}"])
    round_ = float(np.abs(found.changes["StandardNormal"]).max())
    others = [np.abs(change).max(1) for name, change in found.changes.items() if name != "StandardNormal"]
    return Conclusion(
        rows=rows,
        pictures={"rotations": theory_plots.rotations(found.changes)},
        findings=[
            equal("largest change under N(0, I) (nats)", round_, 0.0, within=1e-9),
            equal(
                "share of rotations that change an objective by over 1e-4 nats, under the prior that notices least",
                min(float(np.mean(values > 1e-4)) for values in others),
                1.0,
            ),
        ],
    )


@recipe(
    "dec-appc",
    title="The bias of the minibatch estimate of the entropy of q(z)",
    claim="In small batches the estimate is log n + E H[q(z|x)] whatever q(z) is, so that the KL estimated with it may "
    "be negative; the bias goes with large batches.",
    published="E Ĥ ≈ log n + E H[q(z|x)] for B ≪ n (appendix C); no bias at B = n",
)
def appendix_c(job: Job) -> Conclusion:
    """The estimate over the batch size where everything is known; encodings that hardly overlap, and some that do."""
    small = (2, 8, 32, 128, 512, 2048, 5000)
    sizes, n, batches = job.pick(
        smoke=((2, 32, 200), 200, 10), small=(small, 5000, 100), paper=(small, 5000, 400)
    )
    some = entropy_bias(n=n, batch_sizes=sizes, batches=batches)
    rare = entropy_bias(n=n, batch_sizes=sizes[:1], batches=20 * batches, latents=10, deviation=0.1)
    rows = [["batch size", "entropy estimate (nats)", "bias", "estimated KL to the prior"]]
    for size, value, kl in zip(some.batch_sizes, some.estimates, some.divergence_estimates, strict=True):
        rows.append([str(size), f"{value:.2f}", f"{value - some.exact:+.2f}", f"{kl:+.2f}"])
    rows.append(["exact", f"{some.exact:.2f}", "0", f"{some.divergence:+.2f}"])
    rows.append(["log n + E H[q(z|x)]", f"{some.no_overlap:.2f}", f"{some.no_overlap - some.exact:+.2f}", ""])
    rows.append(
        ["2, hardly any overlap", f"{rare.estimates[0]:.2f}", f"log n + E H: {rare.no_overlap:.2f}", ""]
    )
    spread = float(np.hypot(some.errors[-1], some.exact_error))
    return Conclusion(
        rows=rows,
        pictures={
            "entropy": theory_plots.entropy_bias(
                some.batch_sizes, some.estimates, some.errors, some.exact, some.no_overlap, some.n
            )
        },
        findings=[
            equal(
                "estimate at B = 2 minus log n − E H[q(z|x)], encodings that hardly overlap (nats)",
                rare.estimates[0] - rare.no_overlap,
                0.0,
                within=max(0.02, 3 * rare.errors[0]),
            ),
            equal("bias at B = n (nats)", some.estimates[-1] - some.exact, 0.0, within=3 * spread),
            equal(
                "true KL positive, estimated KL at B = 2 negative (1: yes)",
                float(some.divergence > 0 > some.divergence_estimates[0]),
                1.0,
            ),
        ],
    )


def disentanglement(run: Run) -> float:
    """The FactorVAE score of a run, with latents counted as collapsed by the width of *their* prior.

    The score prunes latents whose posterior is as wide as the prior, which it takes for ``N(0, 1)``. Here codes are
    divided by the standard deviations of the run's own prior first; nothing else in the score depends on their scale.

    Example:
        >>> 0 <= disentanglement(_tiny_run("StudentT")) <= 1
        True
    """
    codes, wide = codes_of(run), widths(run)
    assert codes.factors is not None
    rng = np.random.default_rng([run.config.seed, 2])
    return factor_vae_score(codes.means / wide, codes.factors, rng, scales=codes.scales / wide).value


def widths(run: Run) -> Array:
    """Standard deviations of the run's prior, ``(latents,)``; 1 where there is none (Student's t, ν up to 2).

    Example:
        >>> widths(_tiny_run("StudentT")).round(4).tolist()  # of t(5): sqrt(5 / 3)
        [1.291, 1.291]
    """
    with torch.no_grad():
        deviations: Array = run.model().prior().stddev.double().numpy()  # type: ignore[operator]
    return np.where(np.isfinite(deviations), deviations, 1.0)


def divergence(run: Run, n: int = 1000) -> float:
    """MMD² between codes of the data, drawn from their posteriors, and draws from the prior, ``n`` of each.

    Example:
        >>> divergence(_tiny_run("SparseMixture"), n=100) > 0  # an untrained encoder is not sparse
        True
    """
    codes = codes_of(run)
    generator = torch.Generator().manual_seed(run.config.seed)
    means, scales = (torch.from_numpy(a[:n]).double() for a in (codes.means, codes.scales))
    z = means + scales * torch.randn(means.shape, generator=generator, dtype=torch.float64)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(run.config.seed)
        wanted = run.model().prior().sample((n,)).double()  # type: ignore[operator]
    kernel = over_scales(inverse_multiquadratic, [2 * z.shape[1] * scale for scale in SCALES])
    return float(mmd(z, wanted, kernel))


def _tiny_run(prior: str) -> Run:
    """A run of one step, for the examples."""
    config = {
        "data": {"name": "Circles", "size": 16},
        "prior": prior,
        "latents": 2,
        "steps": 1,
        "batch_size": 4,
    }
    run = Run.create(Config.of(config), Path(tempfile.mkdtemp()) / "run")
    run.train()
    return run


def density(prior: torch.nn.Module, points: Array) -> Array:
    """Density of a prior at points ``(m, latents)``, in double precision.

    Example:
        >>> round(float(density(StandardNormal(2), np.zeros((1, 2)))[0]) * 2 * np.pi, 6)
        1.0
    """
    with torch.no_grad():
        values: Array = prior.double()().log_prob(torch.from_numpy(points).double()).exp().numpy()
    return values


def _faces(scale: Scale) -> tuple[dict[str, Any], str]:
    """CelebA, cropped, its training part; else solid toys, or at smaller scale circles at any place."""
    large = scale == "paper"
    options: dict[str, Any] = {} if large else {"variant": "xy", "size": 16}
    data, note = data_or_stand_in("CelebA", "Objects3D" if large else "Circles", **options)
    if data["name"] == "CelebA":
        data |= {"split": "train", "crop": 128, "size": 64 if large else 16}
    return data, note


def _say_shapes(job: Job) -> None:
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


def _scored(found: Mapping[str, Array], lost: Mapping[str, Array]) -> list[list[str]]:
    rows = [["prior", "FactorVAE score", "reconstruction loss (nats)"]]
    rows += [[name, str(mean_interval(values)), f"{lost[name].mean():.2f}"] for name, values in found.items()]
    return rows


def _mean(groups: Sequence[Array]) -> Array:
    mean: Array = np.mean(np.stack(list(groups)), axis=0)
    return mean


def _nu(name: str) -> float:
    return float(name.rpartition("= ")[2])


def _over_alpha(
    of: Mapping[str, Mapping[str, Array]],
    at: Mapping[str, tuple[float, ...]],
    lines: Mapping[str, Sequence[str]],
) -> Figure:
    """Sparsity, loss and divergence over alpha, a line with a 95 % band for each prior."""
    panels = list(next(iter(of.values())))
    with style():
        figure = Figure(figsize=(3.1 * len(panels), 2.9), layout="constrained")
        for k, panel in enumerate(panels):
            axes = figure.add_subplot(1, len(panels), k + 1)
            for i, (label, names) in enumerate(lines.items()):
                alphas = [at[name][2] for name in names]
                spans = [mean_interval(of[name][panel]) for name in names]
                low = [s.mean if s.low is None else s.low for s in spans]
                high = [s.mean if s.high is None else s.high for s in spans]
                colour = PALETTE[i % len(PALETTE)]
                axes.fill_between(alphas, low, high, color=colour, alpha=0.16, linewidth=0)
                axes.plot(alphas, [s.mean for s in spans], "o-", color=colour, markersize=4, label=label)
            axes.set_xscale("symlog", linthresh=10)
            axes.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
            axes.minorticks_off()
            axes.set(xlabel="α", title=panel)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=len(lines))
    return figure
