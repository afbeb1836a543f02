"""Spatial Broadcast Decoder (Watters et al. 2019, SBD): figures 2 to 20, tables 5 to 10.

Networks are those of SBD table 1 (table 2 for FactorVAE), data those of appendix A.3, steps those of table 4. The
``small`` scale has narrower networks, fewer steps and replicas, and circles of 32 x 32 pixels; each result says how
much is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unweave.metrics import embed_grid, informative_latents
from unweave.plots import traversal_codes
from unweave.plots.replicas import Embedded, Replicas, Swept, geometry_sheet, median_replica, traversal_sheet
from unweave.plots.sweeps import Point, trade_off
from unweave.recipes.claims import Finding, correlated, exceeds, higher, paired
from unweave.recipes.recipe import Conclusion, Job, Plan, Scale, at, data_or_stand_in, recipe
from unweave.runs.config import Config
from unweave.runs.evaluation import codes_of
from unweave.runs.run import Run

DECONV, BROADCAST, COORDCONV = "DeConv", "Spatial Broadcast", "CoordConv"

STEPS = {"sprites": 1_500_000, "chairs": 700_000, "rooms": 2_500_000, "circles": 500_000}
"""Training steps of the VAEs, SBD table 4."""

FACTOR_STEPS = {"sprites": 1_000_000, "circles": 500_000}
"""Training steps of the FactorVAEs, SBD table 4."""

BETAS = (0.4, 0.55, 0.77, 1.0, 1.47, 2.03, 2.81, 3.9, 5.4)
"""SBD figure 3 sweeps beta "log-linearly from 0.4 to 5.4", 1 included; it does not say in how many steps."""

SMALL_BETAS = (0.4, 1.0, 5.4)


# What is trained -----------------------------------------------------------------------------------------------------

WIDTH = {"smoke": 4, "small": 16, "paper": 64}
"""Channels; with a quarter of them a Spatial Broadcast decoder takes about a tenth of the time."""

RATE = {"smoke": 1e-3, "small": 1e-3, "paper": 3e-4}
"""Adam's step size: a few thousand steps have to do what the paper's million does."""

SMALL_SPRITES, SMALL_CIRCLES = 1000, 1500
"""Steps at the ``small`` scale."""

FRESH = range(5, 20)
"""Seeds of the small figures 3 (the first ten) and 5."""

PILOT = (
    "A pilot (seeds 0 to 4 for figure 5, 0 to 2 for figure 3) had MIG in the claimed order with p = 0.11 and 0.07. "
    "From its spread the number of replicas was settled before any of these was trained; these are other seeds."
)


def deconv(scale: Scale, *, layers: int = 5, linear: int = 1) -> dict[str, Any]:
    """The up-convolutional decoder of SBD table 1, with other numbers of layers for tables 6 and 8.

    Example:
        >>> deconv("paper")["channels"], deconv("paper", linear=3)["hidden"]
        ([64, 64, 64, 64, 64], [256, 256])
    """
    width = WIDTH[scale]
    hidden = [4 * width] * (linear - 1)
    return {
        "name": "Deconv",
        "channels": [width] * layers,
        "hidden": hidden,
        "initialisation": "truncated_normal",
    }


def broadcast(scale: Scale, *, linear: int = 0, **options: Any) -> dict[str, Any]:
    """The Spatial Broadcast decoder of SBD table 1; ``linear`` layers before the broadcast for tables 7 and 9.

    Example:
        >>> broadcast("paper", depth=5)
        {'name': 'SpatialBroadcast', 'width': 64, 'mlp': [], 'depth': 5}
    """
    width = WIDTH[scale]
    return {"name": "SpatialBroadcast", "width": width, "mlp": [4 * width] * linear, **options}


def coordconv(scale: Scale) -> dict[str, Any]:
    """The CoordConv decoder of SBD appendix E, with the layers of table 1.

    Example:
        >>> coordconv("small")["name"]
        'CoordConv'
    """
    return {"name": "CoordConv", "channels": [WIDTH[scale]] * 5}


def vae(scale: Scale, data: Mapping[str, Any], steps: int) -> dict[str, Any]:
    """What all VAEs of SBD share: the encoder of table 1, 10 latents, batch 16, Adam at 3e-4.

    Example:
        >>> vae("paper", {"name": "ColoredSprites"}, 5)["encoder"]["channels"]
        [64, 64, 64, 64]
    """
    encoder = {"name": "Conv", "channels": [WIDTH[scale]] * 4, "initialisation": "truncated_normal"}
    if scale == "smoke":
        return {
            "data": dict(data),
            "encoder": {**encoder, "hidden": [8]},
            "latents": 4,
            "batch_size": 4,
            "steps": 2,
        }
    return {
        "data": dict(data),
        "encoder": encoder,
        "latents": 10,
        "batch_size": 16,
        "learning_rate": RATE[scale],
        "steps": steps,
    }


def factor_vae(scale: Scale, steps: int) -> dict[str, Any]:
    """What makes a FactorVAE of it: SBD appendix A.2 and the encoder of table 2.

    Example:
        >>> factor_vae("paper", 7)["objective"]["critic_learning_rate"]
        2e-05
    """
    objective = {"name": "FactorVAE", "gamma": 35.0, "critic_learning_rate": 2e-5}
    if scale == "smoke":
        return {"objective": {**objective, "critic_layers": 2, "critic_width": 8}}
    if scale == "small":
        # The discriminator as published would take most of the time of nets this small.
        objective |= {"critic_layers": 4, "critic_width": 256, "critic_learning_rate": 1e-4}
    channels = [WIDTH[scale] // 2] * 2 + [WIDTH[scale]] * 2
    return {
        "objective": objective,
        "encoder.channels": channels,
        "batch_size": 32,
        "learning_rate": 1e-4 if scale == "paper" else RATE[scale],
        "steps": steps,
    }


def factor_deconv(scale: Scale) -> dict[str, Any]:
    """The up-convolutional decoder of SBD table 2.

    Example:
        >>> factor_deconv("paper")["channels"]
        [64, 64, 64, 32, 32]
    """
    width = WIDTH[scale]
    return {**deconv(scale), "channels": [width] * 3 + [max(4, width // 2)] * 2}


def seeds(scale: Scale, paper: int, small: int | Sequence[int] = 5) -> int | list[int]:
    """Replicas of each variant: how many, or which seeds.

    Example:
        >>> seeds("paper", 25), seeds("smoke", 25), seeds("small", 25, range(5, 8))
        (25, 2, [5, 6, 7])
    """
    return at(scale, smoke=2, small=small if isinstance(small, int) else list(small), paper=paper)  # type: ignore[no-any-return]


SPRITES = {"name": "ColoredSprites"}


def sprites(
    variants: Callable[[Scale], Mapping[str, Any]], *, paper: int = 25, small: int | Sequence[int] = 5
) -> Plan:
    """A plan of VAEs on coloured sprites, one for each of the variants.

    Example:
        >>> plan = sprites(lambda scale: {"DeConv": {"decoder": deconv(scale)}})
        >>> plan("paper")["base"]["steps"], plan("paper")["seeds"]
        (1500000, 25)
    """

    def plan(scale: Scale) -> dict[str, Any]:
        steps = STEPS["sprites"] if scale == "paper" else SMALL_SPRITES
        return {
            "base": vae(scale, SPRITES, steps),
            "variants": variants(scale),
            "seeds": seeds(scale, paper, small),
        }

    return plan


def both(scale: Scale) -> dict[str, Any]:
    """The two decoders that SBD compares.

    Example:
        >>> list(both("paper"))
        ['DeConv', 'Spatial Broadcast']
    """
    return {DECONV: {"decoder": deconv(scale)}, BROADCAST: {"decoder": broadcast(scale)}}


def circles(
    variant: str,
    *,
    hole: str = "none",
    blank: float = 0.0,
    factor: Sequence[Scale] = (),
    paper: int = 15,
) -> Plan:
    """A plan of VAEs, and at the scales of ``factor`` of FactorVAEs too, with either decoder on circles.

    Example:
        >>> plan = circles("xy", hole="center", factor=["paper"])
        >>> list(plan("paper")["variants"])
        ['DeConv VAE', 'Spatial Broadcast VAE', 'DeConv FactorVAE', 'Spatial Broadcast FactorVAE']
    """

    def plan(scale: Scale) -> dict[str, Any]:
        size = 64 if scale == "paper" else 32
        # At smoke all pairs of factors are X-Y and all objects small, so that figures share runs.
        shared = ("xy" if len(variant) == 2 else "xyh_small") if scale == "smoke" else variant
        data = {"name": "Circles", "variant": shared, "hole": hole, "blank": blank, "size": size}
        steps = STEPS["circles"] if scale == "paper" else SMALL_CIRCLES
        # Table 1 begins at 2 x 2 pixels: one doubling less for images half as large.
        layers = 5 if scale == "paper" else 4
        made = {
            f"{DECONV} VAE": {"decoder": deconv(scale, layers=layers)},
            f"{BROADCAST} VAE": {"decoder": broadcast(scale)},
        }
        if scale in factor:
            with_tc = factor_vae(scale, FACTOR_STEPS["circles"] if scale == "paper" else SMALL_CIRCLES)
            other = factor_deconv(scale)
            other = other if scale == "paper" else {**other, "channels": other["channels"][1:]}
            made |= {
                f"{DECONV} FactorVAE": {"decoder": other, **with_tc},
                f"{BROADCAST} FactorVAE": {"decoder": broadcast(scale), **with_tc},
            }
        return {"base": vae(scale, data, steps), "variants": made, "seeds": seeds(scale, paper)}

    return plan


# What is said of it --------------------------------------------------------------------------------------------------


def reduction(job: Job) -> str:
    """In what a job falls short of the paper's protocol, in a sentence; nothing if in nothing.

    Example:
        >>> from unweave.recipes.recipe import RECIPES
        >>> reduction(Job(RECIPES["sbd-fig4"], "paper"))
        ''
    """
    full = job.recipe.study("paper")
    if full is None or not job.variants:
        return ""
    ours, theirs = job.runs(job.variants[-1]), full.variants
    variant = job.variants[-1] if job.variants[-1] in theirs else next(iter(theirs))
    return falls_short(
        ours[0].config,
        len(ours),
        theirs[variant][0].config,
        len(theirs[variant]),
        len(job.variants),
        len(theirs),
    )


def falls_short(
    ours: Config, replicas: int, theirs: Config, full: int, variants: int = 1, all_variants: int = 1
) -> str:
    """What is less in our run than in theirs: steps, replicas, models, pixels, channels, images in a batch, latents.

    Example:
        >>> ours, theirs = (Config.read(words=["data=circles", f"steps={n}"]) for n in (100, 500_000))
        >>> falls_short(ours, 5, theirs, 15)
        'Against the paper: 100 steps instead of 500,000, 5 replicas instead of 15.'
    """
    pairs = [
        (ours.steps, theirs.steps, "steps"),
        (replicas, full, "replicas"),
        (variants, all_variants, "models"),
        (ours.data.options.get("size", 64), theirs.data.options.get("size", 64), "pixels a side"),
        (_channels(ours), _channels(theirs), "channels"),
        (ours.batch_size, theirs.batch_size, "images in a batch"),
        (ours.latents, theirs.latents, "latents"),
    ]
    less = [f"{a:,} {what} instead of {b:,}" for a, b, what in pairs if a < b]
    if less and ours.learning_rate != theirs.learning_rate:
        less.append(f"learning rate {ours.learning_rate:g} instead of {theirs.learning_rate:g}")
    return f"Against the paper: {', '.join(less)}." if less else ""


def _channels(config: Config) -> int:
    return int(max(config.encoder.options.get("channels", (0,))))


def swept(run: Run, shown: int) -> Swept:
    """Data, reconstructions and traversals of the ``shown`` latents with the lowest posterior variance."""
    columns = 9
    dataset, model = run.dataset(), run.model()
    images = dataset.sample(256, np.random.default_rng(0)).images
    means = np.asarray(model.codes(images)[0], dtype=np.float64)
    scales = np.asarray(codes_of(run).scales, dtype=np.float64)
    order = informative_latents(scales, min(shown, scales.shape[1])).tolist()
    # The most ordinary of the images: a sweep around the middle of latent space may show what no image looks like.
    center = means[np.argmin(np.sum((means - means.mean(axis=0)) ** 2, axis=1))]
    codes = traversal_codes(center, order, steps=columns)
    decoded = np.asarray(model.decode_mean(codes.reshape(-1, codes.shape[-1]).astype(np.float32)))
    deviation = np.sqrt(np.mean(scales**2, axis=0))
    return Swept(
        originals=images[:columns],
        reconstructed=np.asarray(model.reconstruct(images[:columns])),
        sweeps=decoded.reshape(*codes.shape[:2], *decoded.shape[1:]),
        labels=[f"z{j}  σ {deviation[j]:.2f}" for j in order],
    )


def traversals(job: Job, variants: Sequence[str], *, shown: int = 8, score: str = "mig") -> Figure:
    """The picture of SBD figures 2 and 6 to 9: a score of all replicas, the median one of each model in pictures."""
    values = {variant: job.scores(variant, score) for variant in variants}
    chosen = {
        variant: swept(job.runs(variant)[median_replica(values[variant])], shown) for variant in variants
    }
    name = {"mig": "MIG", "geometry": "geometry score"}[score]
    return traversal_sheet(chosen, {variant: list(each) for variant, each in values.items()}, score=name)


def embedded(run: Run) -> tuple[Embedded, NDArray[np.float64], NDArray[np.bool_], tuple[str, str]]:
    """Where a run puts the grid of its two factors; the grid, its held-out points, the names of the factors.

    The code of a black image is marked where the data have such.
    """
    dataset, model = run.dataset(), run.model()
    grid = embed_grid(model.codes, dataset)
    assert grid is not None, "circles have two continuous factors or more"
    mark = None
    if getattr(dataset, "blank", 0.0):
        black = np.zeros((1, *dataset.image_shape), np.uint8)
        mark = np.asarray(model.codes(black)[0], dtype=np.float64)[0, list(grid.latents)]
    note = f"geometry {grid.score().value:.2f}"
    return Embedded(grid.codes, grid.latents, note, mark), grid.factors, grid.held_out, grid.names


def geometry_picture(job: Job) -> Figure:
    """The picture of SBD figures 4 and 11 to 20."""
    models = {}
    for variant in job.variants:
        scores, runs = job.scores(variant, "mig"), job.runs(variant)
        worst, best = (embedded(runs[place]) for place in (int(np.argmin(scores)), int(np.argmax(scores))))
        models[variant] = Replicas(scores.tolist(), worst[0], best[0])
        _, factors, held_out, names = best
    data = job.runs(job.variants[0])[0].dataset()
    batch = data.sample(3000, np.random.default_rng(0))
    assert batch.factors is not None
    drawn = batch.factors[:, :2]
    return geometry_sheet(
        models,
        factors,
        drawn=drawn[~np.isnan(drawn).any(axis=1)],
        images=batch.images[:16],
        held_out=held_out,
        names=names,
    )


def held_out_error(run: Run) -> float:
    """How far held-out points lie from where the plane of the others puts them: root mean square, in factor ranges.

    With the similarity that :func:`unweave.metrics.geometry_score` fits outside the hole.
    """
    grid = embed_grid(run.model().codes, run.dataset())
    assert grid is not None
    points = grid.factors[grid.held_out]
    scaled = (points - points.mean(axis=0)) / np.ptp(grid.factors, axis=0)
    left = 1.0 - float(grid.score().constants["held_out"])
    return float(np.sqrt(max(0.0, left) * np.sum(scaled**2) / len(scaled)))


def geometry_rows(job: Job) -> list[list[str]]:
    """Geometry, MIG and the number of latents used of every variant, means with deviations over replicas."""
    held = any(run.config.data.options.get("hole", "none") != "none" for run in job.runs(job.variants[0]))
    rows = [["model", "replicas", "geometry", "MIG", "latents used", "−ELBO"] + ["held-out error"] * held]
    for variant in job.variants:
        values = [job.scores(variant, name) for name in ("geometry", "mig", "latents_used")]
        values.append(-job.scores(variant, "elbo"))
        if held:
            values.append(np.array([held_out_error(run) for run in job.runs(variant)]))
        rows.append([variant, str(len(values[0])), *(told(value) for value in values)])
    return rows


def told(values: NDArray[np.float64]) -> str:
    """Mean and deviation as SBD prints them.

    Example:
        >>> told(np.array([0.1, 0.2])), told(np.array([339.0, 341.0]))
        ('0.150 (±0.071)', '340.0 (±1.4)')
    """
    digits = 1 if abs(np.mean(values)) >= 20 else 2 if abs(np.mean(values)) >= 2 else 3
    deviation = f" (±{np.std(values, ddof=1):.{digits}f})" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def compare(
    job: Job, score: str, what: str, *, margin: float = 0.0, published: float | None = None
) -> list[Finding]:
    """For VAE and, where there is one, FactorVAE: the score is higher with the Spatial Broadcast decoder."""
    found = []
    for kind in ("VAE", "FactorVAE"):
        names = f"{BROADCAST} {kind}", f"{DECONV} {kind}"
        if set(names) <= set(job.variants):
            flat, folded = (job.scores(name, score) for name in names)
            more = f", plus {margin:g}" if margin else ""
            found.append(higher(f"{what}, {kind}: {BROADCAST} minus {DECONV}{more}", flat + margin, folded))
    return found


def generalises(job: Job) -> list[Finding]:
    """For VAE and, where there is one, FactorVAE: held-out points lie nearer to their place."""
    found = []
    for kind in ("VAE", "FactorVAE"):
        names = f"{DECONV} {kind}", f"{BROADCAST} {kind}"
        if set(names) <= set(job.variants):
            far, near = ([held_out_error(run) for run in job.runs(name)] for name in names)
            found.append(higher(f"error at held-out points, {kind}: {DECONV} minus {BROADCAST}", far, near))
    return found


def geometry_outcome(job: Job, findings: Sequence[Finding]) -> Conclusion:
    """Table and picture of SBD figures 4 and 11 to 20."""
    job.note(reduction(job))
    return Conclusion(geometry_rows(job), findings, {"geometry": geometry_picture(job)})


# Figures 2 to 10 -----------------------------------------------------------------------------------------------------


@recipe(
    "sbd-fig2",
    title="DeConv against Spatial Broadcast, VAE on coloured sprites",
    claim="A Spatial Broadcast VAE has a higher MIG than a DeConv VAE, and its traversals are disentangled.",
    published="MIG 0.147 (±0.057) against 0.052 (±0.020), tables 5 and 8; 25 seeds",
    runs=sprites(both),
)
def figure_2(job: Job) -> Conclusion:
    """MIG over seeds; reconstructions and traversals of the median seeds."""
    job.note(reduction(job))
    flat, other = job.scores(BROADCAST, "mig"), job.scores(DECONV, "mig")
    return Conclusion(
        table_rows(job, {DECONV: TABLE_8["1 layer"], BROADCAST: TABLE_5["3 layers"]}),
        [higher(f"MIG, {BROADCAST} minus {DECONV}", flat, other, published=0.147 - 0.052)],
        {"traversals": traversals(job, [DECONV, BROADCAST])},
    )


def beta_sweep(scale: Scale) -> Mapping[str, Any]:
    """Both decoders at every beta of SBD figure 3."""
    betas = {"smoke": (1.0, 5.4), "small": SMALL_BETAS, "paper": BETAS}[scale]
    variants = {
        f"{name} beta={beta:g}": {**options, "objective.beta": beta}
        for name, options in both(scale).items()
        for beta in betas
    }
    return sprites(lambda _: variants, paper=10, small=FRESH[:10])(scale)


@recipe(
    "sbd-fig3",
    title="Rate-distortion curves of beta-VAEs on coloured sprites",
    claim="With the Spatial Broadcast decoder the rate-distortion curve lies lower and MIG is higher at each beta.",
    published="curves only (figure 3); at beta = 1: −ELBO 329 against 347, MIG 0.147 against 0.052 (tables 5 and 8)",
    runs=beta_sweep,
)
def figure_3(job: Job) -> Conclusion:
    """NLL against KL and against MIG, a curve through beta for each decoder.

    The lower curve has at every slope -beta the lower support line, min NLL + beta KL, so that this is compared, pair
    by pair of equal beta and seed.
    """
    job.note(reduction(job))
    job.admit(PILOT)
    rows = [["decoder", "beta", "NLL", "KL", "NLL + beta KL", "MIG"]]
    cost: dict[str, list[NDArray[np.float64]]] = {DECONV: [], BROADCAST: []}
    mig: dict[str, list[NDArray[np.float64]]] = {DECONV: [], BROADCAST: []}
    rate: dict[str, list[Point]] = {DECONV: [], BROADCAST: []}
    gap: dict[str, list[Point]] = {DECONV: [], BROADCAST: []}
    for variant in job.variants:
        name, beta = variant.split(" beta=")
        nll, kl, score = (job.scores(variant, each) for each in ("nll", "kl", "mig"))
        total = nll + float(beta) * kl
        cost[name].append(total)
        mig[name].append(score)
        rate[name].append(Point(beta, kl.tolist(), nll.tolist()))
        gap[name].append(Point(beta, score.tolist(), nll.tolist()))
        rows.append([name, beta, told(nll), told(kl), told(total), told(score)])
    ours, theirs = ({name: np.concatenate(each) for name, each in held.items()} for held in (cost, mig))
    return Conclusion(
        rows,
        [
            paired(f"NLL + beta KL, {DECONV} minus {BROADCAST}", ours[DECONV], ours[BROADCAST]),
            paired(f"MIG at equal beta, {BROADCAST} minus {DECONV}", theirs[BROADCAST], theirs[DECONV]),
        ],
        {
            "rate-distortion": trade_off(rate, x="KL (rate), nats", y="NLL (distortion), nats", swept="beta"),
            "mig": trade_off(gap, x="MIG", y="NLL (distortion), nats", swept="beta"),
        },
    )


@recipe(
    "sbd-fig4",
    title="Latent space geometry: DeConv against Spatial Broadcast, circles X-Y",
    claim="The Spatial Broadcast decoder maps the plane of positions onto a plane of latents; DeConv does not.",
    published="pictures only (figure 4); 15 replicas. MIG does not capture the contrast, as it minds rotations",
    runs=circles("xy"),
)
def figure_4(job: Job) -> Conclusion:
    """The grid of positions in latent space."""
    return geometry_outcome(job, compare(job, "geometry", "geometry score"))


SHUFFLED = ("shuffled, order A", "shuffled, order B")


def ablation(scale: Scale) -> dict[str, Any]:
    """Coordinate channels in order, and shuffled in two different ways."""
    return {
        **both(scale),
        **{
            name: {"decoder": broadcast(scale, shuffle_coordinates=True, shuffle_seed=order)}
            for order, name in enumerate(SHUFFLED)
        },
    }


@recipe(
    "sbd-fig5",
    title="Ablation: Spatial Broadcast decoder with shuffled coordinate channels",
    claim="Shuffling the coordinate channels makes both reconstruction and disentangling worse.",
    published="MIG from 0.147 to 0.104 (±0.025) (DeConv 0.052), −ELBO from 329 to 362.8 (±2.9) (DeConv 347); figure 5",
    runs=sprites(ablation, small=FRESH),
)
def figure_5(job: Job) -> Conclusion:
    """Scores with the coordinates in order and shuffled; traversals of two replicas with different shufflings."""
    job.note(reduction(job))
    job.note("Shuffled are two fixed orders of the pixels; the runs of both are taken together.")
    job.admit(PILOT)
    shuffled = {
        name: np.concatenate([job.scores(order, name) for order in SHUFFLED]) for name in ("elbo", "mig")
    }
    shown = {order: swept(job.runs(order)[median_replica(job.scores(order, "mig"))], 8) for order in SHUFFLED}
    chosen = [DECONV, BROADCAST, *SHUFFLED]
    published = ((362.8, 2.9), (336.3, 2.98), (26.56, 0.47), (8.99, 0.37), (0.104, 0.025), None)
    return Conclusion(
        table_rows(
            job,
            {
                DECONV: TABLE_8["1 layer"],
                BROADCAST: TABLE_5["3 layers"],
                **dict.fromkeys(SHUFFLED, published),
            },
        ),
        [
            higher(
                "−ELBO in nats, coordinates shuffled minus in order",
                -shuffled["elbo"],
                -job.scores(BROADCAST, "elbo"),
                published=362.8 - 329,
            ),
            higher(
                "MIG, coordinates in order minus shuffled",
                job.scores(BROADCAST, "mig"),
                shuffled["mig"],
                published=0.147 - 0.104,
            ),
        ],
        {"traversals": traversal_sheet(shown, {name: job.scores(name, "mig").tolist() for name in chosen})},
    )


def sprites_factor(scale: Scale) -> dict[str, Any]:
    """FactorVAEs with either decoder on coloured sprites."""
    steps = FACTOR_STEPS["sprites"] if scale == "paper" else SMALL_SPRITES
    return {
        "base": {**vae(scale, SPRITES, steps)},
        "variants": {
            DECONV: {"decoder": factor_deconv(scale), **factor_vae(scale, steps)},
            BROADCAST: {"decoder": broadcast(scale), **factor_vae(scale, steps)},
        },
        "seeds": seeds(scale, 25),
    }


@recipe(
    "sbd-fig6",
    title="DeConv against Spatial Broadcast, FactorVAE on coloured sprites",
    claim="A Spatial Broadcast FactorVAE has a higher MIG than a DeConv FactorVAE.",
    published="pictures only (figure 6); about 15 % of the seeds diverged (appendix A.2)",
    runs=sprites_factor,
)
def figure_6(job: Job) -> Conclusion:
    """MIG over seeds; reconstructions and traversals of the median seeds."""
    job.note(reduction(job))
    flat, other = job.scores(BROADCAST, "mig"), job.scores(DECONV, "mig")
    return Conclusion(
        table_rows(job, {}),
        [higher(f"MIG, {BROADCAST} minus {DECONV}", flat, other)],
        {"traversals": traversals(job, [DECONV, BROADCAST])},
    )


def _small_objects(job: Job) -> Conclusion:
    job.note("The geometry score is that of the plane of x and y, at the middle hue.")
    job.note(reduction(job))
    used = float(np.mean(job.scores(f"{BROADCAST} VAE", "latents_used")))
    if used < 2.5:
        job.note(
            f"The {BROADCAST} VAE uses {used:.1f} latents for three factors: so early it leaves out the hue."
        )
    return Conclusion(
        geometry_rows(job),
        compare(job, "geometry", "geometry score of x and y"),
        {"traversals": traversals(job, job.variants, shown=4, score="geometry")},
    )


@recipe(
    "sbd-fig7",
    title="Small objects: circles of 0.1 frame widths in all positions and hues",
    claim="A DeConv VAE learns an entangled, discontinuous code of small objects, Spatial Broadcast does not.",
    published="pictures only (figure 7)",
    runs=circles("xyh_small", paper=5),
)
def figure_7(job: Job) -> Conclusion:
    """Traversals of the four most informative latents, and the geometry of x and y."""
    return _small_objects(job)


@recipe(
    "sbd-fig8",
    title="Tiny objects: circles of 0.075 frame widths in all positions and hues",
    claim="A DeConv VAE learns an entangled, discontinuous code of tiny objects, Spatial Broadcast does not.",
    published="pictures only (figure 8)",
    runs=circles("xyh_tiny", paper=5),
)
def figure_8(job: Job) -> Conclusion:
    """Traversals of the four most informative latents, and the geometry of x and y."""
    return _small_objects(job)


@recipe(
    "sbd-fig9",
    title="CoordConv VAE on coloured sprites",
    claim="A CoordConv VAE has a far lower MIG than a Spatial Broadcast VAE, about that of a DeConv VAE.",
    published="pictures only (figure 9); Spatial Broadcast 0.147, DeConv 0.052 (tables 5 and 8)",
    runs=sprites(lambda scale: {**both(scale), COORDCONV: {"decoder": coordconv(scale)}}),
)
def figure_9(job: Job) -> Conclusion:
    """MIG of the three decoders; traversals of all latents of the median CoordConv VAE."""
    job.note(reduction(job))
    scores = {name: job.scores(name, "mig") for name in job.variants}
    median = job.runs(COORDCONV)[median_replica(scores[COORDCONV])]
    return Conclusion(
        table_rows(job, {DECONV: TABLE_8["1 layer"], BROADCAST: TABLE_5["3 layers"]}),
        [higher(f"MIG, {BROADCAST} minus {COORDCONV}", scores[BROADCAST], scores[COORDCONV])],
        {
            "traversals": traversal_sheet(
                {COORDCONV: swept(median, 10)}, {name: each.tolist() for name, each in scores.items()}
            )
        },
    )


def no_positions(scale: Scale) -> dict[str, Any]:
    """Spatial Broadcast VAEs on chairs, and, with three layers more, on rooms (SBD appendices A.1 and F)."""
    chairs, _ = data_or_stand_in("Chairs3D", "Objects3D", channels=1)
    chairs = {**chairs, "channels": 1}
    steps = {"smoke": (2, 2), "small": (1500, 1500), "paper": (STEPS["chairs"], STEPS["rooms"])}[scale]
    return {
        "base": vae(scale, chairs, steps[0]),
        "variants": {
            "chairs": {"decoder": broadcast(scale)},
            "rooms": {
                "data": {"name": "Shapes3D"},
                "decoder": broadcast(scale, depth=3 if scale == "smoke" else 6),
                "steps": steps[1],
            },
        },
        "seeds": seeds(scale, 5, 3),
    }


@recipe(
    "sbd-fig10",
    title="Traversals for data without positional variation: chairs and 3D Object-in-Room",
    claim="A Spatial Broadcast VAE reconstructs and disentangles data that have no positional factors as well.",
    published="pictures only (figure 10); 3D Object-in-Room with 3 layers and an MLP: FactorVAE score 0.98 (table 9)",
    runs=no_positions,
)
def figure_10(job: Job) -> Conclusion:
    """Reconstructions and traversals; how much of the images is reconstructed, how well rooms are disentangled."""
    job.note(reduction(job))
    job.note(data_or_stand_in("Chairs3D", "Objects3D")[1])
    explained = {
        variant: np.array([explained_share(run) for run in job.runs(variant)]) for variant in job.variants
    }
    score = job.scores("rooms", "factor_vae_score")
    rows = [["data", "replicas", "pixel variance reconstructed", "FactorVAE score", "MIG"]]
    for variant in job.variants:
        own = [
            told(job.scores(variant, name)) if variant == "rooms" else ""
            for name in ("factor_vae_score", "mig")
        ]
        rows.append([variant, str(len(explained[variant])), told(explained[variant]), *own])
    shown = {
        variant: swept(job.runs(variant)[median_replica(-job.scores(variant, "nll"))], 8)
        for variant in job.variants
    }
    return Conclusion(
        rows,
        [
            exceeds("share of the pixels' variance that is reconstructed, chairs", explained["chairs"], 0.5),
            exceeds("share of the pixels' variance that is reconstructed, rooms", explained["rooms"], 0.5),
            exceeds("FactorVAE score of rooms, against chance (1 of 6 factors)", score, 1 / 6),
        ],
        {"traversals": traversal_sheet(shown)},
    )


def explained_share(run: Run) -> float:
    """Share of the variance of the pixels, over images, that reconstructions explain."""
    images = run.dataset().sample(256, np.random.default_rng(0)).images
    target = np.asarray(images, np.float64) / (255 if images.dtype == np.uint8 else 1)
    guess = np.asarray(run.model().reconstruct(images), dtype=np.float64)
    return share(target, guess)


def share(target: NDArray[np.float64], guess: NDArray[np.float64]) -> float:
    """1 - ||target - guess||^2 / ||target - mean||^2, the mean over the first axis.

    Example:
        >>> x = np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> share(x, x), share(x, 0 * x + 0.5)
        (1.0, 0.0)
    """
    return float(1 - np.sum((target - guess) ** 2) / np.sum((target - target.mean(axis=0)) ** 2))


# Tables 5 to 10 ------------------------------------------------------------------------------------------------------

Cell = tuple[float, float] | None
Row = tuple[Cell, Cell, Cell, Cell, Cell, Cell]
"""Mean and deviation over replicas of: -ELBO, NLL, KL, latents used, MIG, FactorVAE score."""


def _cells(*numbers: float) -> Row:
    a, b, c, d, e, f = zip(numbers[::2], numbers[1::2], strict=True)
    return a, b, c, d, e, f


TABLE_5: dict[str, Row] = {
    "2 layers": _cells(339, 2.3, 312, 2.7, 27.5, 0.54, 8.33, 0.37, 0.076, 0.038, 0.187, 0.027),
    "3 layers": _cells(329, 4.1, 305, 4.6, 24.4, 0.54, 7.22, 0.34, 0.147, 0.057, 0.208, 0.084),
    "4 layers": _cells(341, 6.8, 318, 7.7, 22.6, 0.97, 5.93, 0.51, 0.157, 0.045, 0.226, 0.046),
    "5 layers": _cells(340, 8.8, 317, 9.7, 22.7, 0.99, 5.70, 0.37, 0.173, 0.059, 0.218, 0.030),
}
TABLE_6: dict[str, Row] = {
    "3 layers": _cells(372, 8.6, 346, 8.9, 26.8, 0.40, 9.20, 0.04, 0.031, 0.018, 0.144, 0.031),
    "4 layers": _cells(349, 9.4, 322, 10.0, 27.1, 0.88, 8.90, 0.24, 0.025, 0.015, 0.139, 0.009),
    "5 layers": _cells(340, 9.8, 314, 10.4, 26.0, 1.00, 7.95, 0.64, 0.056, 0.32, 0.184, 0.053),
    "6 layers": _cells(349, 15.0, 326, 16.1, 23.3, 1.42, 6.36, 0.81, 0.056, 0.019, 0.199, 0.029),
}
TABLE_7: dict[str, Row] = {
    "0 layers": _cells(329, 4, 305, 5, 24.5, 0.54, 7.21, 0.34, 0.147, 0.057, 0.208, 0.084),
    "1 layer": _cells(330, 6, 307, 6, 23.9, 0.72, 6.68, 0.46, 0.164, 0.043, 0.200, 0.034),
    "2 layers": _cells(349, 15, 327, 17, 21.5, 2.13, 6.03, 0.66, 0.210, 0.048, 0.232, 0.045),
    "3 layers": _cells(392, 23, 399, 114, 15.7, 2.93, 4.17, 1.23, 0.160, 0.034, 0.275, 0.064),
}
TABLE_8: dict[str, Row] = {
    "1 layer": _cells(347, 13, 321, 14, 25.8, 1.3, 7.97, 0.72, 0.052, 0.020, 0.174, 0.043),
    "2 layers": _cells(352, 17, 328, 18, 23.7, 1.7, 6.68, 0.78, 0.051, 0.024, 0.196, 0.024),
    "3 layers": _cells(365, 19, 345, 21, 19.7, 2.4, 5.24, 0.73, 0.144, 0.062, 0.243, 0.043),
}
TABLE_9: dict[str, Row] = {
    "0 layers": _cells(4039, 3.4, 4010, 3.3, 29.3, 0.46, 8.73, 0.41, 0.541, 0.091, 0.931, 0.043),
    "1 layer": _cells(4022, 3.7, 4003, 3.7, 19.3, 0.35, 6.30, 0.49, 0.538, 0.105, 0.946, 0.043),
    "2 layers": _cells(4018, 3.3, 3999, 3.3, 18.5, 0.30, 5.94, 0.41, 0.574, 0.096, 0.978, 0.027),
    "3 layers": _cells(4020, 3.0, 4002, 2.9, 18.3, 0.38, 5.73, 0.31, 0.659, 0.123, 0.979, 0.037),
}
TABLE_10: dict[str, Row] = {
    "0 upscales": _cells(329, 4.1, 305, 4.6, 24.4, 0.54, 7.22, 0.34, 0.147, 0.057, 0.208, 0.084),
    "1 upscale": _cells(327, 4.4, 302, 4.9, 24.4, 0.55, 7.29, 0.26, 0.149, 0.048, 0.194, 0.026),
    "2 upscales": _cells(329, 4.3, 304, 4.8, 24.2, 0.60, 7.14, 0.42, 0.122, 0.045, 0.235, 0.070),
    "3 upscales": _cells(330, 2.4, 305, 2.7, 24.2, 0.24, 7.39, 0.08, 0.110, 0.032, 0.182, 0.028),
}


def table_rows(job: Job, published: Mapping[str, Row]) -> list[list[str]]:
    """The table of SBD appendix G: each variant's numbers, and the paper's below them."""
    rows = [["model", "−ELBO", "NLL", "KL", "latents used", "MIG", "FactorVAE score"]]
    for variant in job.variants:
        scores = [-job.scores(variant, "elbo")]
        scores += [
            job.scores(variant, name) for name in ("nll", "kl", "latents_used", "mig", "factor_vae_score")
        ]
        rows.append([variant, *(told(values) for values in scores)])
        if variant in published:
            cells = ["" if cell is None else f"{cell[0]:g} (±{cell[1]:g})" for cell in published[variant]]
            rows.append(["  published", *cells])
    return rows


def table_plan(
    published: Mapping[str, Row], decoder: Callable[[Scale, int], dict[str, Any]], smoke: tuple[str, str]
) -> Plan:
    """A plan with a variant for each row of a table; the number in a row's name is what ``decoder`` is called with.

    At ``smoke`` there are two rows, one of them that of figure 2, whose runs it shares.
    """

    def variants(scale: Scale) -> dict[str, Any]:
        rows = smoke if scale == "smoke" else published
        return {row: {"decoder": decoder(scale, _count(row))} for row in rows}

    return sprites(variants)


def _count(label: str) -> int:
    return int(label.split()[0])


def trend(job: Job, name: str, what: str, against: str, sign: int) -> Finding:
    """A score falls or rises with the number in the variants' names; every replica is a point."""
    counts = np.concatenate([np.full(len(job.runs(variant)), _count(variant)) for variant in job.variants])
    values = np.concatenate([job.scores(variant, name) for variant in job.variants])
    return correlated(f"{what} with {against}", counts, -values if name == "elbo" else values, sign=sign)


