"""Figures as files and bytes: the same figure always gives the same bytes."""

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from unweave.errors import UnweaveError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Without these, files would contain the time of writing or the version of matplotlib.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def to_bytes(figure: "Figure", kind: str = "png", *, dpi: float | None = None, text: bool = False) -> bytes:
    """The figure as the content of a png, svg or pdf file, byte for byte the same each time.

    With ``text``, letters of an SVG are text, which a page shows in its own font; otherwise outlines, which look the
    same everywhere.

    Example:
        >>> from matplotlib.figure import Figure
        >>> to_bytes(Figure())[1:4]
        b'PNG'

    """
    if kind not in _METADATA:
        raise UnweaveError(
            f"pictures are written as {', '.join(_METADATA)}, got {kind!r}: change the ending of the file name"
        )
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context(
        {"svg.hashsalt": "unweave", "svg.fonttype": "none" if text else "path", "pdf.fonttype": 42}
    ):
        figure.savefig(buffer, format=kind, dpi=dpi or figure.dpi, metadata=_METADATA[kind])
    return buffer.getvalue()


def content_name(content: str) -> str:
    """A short name for a content, which another content does not have.

    Example:
        >>> content_name("a") == content_name("a") != content_name("b")
        True

    """
    return f"f{hashlib.sha256(content.encode()).hexdigest()[:8]}-"


def save(figure: "Figure", path: str | Path, *, dpi: float | None = None) -> Path:
    """Writes the figure as PNG, SVG or PDF, according to the ending of ``path``; creates the folder if necessary.

    Example:
        >>> import tempfile
        >>> from matplotlib.figure import Figure
        >>> save(Figure(), Path(tempfile.mkdtemp()) / "pictures" / "empty.svg").suffix
        '.svg'

    """
    path = Path(path)
    content = to_bytes(figure, path.suffix.lower().lstrip(".") or "without an ending", dpi=dpi)
    return write_picture(path, content)


def write_picture(path: Path, content: bytes) -> Path:
    """Writes ``content``; an error message of one sentence if that fails.

    Example:
        >>> import tempfile
        >>> write_picture(Path(tempfile.mkdtemp()) / "a.gif", b"GIF89a").read_bytes()
        b'GIF89a'

    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UnweaveError(f"cannot write {path}: {error.strerror or error}; choose another path") from error
    return path
