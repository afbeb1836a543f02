"""Every file of a run, opened and verified; and what can be rebuilt of those that are damaged."""

import io
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from unweave import artefacts, atomic
from unweave.errors import UnweaveError
from unweave.runs import history, status

if TYPE_CHECKING:
    from unweave.runs.run import Run

logger = logging.getLogger("unweave")

JSON = ("run.json", "data.json", status.STATUS, status.SCORES, status.SCORED)


def damage(folder: Path) -> Iterator[str]:
    """What is wrong with the files of a run, each read in full: a sentence names the file, and its line in a history.

    Nothing is changed. Files are compared with the hashes of the manifest; those of older runs, which have none, are
    checked as far as their form allows: JSON, the checksums of npz and checkpoint files, the header of the weights,
    the config by the identity of the run.

    Example:
        >>> import tempfile
        >>> list(damage(Path(tempfile.mkdtemp())))[0].endswith("run.json: there is no such file")
        True
    """
    known = [name for name in JSON if name == "run.json" or os.path.lexists(folder / name)]
    yield from _sentences(folder, known, lambda path: artefacts.read_json(path))
    others = [name for name in (status.WEIGHTS, status.CODES) if os.path.lexists(folder / name)]
    yield from _sentences(folder, others, _check_arrays)
    yield from _config_damage(folder)
    yield from _manifest_damage(folder, {*known, *others, "config.yaml"})
    yield from _history_damage(folder)
    if any((folder / "checkpoints").glob("step-*.pt")):
        from unweave.training.checkpoints import Checkpoints

        yield from Checkpoints(folder / "checkpoints", _identity(folder)).problems()
    for place in (folder, folder / "checkpoints"):
        for path in atomic.leftovers(place):
            yield f"{path} is an incomplete file that a killed process left"


def repair(folder: Path) -> Iterator[str]:
    """Rebuild what can be rebuilt of a damaged run; a sentence for each thing that was done, and for what cannot be.

    Damaged files get another name first. The manifest keeps its intact lines, and files that it no longer names are
    recorded as they are if their form is right. The config is taken from its copy in ``run.json``, and the other way
    round; the status from weights and history; codes and scores are computed again from the weights; damaged weights
    make the run an interrupted one, which continues from its newest checkpoint when it is trained.

    Example:
        >>> import tempfile
        >>> list(repair(Path(tempfile.mkdtemp())))[0].endswith("cannot be rebuilt: it has neither config nor copy")
        True
    """
    try:
        manifest = _repair_manifest(folder)
        yield from _repair_config(folder)
    except UnweaveError as error:
        yield f"{folder} cannot be rebuilt: {error}"
        return
    from unweave.runs.run import Run

    for place in (folder, folder / "checkpoints"):
        for path in atomic.remove_leftovers(place):
            yield f"{path}: removed, it was never complete"
    try:
        run = Run(folder)
        yield from _repair_training(run)
        yield from _repair_scores(run)
    except UnweaveError as error:
        yield f"{folder} cannot be rebuilt further: {error}"
    if manifest is not None:
        unverified = list(_record_what_is_left(folder))
        taken = (
            f"taken as they are: {', '.join(unverified)}"
            if unverified
            else "the files that it named are verified"
        )
        yield f"{folder / artefacts.MANIFEST}: written again, {taken}; the damaged one is kept as {manifest.name}"


def _sentences(folder: Path, names: list[str], check: object) -> Iterator[str]:
    assert callable(check)
    for name in names:
        try:
            check(folder / name)
        except UnweaveError as error:
            yield str(error)


def _check_arrays(path: Path) -> None:
    """Raise an error if a file of weights or codes is damaged."""
    if path.name == status.WEIGHTS:
        if (problem := status.weights_problem(path)) is not None:
            raise atomic.DamagedError(f"{path} is damaged: {problem}")
        artefacts.read(path)
        return
    import zipfile

    content = artefacts.read(path)
    with artefacts.structure_of(path, *atomic.ARCHIVE_DAMAGE):
        damaged = zipfile.ZipFile(io.BytesIO(content)).testzip()
        if damaged is not None:
            raise zipfile.BadZipFile(f"wrong checksum in {damaged}")


def _identity(folder: Path) -> str:
    return str(status.readable(folder / "run.json").get("identity") or "")


def _config_damage(folder: Path) -> Iterator[str]:
    path = folder / "config.yaml"
    try:
        artefacts.read(path)
        if not artefacts.recorded(folder).get(path.name) and (identity := _identity(folder)):
            from unweave.runs.config import Config

            if Config.read(path).identity != identity:
                yield f"{path} is not the config of this run: its identity is another one"
    except UnweaveError as error:
        yield str(error)


def _manifest_damage(folder: Path, checked: set[str]) -> Iterator[str]:
    """Damaged lines of the manifest, and files that it names and that nothing else has checked."""
    path = folder / artefacts.MANIFEST
    try:
        for number in _manifest_lines(path)[1]:
            yield f"{path}, line {number}, is damaged: the file that it names is not verified by it"
    except UnweaveError as error:
        yield str(error)
        return
    for name in sorted(artefacts.recorded(folder).keys() - checked):
        if os.path.lexists(folder / name):
            yield from _sentences(folder, [name], artefacts.read)