@dataclass(frozen=True)
class _Panel:
    name: str
    label: str


_PANELS = (
    _Panel("elbo", "−ELBO"),
    _Panel("kl", "KL"),
    _Panel("latents_used", "latents used"),
    _Panel("mig", "MIG"),
)


def table_picture(job: Job, published: Mapping[str, Row], against: str) -> Figure:
    """Each column of a table against what the rows vary: every replica, the means, and the published means."""
    from unweave.plots.style import FAINT, PALETTE, style

    with style():
        figure = Figure(figsize=(2.5 * len(_PANELS), 2.6), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(_PANELS)), _PANELS, strict=True):
            sign = -1 if panel.name == "elbo" else 1
            column = {"elbo": 0, "kl": 2, "latents_used": 3, "mig": 4}[panel.name]
            counts = [_count(variant) for variant in job.variants]
            values = [sign * job.scores(variant, panel.name) for variant in job.variants]
            for count, each in zip(counts, values, strict=True):
                axes.plot(
                    [count] * len(each),
                    each,
                    "o",
                    markersize=3,
                    alpha=0.4,
                    color=PALETTE[1],
                    markeredgewidth=0,
                )
            axes.plot(counts, [each.mean() for each in values], "o-", color=PALETTE[1], label="ours")
            paper = [(_count(row), cells[column]) for row, cells in published.items()]
            means = [cell[0] for _, cell in paper if cell is not None]
            axes.plot([count for count, _ in paper], means, "s--", color=FAINT, label="published")
            axes.set(title=panel.label, xlabel=against)
            axes.set_xticks([count for count, _ in paper])
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure


