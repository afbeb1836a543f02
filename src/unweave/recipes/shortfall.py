"""How much smaller a reproduction is than the paper's protocol, as a sentence beside the result."""

import dataclasses

from unweave.recipes.recipe import Job
from unweave.runs.config import Config
from unweave.runs.study import Study


def shortfall(job: Job) -> str:
    """What the runs of a job have less of than the paper's runs: a sentence, or nothing.

    Compared is the last variant that both have.

    Example:
        >>> from unweave.recipes.catalogue import RECIPES
        >>> shortfall(Job(RECIPES["sbd-fig4"], "paper"))
        ''
    """
    planned, full = job.recipe.study(job.scale, job.changes), job.recipe.study("paper")
    if planned is None or full is None or not job.variants:
        return ""
    theirs = full.variants
    ours, paper = next(
        ((variant, variant) for variant in reversed(job.variants) if variant in theirs),
        (job.variants[0], next(iter(theirs))),
    )
    runs = job.runs(ours)
    return compared_with_paper(
        runs[0].config,
        theirs[paper][0].config,
        replicas=(len(runs), len(theirs[paper])),
        models=(_models(planned), _models(full)),
        unstated=job.recipe.unstated,
    )


def _models(study: Study) -> int:
    """How many models a study has; a run and its own beginning are one."""
    same = (dataclasses.replace(runs[0].config, steps=1, seed=0) for runs in study.variants.values())
    return len({config.identity for config in same})


def compared_with_paper(
    ours: Config,
    theirs: Config,
    *,
    replicas: tuple[int, int] = (1, 1),
    models: tuple[int, int] = (1, 1),
    unstated: tuple[str, ...] = (),
) -> str:
    """What our run has less of than theirs: steps, replicas, models, pixels, channels, and so on.

    Args:
        ours: the config of our run.
        theirs: the config of the paper's.
        replicas: our number of runs of a model, and theirs.
        models: our number of models, and theirs.
        unstated: of what the paper gives no number, so that those of ``theirs`` are ours too.

    Example:
        >>> ours, theirs = (Config.read(words=["data=circles", f"steps={n}"]) for n in (100, 500_000))
        >>> compared_with_paper(ours, theirs, replicas=(1, 15))
        'Against the paper: 100 steps instead of 500,000, 1 replica instead of 15.'
    """
    known = _sizes(theirs)
    pairs = {
        "steps": (ours.steps, theirs.steps),
        "replicas": replicas,
        "models": models,
        **{what: (size, known[what]) for what, size in _sizes(ours).items() if what in known},
    }
    smaller = {what: (a, b) for what, (a, b) in pairs.items() if a < b}
    less = [f"{_count(a, what)} instead of {b:,}" for what, (a, b) in smaller.items() if what not in unstated]
    if smaller and ours.learning_rate != theirs.learning_rate:
        less.append(f"learning rate {ours.learning_rate:g} instead of {theirs.learning_rate:g}")
    sentences = [f"Against the paper: {', '.join(less)}."] if less else []
    sentences += [
        f"The paper gives no number of {what}: {a:,} here, {b:,} at its scale are ours."
        for what, (a, b) in smaller.items()
        if what in unstated
    ]
    return " ".join(sentences)


def _sizes(config: Config) -> dict[str, int]:
    """The sizes that a config states; a part without such an option states none."""
    channels = {**config.model.options, **config.encoder.options}.get("channels")
    stated = {
        "pixels a side": config.data.options.get("size"),
        "channels": max(channels) if channels else None,
        "images in a batch": config.batch_size,
        "latents": config.latents,
        "units in a layer of the discriminator": config.objective.options.get("critic_width"),
    }
    return {what: int(size) for what, size in stated.items() if size is not None}


def _count(number: int, what: str) -> str:
    noun, space, rest = what.partition(" ")
    return f"{number:,} {noun.removesuffix('s') if number == 1 else noun}{space}{rest}"
