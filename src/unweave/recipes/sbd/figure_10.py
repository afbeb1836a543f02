"""SBD figure 10: data without positional variation, chairs and 3D Object-in-Room."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unweave.plots.replicas import median_replica, traversal_sheet
from unweave.recipes.claims import exceeds
from unweave.recipes.recipe import Conclusion, Job, Scale, at, data_or_stand_in, recipe
from unweave.recipes.sbd.models import STEPS, broadcast, mig_metrics, seeds, vae
from unweave.recipes.sbd.score_table import column, mean_and_spread
from unweave.recipes.sbd.traversals import replica_pictures
from unweave.recipes.shortfall import shortfall
from unweave.recipes.traversal_pictures import in_unit_interval
from unweave.runs.run import Run


def chairs_and_rooms(scale: Scale) -> dict[str, Any]:
    """Spatial Broadcast VAEs on chairs, and, with three layers more, on rooms (SBD appendices A.1 and F)."""
    chairs, _ = data_or_stand_in("Chairs3D", "Objects3D")
    chairs["channels"] = 1
    return {
        "base": vae(scale, chairs, at(scale, smoke=2, small=1500, paper=STEPS["chairs"])),
        "variants": {
            "chairs": {"decoder": broadcast(scale)},
            "rooms": {
                "data": data_or_stand_in("Shapes3D")[0],
                "decoder": broadcast(scale, depth=3 if scale == "smoke" else 6),
                "steps": at(scale, smoke=2, small=1500, paper=STEPS["rooms"]),
            },
        },
        "seeds": seeds(scale, 5, 3),
        "metrics": mig_metrics(scale),
    }


def reconstructed_share(run: Run) -> float:
    """Share of the variance of the pixels, over images, that reconstructions explain."""
    images = run.dataset().sample(256, np.random.default_rng(0)).images
    return explained_share(
        in_unit_interval(images), np.asarray(run.model().reconstruct(images), dtype=np.float64)
    )


def explained_share(target: NDArray[np.float64], guess: NDArray[np.float64]) -> float:
    """1 - ||target - guess||^2 / ||target - mean||^2, the mean over the first axis.

    Example:
        >>> x = np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> explained_share(x, x), explained_share(x, 0 * x + 0.5)
        (1.0, 0.0)
    """
    return float(1 - np.sum((target - guess) ** 2) / np.sum((target - target.mean(axis=0)) ** 2))


@recipe(
    "sbd-fig10",
    title="Traversals for data without positional variation: chairs and 3D Object-in-Room",
    claim="A Spatial Broadcast VAE reconstructs and disentangles data that have no positional factors as well.",
    published="pictures only (figure 10); 3D Object-in-Room with 3 layers and an MLP: FactorVAE score 0.98 (table 9)",
    runs=chairs_and_rooms,
)
def figure_10(job: Job) -> Conclusion:
    """Reconstructions and traversals; how much of the images is reconstructed, how well rooms are disentangled."""
    job.note(shortfall(job))
    explained = {
        variant: np.array([reconstructed_share(run) for run in job.runs(variant)]) for variant in job.variants
    }
    rooms = [column(job, "rooms", name) for name in ("factor_vae_score", "mig")]
    rows = [["data", "replicas", "pixel variance reconstructed", "FactorVAE score", "MIG"]]
    for variant, shares in explained.items():
        scores = [mean_and_spread(values) if variant == "rooms" else "" for values in rooms]
        rows.append([variant, str(len(shares)), mean_and_spread(shares), *scores])
    shown = {
        variant: replica_pictures(job.runs(variant)[median_replica(-job.scores(variant, "nll"))])
        for variant in job.variants
    }
    return Conclusion(
        rows,
        [
            exceeds("share of the pixels' variance that is reconstructed, chairs", explained["chairs"], 0.5),
            exceeds("share of the pixels' variance that is reconstructed, rooms", explained["rooms"], 0.5),
            exceeds("FactorVAE score of rooms, against chance (1 of 6 factors)", rooms[0], 1 / 6),
        ],
        {"traversals": traversal_sheet(shown)},
    )