def table_outcome(
    job: Job, published: Mapping[str, Row], against: str, findings: Sequence[Finding]
) -> Conclusion:
    """Rows and picture of one of SBD tables 5 to 10."""
    job.note(reduction(job))
    return Conclusion(table_rows(job, published), findings, {"table": table_picture(job, published, against)})


@recipe(
    "sbd-table5",
    title="Depth of the Spatial Broadcast decoder, coloured sprites",
    claim="The deeper the decoder, the lower the rate: less KL, fewer latents used.",
    published="KL 27.5, 24.4, 22.6, 22.7 and latents used 8.33, 7.22, 5.93, 5.70 at depths 2 to 5 (table 5)",
    runs=table_plan(TABLE_5, lambda scale, depth: broadcast(scale, depth=depth), ("3 layers", "5 layers")),
)
def table_5(job: Job) -> Conclusion:
    """Scores over the number of convolutions of the Spatial Broadcast decoder."""
    findings = [
        trend(job, "kl", "KL", "depth", -1),
        trend(job, "latents_used", "latents used", "depth", -1),
    ]
    return table_outcome(job, TABLE_5, "convolutions", findings)


@recipe(
    "sbd-table6",
    title="Depth of the DeConv decoder, coloured sprites",
    claim="The deeper the decoder, the fewer factors are represented: less KL, fewer latents used.",
    published="KL 26.8, 27.1, 26.0, 23.3 and latents used 9.20, 8.90, 7.95, 6.36 at depths 3 to 6 (table 6)",
    runs=table_plan(TABLE_6, lambda scale, depth: deconv(scale, layers=depth), ("5 layers", "6 layers")),
)
def table_6(job: Job) -> Conclusion:
    """Scores over the number of up-convolutions of the DeConv decoder."""
    findings = [
        trend(job, "kl", "KL", "depth", -1),
        trend(job, "latents_used", "latents used", "depth", -1),
    ]
    return table_outcome(job, TABLE_6, "up-convolutions", findings)


