"""Files inside tar and zip archives, with errors that name the archive."""

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from unweave.errors import UnweaveError


def open_tar(path: Path) -> tarfile.TarFile:
    """The tar archive at `path`, compressed or not.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.tar"
        >>> _ = path.write_bytes(b"text")
        >>> open_tar(path)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        unweave.errors.UnweaveError: .../a.tar cannot be read as a tar archive (...)
    """
    try:
        return tarfile.open(path)
    except (OSError, tarfile.TarError) as error:
        raise UnweaveError(f"{path} cannot be read as a tar archive ({error})") from None


def members_of(archive: tarfile.TarFile, path: Path) -> Iterator[tarfile.TarInfo]:
    """The members of the archive that was opened from `path`, in their order.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.tar"
        >>> with tarfile.open(path, "w") as archive:
        ...     archive.addfile(tarfile.TarInfo("inside.txt"))
        >>> [member.name for member in members_of(open_tar(path), path)]
        ['inside.txt']
    """
    try:
        yield from archive
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise UnweaveError(f"{path} is truncated or damaged ({error})") from None


def content_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    """A member of an archive, opened.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.tar"
        >>> with tarfile.open(path, "w") as archive:
        ...     archive.addfile(tarfile.TarInfo("inside.txt"))
        >>> with open_tar(path) as archive:
        ...     content_of(archive, archive.getmember("inside.txt")).read()
        b''
    """
    content = archive.extractfile(member)
    if content is None:
        raise UnweaveError(f"{member.name} in {archive.name!r} is not a file")
    return content


def start_of_stored(path: Path, member: zipfile.ZipInfo) -> int | None:
    """Where the bytes of a member begin in the zip file at `path`, or None if they are compressed.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.zip"
        >>> with zipfile.ZipFile(path, "w") as archive:
        ...     archive.writestr("a", "content")
        >>> start = start_of_stored(path, zipfile.ZipFile(path).getinfo("a"))
        >>> path.read_bytes()[start:][:7]
        b'content'
    """
    if member.compress_type != zipfile.ZIP_STORED:
        return None
    with path.open("rb") as file:
        # The local header repeats name and extra field, with lengths of its own.
        file.seek(member.header_offset + 26)
        name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
        return file.tell() + name + extra
