"""Arrays in files: read if small, mapped if they lie there as they are, converted once if they do not."""

import math
import tokenize
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, final

import numpy as np
from numpy.typing import NDArray

from unweave import memory
from unweave.atomic import ARCHIVE_DAMAGE
from unweave.data.archives import start_of_stored
from unweave.data.cache import Progress, converted, source_key
from unweave.errors import UnweaveError

IN_MEMORY = 1 << 27
"""Arrays of at most this many bytes are read into memory; larger ones are mapped."""

LARGEST_RATIO = 1032
"""Bytes that one byte of the compression of zip files can stand for at most."""

_BLOCK = 1 << 25
_HEADER_DAMAGE: tuple[type[Exception], ...] = (*ARCHIVE_DAMAGE, SyntaxError, tokenize.TokenError)
"""What numpy raises for a damaged header: it is a Python literal."""


def blocks(rows: int, row_bytes: int, multiple: int = 1) -> Iterator[slice]:
    """Slices that cover `rows` rows in pieces of about 32 MB, a multiple of `multiple` rows each.

    Example:
        >>> list(blocks(5, 1 << 24))
        [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, _BLOCK // max(row_bytes, 1))
    step = max(multiple, step // multiple * multiple)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


@final
class Npz:
    """The arrays of an npz file, one at a time; what is pickled in it is never touched.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.npz"
        >>> np.savez(path, ones=np.ones(3), words=np.array([{}], dtype=object))
        >>> file = Npz(path)
        >>> file.keys, file.read("ones").tolist()
        (('ones', 'words'), [1.0, 1.0, 1.0])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except ARCHIVE_DAMAGE as error:
            problem = "not an npz file" if "not a zip" in str(error) else str(error)
            raise UnweaveError(f"cannot read {path} as an npz file ({problem})") from None
        self.keys = tuple(name.removesuffix(".npy") for name in names if name.endswith(".npy"))

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape of an array, from its header."""
        return self._header(key)[0]

    def _check_size(self, key: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
        """The bytes of an array; an error if the file cannot hold them, whatever its header says."""
        size = math.prod(shape) * dtype.itemsize
        with zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(f"{key}.npy")
        if info.compress_type == zipfile.ZIP_STORED:
            return size  # what is missing at the end shows when it is read
        most = min(info.file_size, LARGEST_RATIO * info.compress_size)
        if size > most:
            raise self._unreadable(f"{key} claims {size:,} bytes, the file holds {most:,} at most")
        return size

    def read(self, key: str) -> NDArray[Any]:
        """The array, in memory."""
        shape, dtype, fortran = self._header(key)
        size = self._check_size(key, shape, dtype)
        memory.check(
            size, f"{key} in {self.path}", "store it uncompressed (numpy.savez), or take fewer images"
        )
        try:
            with self._open(key) as member:
                array = np.frombuffer(member.read(math.prod(shape) * dtype.itemsize), dtype)
                member.read(1)  # at the end the checksum is compared
        except ARCHIVE_DAMAGE as error:
            raise self._unreadable(error) from None
        if array.size != math.prod(shape):
            raise self._unreadable(f"{key} ends after {array.size:,} of {math.prod(shape):,} values")
        return array.reshape(shape, order="F" if fortran else "C")

    def array(self, key: str, name: str) -> NDArray[Any]:
        """The array: in memory if it is small, mapped if it lies in the file as it is, else converted once.

        Args:
            key: of the array.
            name: of the data, for the cache file.
        """
        shape, dtype, fortran = self._header(key)
        size = self._check_size(key, shape, dtype)
        if size <= IN_MEMORY or fortran or not shape:
            return self.read(key)
        start = self._start(key)
        if start is not None:
            if start + size > self.path.stat().st_size:
                raise self._unreadable(f"{key} is truncated")
            return np.memmap(self.path, dtype, mode="r", offset=start, shape=shape).view(np.ndarray)

        def fill(out: NDArray[Any], tell: Progress) -> None:
            row = size // shape[0]
            try:
                with self._open(key) as member:
                    for part in blocks(shape[0], row):
                        block = np.frombuffer(member.read(row * (part.stop - part.start)), dtype)
                        out[part] = block.reshape(-1, *shape[1:])
                        tell(part.stop)
                    member.read(1)
            except OSError:
                raise  # the disk of the converted copy
            except ARCHIVE_DAMAGE as error:
                raise self._unreadable(error) from None

        return converted(name, source_key(self.path, key), shape, fill, dtype.type)

    def rows(self, key: str, step: int) -> Iterator[NDArray[Any]]:
        """The array in blocks of `step` rows, from the first on; no more than one is in memory, compressed or not.

        Example:
            >>> import tempfile
            >>> path = Path(tempfile.mkdtemp()) / "a.npz"
            >>> np.savez_compressed(path, a=np.arange(5))
            >>> [block.tolist() for block in Npz(path).rows("a", 2)]
            [[0, 1], [2, 3], [4]]
        """
        shape, dtype, fortran = self._header(key)
        if fortran or not shape:  # its rows are not one after the other
            array = self.read(key)
            yield from (array[start : start + step] for start in range(0, len(np.atleast_1d(array)), step))
            return
        row = math.prod(shape[1:]) * dtype.itemsize
        try:
            with self._open(key) as member:
                for start in range(0, shape[0], step):
                    n = min(step, shape[0] - start)
                    content = member.read(n * row)
                    if len(content) < n * row:
                        raise EOFError(
                            f"{key} ends after {start + len(content) // max(row, 1):,} of {shape[0]:,} rows"
                        )
                    yield np.frombuffer(bytearray(content), dtype).reshape(n, *shape[1:])  # may be written to
                member.read(1)  # at the end the checksum is compared
        except ARCHIVE_DAMAGE as error:
            raise self._unreadable(error) from None

    def _header(self, key: str) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
        try:
            with self._open(key, header=False) as member:
                return _npy_header(member)
        except UnweaveError as error:
            raise UnweaveError(f"{key} in {self.path}: {error}") from None
        except _HEADER_DAMAGE as error:
            raise self._unreadable(error) from None

    def _open(self, key: str, header: bool = True) -> IO[bytes]:
        archive = zipfile.ZipFile(self.path)
        member = archive.open(f"{key}.npy")
        if header:
            _npy_header(member)
        return member

    def _start(self, key: str) -> int | None:
        """Where the array's bytes begin in the file, or None if they are compressed."""
        with zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(f"{key}.npy")
        start = start_of_stored(self.path, info)
        if start is None:
            return None
        with self.path.open("rb") as file:
            file.seek(start)
            _npy_header(file)
            return file.tell()

    def _unreadable(self, problem: object) -> UnweaveError:
        return UnweaveError(f"cannot read {self.path} as an npz file ({problem})")