@recipe(
    "sbd-table7",
    title="Linear layers before the broadcast, coloured sprites",
    claim="An MLP before the broadcast makes the bound worse and leaves fewer latents in use.",
    published="−ELBO 329, 330, 349, 392 and latents used 7.21, 6.68, 6.03, 4.17 with 0 to 3 layers (table 7)",
    runs=table_plan(TABLE_7, lambda scale, linear: broadcast(scale, linear=linear), ("0 layers", "3 layers")),
)
def table_7(job: Job) -> Conclusion:
    """Scores over the number of linear layers before the broadcast."""
    findings = [
        trend(job, "elbo", "−ELBO", "linear layers", +1),
        trend(job, "latents_used", "latents used", "linear layers", -1),
    ]
    return table_outcome(job, TABLE_7, "linear layers", findings)


@recipe(
    "sbd-table8",
    title="Linear layers of the DeConv decoder, coloured sprites",
    claim="More linear layers make the DeConv VAE represent fewer factors: less KL, fewer latents used.",
    published="KL 25.8, 23.7, 19.7 and latents used 7.97, 6.68, 5.24 with 1 to 3 layers (table 8)",
    runs=table_plan(TABLE_8, lambda scale, linear: deconv(scale, linear=linear), ("1 layer", "3 layers")),
)
def table_8(job: Job) -> Conclusion:
    """Scores over the number of linear layers of the DeConv decoder."""
    findings = [
        trend(job, "kl", "KL", "linear layers", -1),
        trend(job, "latents_used", "latents used", "linear layers", -1),
    ]
    return table_outcome(job, TABLE_8, "linear layers", findings)


