"""Codes as files: npz, csv or parquet, written block by block, so that their number does not matter."""

import contextlib
import os
import shutil
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unweave import atomic
from unweave.errors import UnweaveError

KINDS = (".npz", ".csv", ".parquet")


class CodeBlock(NamedTuple):
    """Codes of some images: what each image is called, means, deviations and KL, and factors if they are known.

    ``kl`` is ``(n, latents)``, or ``(n, 1)``, the whole, if the prior does not factorise over latents.

    Example:
        >>> zeros = np.zeros((1, 2))
        >>> CodeBlock(["a.png"], zeros, zeros + 1, zeros).means.shape
        (1, 2)
    """

    names: Sequence[str] | NDArray[np.int64]
    means: NDArray[np.float32]
    scales: NDArray[np.float32]
    kl: NDArray[np.float32]
    factors: NDArray[Any] | None = None


class Columns(NamedTuple):
    """What the columns of a file of codes are called, and whether images are called by file or by number.

    Example:
        >>> Columns(("z0", "rotation"), by_file=True).codes
        ['z0', 'z1 rotation']
    """

    latents: tuple[str, ...]
    by_file: bool
    factors: tuple[str, ...] = ()
    whole_kl: bool = False

    @property
    def codes(self) -> list[str]:
        """Of the means: the number of the latent, and its name if it has one."""
        return [f"z{j}" if name == f"z{j}" else f"z{j} {name}" for j, name in enumerate(self.latents)]

    @property
    def all(self) -> list[str]:
        """Of a table: image, means, deviations, KL, factors."""
        numbers = range(len(self.latents))
        kl = ["kl_z"] if self.whole_kl else [f"kl_z{j}" for j in numbers]
        return ["image", *self.codes, *(f"std_z{j}" for j in numbers), *kl, *self.factors]


class CodeWriter(ABC):
    """A file of codes that grows block by block and gets its name when it is whole."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path, self.columns = path, columns

    @abstractmethod
    def append(self, block: CodeBlock) -> None:
        """Add some rows."""

    @abstractmethod
    def finish(self) -> None:
        """Complete the temporary file."""


@contextlib.contextmanager
def code_writer(path: Path, columns: Columns) -> Iterator[CodeWriter]:
    r"""A writer for a file of codes, by its ending; after an error nothing is left.

    Example:
        >>> path = Path(tempfile.mkdtemp()) / "codes.csv"
        >>> zeros = np.zeros((1, 1), np.float32)
        >>> with code_writer(path, Columns(("z0",), by_file=True)) as writer:
        ...     writer.append(CodeBlock(["a.png"], zeros + 0.5, zeros + 1, zeros))
        >>> path.read_text()
        'image,z0,std_z0,kl_z0\na.png,0.5,1,0\n'
    """
    check_kind(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=atomic.TEMPORARY, dir=path.parent) as place:
            made = Path(place) / path.name
            kinds: dict[str, Callable[[Path, Columns], CodeWriter]]
            kinds = {".npz": NpzWriter, ".csv": CsvWriter, ".parquet": ParquetWriter}
            writer = kinds[path.suffix.lower()](made, columns)
            yield writer
            writer.finish()
            os.replace(made, path)
    except OSError as error:
        raise atomic.explain(error, path) from error


def check_kind(path: Path) -> None:
    """Refuse a file of another kind, and one that needs a package which is missing, before any work is done.

    Example:
        >>> check_kind(Path("codes.txt"))
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: codes are written as .npz, .csv or .parquet, got codes.txt: change the ending
    """
    if path.suffix.lower() not in KINDS:
        raise UnweaveError(f"codes are written as .npz, .csv or .parquet, got {path.name}: change the ending")
    if path.suffix.lower() == ".parquet":
        try:
            import duckdb  # noqa: F401
        except ImportError:
            raise UnweaveError(
                "Parquet needs DuckDB: pip install 'unweave[parquet]'; or write .csv or .npz"
            ) from None


@final
class CsvWriter(CodeWriter):
    """A line for each image, numbers with the nine digits that a 32-bit number has at most.

    Example:
        >>> CsvWriter(Path(tempfile.mkdtemp()) / "a.csv", Columns(("z0",), by_file=False)).finish()
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        super().__init__(path, columns)
        self.file = path.open("w", newline="", encoding="utf-8")
        self.file.write(",".join(map(_cell, columns.all)) + "\n")

    def append(self, block: CodeBlock) -> None:
        """Add a line for each row."""
        numbers = [block.means, block.scales, block.kl]
        if block.factors is not None:
            numbers.append(block.factors)
        table = np.concatenate(numbers, axis=1, dtype=np.float64)
        line = "%s," + ",".join(["%.9g"] * table.shape[1]) + "\n"
        names = [_cell(str(name)) for name in block.names]
        self.file.writelines(line % (name, *row) for name, row in zip(names, table.tolist(), strict=True))

    def finish(self) -> None:
        """Close the file."""
        self.file.close()