def _manifest_lines(path: Path) -> tuple[list[bytes], list[int]]:
    """The intact lines of a manifest, and the numbers of the damaged ones."""
    lines = atomic.read(path).split(b"\n") if os.path.lexists(path) else []
    damaged = [
        number
        for number, line in enumerate(lines, 1)
        if line and artefacts.opened_line(line, sealed=True) is None
    ]
    return [line for number, line in enumerate(lines, 1) if line and number not in damaged], damaged


def _history_damage(folder: Path) -> Iterator[str]:
    path = folder / history.FILE
    try:
        found = history.parse_history(path)
    except UnweaveError as error:
        yield str(error)
        return
    for number in found.damaged:
        yield f"{path}, line {number}, is no record: it is skipped"
    made = status.readable(folder / "run.json").get("config")
    steps = made.get("steps") if isinstance(made, dict) else None
    if isinstance(steps, int) and steps >= 1 and artefacts.recorded(folder) and status.is_trained(folder):
        every = max(1, steps // 1000)
        logged = sorted({*range(every, steps + 1, every), 1, steps})
        if missing := found.missing(logged):
            yield f"{path} has no records of {len(missing)} logged steps, {missing[0]} to {missing[-1]}"


def _repair_manifest(folder: Path) -> Path | None:
    """Let a damaged manifest keep its intact lines; what the damaged one is called now, if it was damaged."""
    path = folder / artefacts.MANIFEST
    try:
        intact, damaged = _manifest_lines(path)
    except atomic.DamagedError:  # a folder or a pipe in its place
        intact, damaged = [], [1]
    if not damaged:
        return None
    aside = atomic.set_aside(path)
    atomic.write(path, b"".join(line + b"\n" for line in intact))
    return aside


def _record_what_is_left(folder: Path) -> Iterator[str]:
    """Record the files of a run that its manifest does not name, as they are, if their form is right; their names."""
    checks = {
        **dict.fromkeys(JSON, artefacts.read_json),
        **dict.fromkeys((status.WEIGHTS, status.CODES), _check_arrays),
        "config.yaml": artefacts.read,  # its identity was compared before
    }
    for name, check in checks.items():
        unknown = (folder / name).is_file() and name not in artefacts.recorded(folder)
        if unknown and not any(_sentences(folder, [name], check)):
            artefacts.record(folder / name, atomic.read(folder / name))
            yield name


def _repair_config(folder: Path) -> Iterator[str]:
    """Config and ``run.json`` from each other."""
    from unweave.runs import publishing
    from unweave.runs.config import Config, with_record

    config, about = folder / publishing.CONFIG, folder / publishing.RUN
    made = status.readable(about)
    copy = made.get("config")
    stored = Config.of(with_record(copy, folder)) if isinstance(copy, dict) else None
    if stored is not None and stored.identity == made.get("identity"):
        if any(_config_damage(folder)):
            aside = atomic.set_aside(config).name if os.path.lexists(config) else "nothing"
            artefacts.write(config, stored.to_yaml())
            yield f"{config}: written again from its copy in run.json; the damaged one is kept as {aside}"
        return
    if not config.is_file() or any(_config_damage(folder)):
        raise UnweaveError("it has neither config nor copy")
    if os.path.lexists(about):
        atomic.set_aside(about)
    artefacts.write(about, publishing.about(Config.read(config), None))
    yield f"{about}: written again from config.yaml; its command and date are lost"


def _repair_training(run: "Run") -> Iterator[str]:
    """Weights, data, history and status."""
    folder = run.folder
    with run.held():
        weights = folder / status.WEIGHTS
        if os.path.lexists(weights) and any(_sentences(folder, [weights.name], _check_arrays)):
            aside = atomic.set_aside(weights)
            steps = [path.stem for path in run.checkpoints.paths()]
            begin = f"from {steps[-1]}" if steps else "from the beginning"
            yield f"{weights} is kept as {aside.name}; train it again {begin}: {run.command}"
        data = folder / "data.json"
        if os.path.lexists(data) and any(_sentences(folder, [data.name], artefacts.read_json)):
            aside = atomic.set_aside(data)
            run.record_data()
            yield f"{data}: written again from the present data; the damaged one is kept as {aside.name}"
        records = history.parse_history(folder / history.FILE)
        if records.damaged:
            history.cut_history(folder / history.FILE, run.config.steps)
            yield f"{folder / history.FILE}: {len(records.damaged)} damaged lines left out"
        path = folder / status.STATUS
        if os.path.lexists(path) and any(_sentences(folder, [path.name], artefacts.read_json)):
            atomic.set_aside(path)
            step = history.last_record(folder / history.FILE).get("step", 0)
            name = "finished" if status.is_trained(folder) else "interrupted"
            status.write_status(folder, name, step, None, run.seconds)
            yield f"{path}: written again ({name} at step {step})"


def _repair_scores(run: "Run") -> Iterator[str]:
    """Codes and scores, from the weights."""
    checks = {
        status.CODES: _check_arrays,
        status.SCORES: artefacts.read_json,
        status.SCORED: artefacts.read_json,
    }
    there = {name: check for name, check in checks.items() if os.path.lexists(run.folder / name)}
    damaged = [name for name, check in there.items() if any(_sentences(run.folder, [name], check))]
    for name in damaged:
        yield f"{run.folder / name} is kept as {atomic.set_aside(run.folder / name).name}"
    if {status.CODES, status.SCORES} & set(damaged) and status.is_trained(run.folder):
        from unweave.runs.evaluation import evaluate

        evaluate(run)
        yield f"{run.folder / status.SCORES}: the usual scores are computed again from the weights"