def rooms(scale: Scale) -> dict[str, Any]:
    """Spatial Broadcast VAEs with 0 to 3 linear layers on 3D Object-in-Room."""
    rows = ("0 layers", "3 layers") if scale == "smoke" else TABLE_9
    return {
        "base": vae(scale, {"name": "Shapes3D"}, STEPS["rooms"] if scale == "paper" else 1500),
        "variants": {row: {"decoder": broadcast(scale, linear=_count(row))} for row in rows},
        "seeds": seeds(scale, 25, 3),
    }


@recipe(
    "sbd-table9",
    title="Linear layers before the broadcast, 3D Object-in-Room",
    claim="Without an MLP too many latents are used (there are 6 factors); with one fewer are, at a better bound.",
    published="−ELBO 4039, 4022, 4018, 4020 and latents used 8.73, 6.30, 5.94, 5.73 with 0 to 3 layers (table 9)",
    runs=rooms,
)
def table_9(job: Job) -> Conclusion:
    """Scores over the number of linear layers before the broadcast."""
    findings = [
        trend(job, "latents_used", "latents used", "linear layers", -1),
        trend(job, "elbo", "−ELBO", "linear layers", -1),
    ]
    return table_outcome(job, TABLE_9, "linear layers", findings)


@recipe(
    "sbd-table10",
    title="Up-convolutions in the Spatial Broadcast decoder, coloured sprites",
    claim="Replacing convolutions by up-convolutions from a smaller tile lowers MIG and leaves the bound as it is.",
    published="MIG 0.147, 0.149, 0.122, 0.110 and −ELBO 329, 327, 329, 330 with 0 to 3 upscales (table 10)",
    runs=table_plan(
        TABLE_10, lambda scale, upscales: broadcast(scale, upscales=upscales), ("0 upscales", "3 upscales")
    ),
)
def table_10(job: Job) -> Conclusion:
    """Scores over the number of up-convolutions in the place of convolutions."""
    return table_outcome(job, TABLE_10, "upscales", [trend(job, "mig", "MIG", "upscales", -1)])


