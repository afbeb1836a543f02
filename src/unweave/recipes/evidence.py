"""What a result rests on, run by run: seeds, scores, configs, and where and when they were trained."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unweave.runs.flat import flatten
from unweave.runs.run import Run
from unweave.runs.sweep import Sweep

EVIDENCE = "evidence.json"

_DIGITS = 6
"""Significant digits of the stored scores."""


def evidence_of(sweep: Sweep | None) -> dict[str, Any]:
    """The runs of a result: for each variant its settings, for each run its seed, identity, status, time and scores.

    What all variants have in common is stored once.

    Example:
        >>> evidence_of(None)["runs"]
        []
    """
    if sweep is None:
        return {"commit": commit(), "machines": [], "made": "", "common": {}, "variants": {}, "runs": []}
    members = [(variant, member.run) for variant, group in sweep.variants.items() for member in group]
    settings = {
        variant: {key: value for key, value in flatten(run.config.to_mapping()).items() if key != "seed"}
        for variant, run in members
    }
    common = _common(list(settings.values()))
    return {
        "commit": commit(),
        "machines": sorted({str(run.versions.get("machine", "")) for _, run in members}),
        "made": max(_created(run) for _, run in members),
        "common": common,
        "variants": {
            variant: {key: value for key, value in own.items() if key not in common}
            for variant, own in settings.items()
        },
        "runs": [_record(variant, run) for variant, run in members],
    }


def commit() -> str:
    """The commit of the source in use, with a plus sign if it was changed since; empty outside of a clone.

    Example:
        >>> isinstance(commit(), str)
        True
    """
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


def _created(run: Run) -> str:
    from unweave import artefacts

    return str(artefacts.read_json(run.folder / "run.json").get("created") or "")


def _common(several: list[dict[str, Any]]) -> dict[str, Any]:
    first = several[0]
    return {
        key: value
        for key, value in first.items()
        if all(key in other and other[key] == value for other in several)
    }


def _record(variant: str, run: Run) -> dict[str, Any]:
    scores: Mapping[str, Any] = run.scores if run.status == "finished" else {}
    return {
        "variant": variant,
        "seed": run.config.seed,
        "identity": run.config.identity[:16],
        "status": run.status,
        "seconds": round(run.seconds, 1),
        "scores": {name: _rounded(score["value"]) for name, score in scores.items()},
    }


def _rounded(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
