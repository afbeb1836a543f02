"""3D Chairs, read from the original renders."""

from typing import Any, Literal, final

from numpy.typing import NDArray

from unweave.data.archives import content_of, members_of, open_tar
from unweave.data.cache import Progress, converted, source_key
from unweave.data.files import OriginalFile
from unweave.data.image_files import load_files
from unweave.data.indexed import IndexedDataset
from unweave.data.pictures import check_size, decoded_picture
from unweave.errors import UnweaveError


@final
class Chairs3D(IndexedDataset):
    """3D Chairs: 86,366 renders of 1,393 chairs, 64 x 64, without factors.

    Read from rendered_chairs.tar or its unpacked folder (rendered_chairs/<model>/renders/*.png), in the order of the
    paths; the central 400 x 400 pixels, resized with an antialiasing bilinear filter, converted once.

    Reference: Aubry et al. 2014, Seeing 3D chairs; used in FAC section 6.

    Args:
        size: height and width in pixels.
        channels: 3 (RGB, as in FAC) or 1 (grey).
        crop: side of the central square that is cut out first.

    Example:
        >>> Chairs3D.stand_in
        'data=Objects3D'
    """

    description = "86,366 renders of chairs, no factors (file)"
    originals = (
        OriginalFile(
            "rendered_chairs.tar",
            "chairs",
            "Aubry et al., seeing 3D chairs",
            also=("3dchairs/rendered_chairs.tar", "chairs/rendered_chairs", "rendered_chairs"),
        ),
    )
    stand_in = "data=Objects3D"

    def __init__(self, *, size: int = 64, channels: Literal[1, 3] = 3, crop: int = 400) -> None:
        check_size(size, self.name)
        if channels not in (1, 3):
            raise UnweaveError(f"channels of Chairs3D must be 1 (grey) or 3 (RGB), got {channels!r}")
        path = self.originals[0].require(self.name, self.stand_in)
        if path.is_dir():
            files = tuple(sorted(path.glob("*/*/*.png")))
            if not files:
                raise UnweaveError(f"{path} holds no <model>/renders/*.png")
            self._store(load_files(self.name, files, size, channels, crop))
            return
        with open_tar(path) as archive:
            names = sorted(
                m.name for m in members_of(archive, path) if m.isfile() and m.name.endswith(".png")
            )
        if not names:
            raise UnweaveError(f"{path} holds no png")
        place = {name: i for i, name in enumerate(names)}

        def fill(out: NDArray[Any], tell: Progress) -> None:
            with open_tar(path) as opened:
                for done, member in enumerate((m for m in members_of(opened, path) if m.name in place), 1):
                    out[place[member.name]] = decoded_picture(
                        content_of(opened, member).read(), member.name, size, channels, crop
                    )
                    tell(done)

        shape = (len(names), size, size, channels)
        self._store(converted(self.name, source_key(path, *shape, crop), shape, fill))