# Figures 11 to 20 ----------------------------------------------------------------------------------------------------

_PICTURES = "pictures only (figure {}); 15 replicas"


@recipe(
    "sbd-fig11",
    title="Latent space geometry, circles X-Y: VAE and FactorVAE",
    claim="The Spatial Broadcast decoder flattens the latent space of a FactorVAE as well as that of a VAE.",
    published=_PICTURES.format(11),
    runs=circles("xy", factor=["small", "paper"]),
)
def figure_11(job: Job) -> Conclusion:
    """Figure 4 with FactorVAE."""
    return geometry_outcome(job, compare(job, "geometry", "geometry score"))


@recipe(
    "sbd-fig12",
    title="Latent space geometry, circles X-Y with a hole in the centre",
    claim="With dependent factors the Spatial Broadcast decoder still flattens the space, even through the hole.",
    published=_PICTURES.format(12),
    runs=circles("xy", hole="center", factor=["paper"]),
)
def figure_12(job: Job) -> Conclusion:
    """The grid of positions in latent space; positions that training never saw are black."""
    return geometry_outcome(job, [*compare(job, "geometry", "geometry score"), *generalises(job)])


@recipe(
    "sbd-fig13",
    title="Latent space geometry, circles X-Y with a hole in a corner",
    claim="The Spatial Broadcast decoder helps extrapolation in factor space too.",
    published=_PICTURES.format(13),
    runs=circles("xy", hole="corner", factor=["paper"]),
)
def figure_13(job: Job) -> Conclusion:
    """Figure 12 with the hole in a corner."""
    return geometry_outcome(job, [*compare(job, "geometry", "geometry score"), *generalises(job)])