def _npy_header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise UnweaveError("it holds Python objects: save plain arrays")
    return shape, dtype, fortran


@final
class Hdf5:
    """The arrays of an HDF5 file, one at a time.

    Example:
        >>> import h5py, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.h5"
        >>> with h5py.File(path, "w") as file:
        ...     file["latents/values"] = np.arange(3)
        >>> Hdf5(path).read("latents/values").tolist()
        [0, 1, 2]
    """

    def __init__(self, path: Path) -> None:
        try:
            import h5py
        except ImportError:
            raise UnweaveError(f"reading {path} needs h5py: install unweave[files]") from None
        self.path = path
        self._h5py = h5py
        found: list[str] = []

        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found.append(name)

        with self._opened() as file:
            file.visititems(note)
        self.keys = tuple(found)

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape of an array."""
        with self._opened() as file:
            return tuple(self._dataset(file, key).shape)

    def read(self, key: str) -> NDArray[Any]:
        """The array, in memory; text becomes strings."""
        with self._opened() as file:
            dataset = self._dataset(file, key)
            try:
                if self._h5py.check_string_dtype(dataset.dtype):
                    return np.asarray(dataset.asstr()[()], dtype=str)
                self._check_plain(dataset, key)
                return np.asarray(dataset[()])
            except OSError as error:
                raise self._unreadable(error) from None

    def array(self, key: str, name: str) -> NDArray[Any]:
        """The array: in memory if it is small, mapped if it lies in the file as it is, else converted once."""
        with self._opened() as file:
            dataset = self._dataset(file, key)
            self._check_plain(dataset, key)
            shape, dtype = tuple(dataset.shape), dataset.dtype
            size = math.prod(shape) * dtype.itemsize
            chunks, start = dataset.chunks, dataset.id.get_offset()
        if size <= IN_MEMORY:
            return self.read(key)
        if chunks is None and start is not None:
            if start + size > self.path.stat().st_size:
                raise self._unreadable(f"{key} is truncated")
            return np.memmap(self.path, dtype, mode="r", offset=start, shape=shape).view(np.ndarray)

        def fill(out: NDArray[Any], tell: Progress) -> None:
            with self._opened() as opened:
                rows = self._dataset(opened, key)
                try:
                    for part in blocks(shape[0], size // shape[0], chunks[0] if chunks else 1):
                        out[part] = rows[part]
                        tell(part.stop)
                except OSError as error:
                    raise self._unreadable(error) from None

        return converted(name, source_key(self.path, key), shape, fill, dtype.type)

    def _opened(self) -> Any:
        try:
            return self._h5py.File(self.path, "r")
        except OSError as error:
            raise self._unreadable(error) from None

    def _dataset(self, file: Any, key: str) -> Any:
        if key not in file:
            raise UnweaveError(
                f"{self.path} has no array {key!r} (it has: {', '.join(self.keys) or 'nothing'})"
            )
        return file[key]

    def _check_plain(self, dataset: Any, key: str) -> None:
        if dataset.dtype.kind not in "biuf":
            raise UnweaveError(f"{key} in {self.path} holds {dataset.dtype}, not plain numbers")

    def _unreadable(self, problem: object) -> UnweaveError:
        return UnweaveError(
            f"cannot read {self.path} as an HDF5 file ({' '.join(str(problem).split())[:160]})"
        )