@final
class ParquetWriter(CodeWriter):
    """The table of :class:`CsvWriter` as Parquet, by DuckDB.

    Example:
        >>> ParquetWriter(Path(tempfile.mkdtemp()) / "a.parquet", Columns(("z0",), by_file=False)).finish()
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        super().__init__(path, columns)
        self.table = CsvWriter(path.with_suffix(".csv"), columns)

    def append(self, block: CodeBlock) -> None:
        """Add rows."""
        self.table.append(block)

    def finish(self) -> None:
        """Convert the table."""
        import duckdb

        self.table.finish()
        kinds = dict.fromkeys(self.columns.all, "FLOAT")
        kinds["image"] = "VARCHAR" if self.columns.by_file else "BIGINT"
        kinds |= dict.fromkeys(self.columns.factors, "DOUBLE")
        types = ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in kinds.items())
        try:
            with duckdb.connect() as database:
                database.execute(
                    f"COPY (SELECT * FROM read_csv({_quoted(self.table.path)}, header=true, delim=',', quote='\"', "
                    f"columns={{{types}}})) TO {_quoted(self.path)} (FORMAT parquet)"
                )
        except duckdb.Error as error:
            raise UnweaveError(f"cannot write {self.path.name}: {str(error).splitlines()[0]}") from error


@final
class NpzWriter(CodeWriter):
    """``codes``, ``scales``, ``kl``, ``image``, ``latent_names``, and ``factors`` with ``factor_names``, uncompressed.

    Every array goes to a file of its own first: in a zip archive one must be whole before the next begins.

    Example:
        >>> writer = NpzWriter(Path(tempfile.mkdtemp()) / "a.npz", Columns(("z0",), by_file=False))
        >>> ones = np.ones((2, 1), np.float32)
        >>> writer.append(CodeBlock(np.arange(2), ones, ones, ones))
        >>> writer.finish()
        >>> np.load(writer.path)["codes"].tolist()
        [[1.0], [1.0]]
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        super().__init__(path, columns)
        self.parts: dict[str, IO[bytes]] = {}
        self.like: dict[str, NDArray[Any]] = {}
        self.names: list[str] = []
        self.count = 0

    def append(self, block: CodeBlock) -> None:
        """Add rows to every array."""
        arrays = {"codes": block.means, "scales": block.scales, "kl": block.kl}
        if block.factors is not None:
            arrays["factors"] = block.factors
        if self.columns.by_file:
            self.names += map(str, block.names)  # they are in memory already, in the list of files
        for name, rows in arrays.items():
            if name not in self.parts:
                self.parts[name] = (self.path.parent / f"{name}.part").open("w+b")
                self.like[name] = rows[:0]
            self.parts[name].write(np.ascontiguousarray(rows).data)
        self.count += len(block.means)

    def finish(self) -> None:
        """Put the arrays together."""
        with zipfile.ZipFile(self.path, "w", allowZip64=True) as archive:
            for name, file in self.parts.items():
                file.seek(0)
                with _member(
                    archive, name, (self.count, *self.like[name].shape[1:]), self.like[name].dtype
                ) as out:
                    shutil.copyfileobj(file, out, 1 << 20)
                file.close()
            self._write_names(archive)
            for key, texts in (
                ("latent_names", self.columns.latents),
                ("factor_names", self.columns.factors),
            ):
                if texts:
                    with archive.open(f"{key}.npy", "w") as out:
                        np.lib.format.write_array(out, np.array(texts), allow_pickle=False)

    def _write_names(self, archive: zipfile.ZipFile) -> None:
        width = max(map(len, self.names), default=1) or 1
        kind = np.dtype(f"<U{width}") if self.columns.by_file else np.dtype(np.int64)
        with _member(archive, "image", (self.count,), kind) as out:
            for start in range(0, self.count, 4096):
                stop = min(start + 4096, self.count)
                rows = self.names[start:stop] if self.columns.by_file else range(start, stop)
                out.write(np.array(rows, kind).tobytes())


@contextlib.contextmanager
def _member(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], kind: np.dtype[Any]
) -> Iterator[IO[bytes]]:
    """An array of an npz file, of which the header is written and the content follows."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
        header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(out, header)
        yield out


def _cell(text: str) -> str:
    """A cell of a csv file."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text


def _quoted(text: object) -> str:
    """A string of SQL."""
    return "'" + str(text).replace("'", "''") + "'"