@recipe(
    "sbd-fig14",
    title="Latent space geometry, circles X-H",
    claim="With position and hue the Spatial Broadcast decoder helps less than with two positions, but helps.",
    published=_PICTURES.format(14),
    runs=circles("xh", factor=["paper"]),
)
def figure_14(job: Job) -> Conclusion:
    """The grid of positions and hues in latent space."""
    return geometry_outcome(job, compare(job, "geometry", "geometry score"))


@recipe(
    "sbd-fig15",
    title="Latent space geometry, circles X-H with a hole in the centre",
    claim="The hole is a serious challenge for the DeConv decoder, and the Spatial Broadcast decoder helps a lot.",
    published=_PICTURES.format(15),
    runs=circles("xh", hole="center", factor=["paper"]),
)
def figure_15(job: Job) -> Conclusion:
    """Figure 14 with a hole in the centre."""
    return geometry_outcome(job, [*compare(job, "geometry", "geometry score"), *generalises(job)])


@recipe(
    "sbd-fig16",
    title="Latent space geometry, circles X-H with a hole in a corner",
    claim="The Spatial Broadcast decoder again yields significant improvements.",
    published=_PICTURES.format(16),
    runs=circles("xh", hole="corner", factor=["paper"]),
)
def figure_16(job: Job) -> Conclusion:
    """Figure 14 with a hole in a corner."""
    return geometry_outcome(job, [*compare(job, "geometry", "geometry score"), *generalises(job)])


@recipe(
    "sbd-fig17",
    title="Latent space geometry, circles R-G",
    claim="Without positional variation the Spatial Broadcast decoder does not hurt.",
    published=_PICTURES.format(17) + "; 3 of 15 DeConv VAEs have a MIG near zero",
    runs=circles("rg", factor=["paper"]),
)
def figure_17(job: Job) -> Conclusion:
    """The grid of reds and greens in latent space; not worse means by less than 0.1 of the geometry score."""
    return geometry_outcome(job, compare(job, "geometry", "geometry score", margin=0.1))


@recipe(
    "sbd-fig18",
    title="Latent space geometry, circles R-G with a hole in the centre",
    claim="With a hole in the data the benefit of the Spatial Broadcast decoder is clearer than without.",
    published=_PICTURES.format(18),
    runs=circles("rg", hole="center", factor=["paper"]),
)
def figure_18(job: Job) -> Conclusion:
    """Figure 17 with a hole in the centre."""
    return geometry_outcome(job, [*compare(job, "geometry", "geometry score"), *generalises(job)])


@recipe(
    "sbd-fig19",
    title="Latent space geometry, circles R-G with a hole in a corner",
    claim="The Spatial Broadcast decoder reduces the warping of the latent space, though MIG may be lower by rotation.",
    published=_PICTURES.format(19),
    runs=circles("rg", hole="corner", factor=["paper"]),
)
def figure_19(job: Job) -> Conclusion:
    """Figure 17 with a hole in a corner."""
    return geometry_outcome(job, [*compare(job, "geometry", "geometry score"), *generalises(job)])


@recipe(
    "sbd-fig20",
    title="Latent space geometry, circles X-H, half of the images blank",
    claim="Geometry and MIG are better with the Spatial Broadcast decoder, which spends a third latent on presence.",
    published=_PICTURES.format(20),
    runs=circles("xh", blank=0.5, factor=["paper"]),
)
def figure_20(job: Job) -> Conclusion:
    """Figure 14 with black images; their code is the black star."""
    used = job.scores(f"{BROADCAST} VAE", "latents_used")
    return geometry_outcome(
        job,
        [
            *compare(job, "geometry", "geometry score"),
            *compare(job, "mig", "MIG"),
            exceeds(f"latents used by the {BROADCAST} VAE, against the two factors of a circle", used, 2.0),
        ],
    )
