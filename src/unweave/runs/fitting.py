"""Own images of a size that the networks do not take are resized, and that is told."""

import dataclasses
import logging

import torch

from unweave.errors import UnweaveError
from unweave.networks.shapes import ImageSizeError
from unweave.runs.config import Config
from unweave.runs.opened import open_data

logger = logging.getLogger("unweave")

OWN = ("Folder", "Arrays")
"""Data sets whose images can be resized by their option ``size``."""


def fitted(config: Config) -> Config:
    """The config with the next larger size of a user's own images that its networks take, if they do not take theirs.

    The size is part of the config that comes back, so the same command finds the same run.

    Example:
        >>> import tempfile, numpy as np
        >>> file = tempfile.mkdtemp() + "/own.npz"
        >>> np.savez(file, images=np.zeros((2, 30, 30), np.uint8))
        >>> fitted(Config.read(words=[f"data={file}"])).data.options["size"]
        32
    """
    if config.data.name not in OWN:
        return config
    shape = _shape(config)
    for _ in range(3):  # encoder and decoder may each ask for a multiple of their own
        try:
            with torch.random.fork_rng(devices=[]), torch.device("meta"):
                config.make_model(shape)
        except ImageSizeError as error:
            channels, height, width = shape
            side = error.side
            logger.info(
                "images of %d x %d do not fit these networks: resized to %d x %d (data.size=%d)",
                *(height, width, side, side, side),
            )
            data = dataclasses.replace(config.data, options={**config.data.options, "size": side})
            config = dataclasses.replace(config, data=data)
            shape = (channels, side, side)
            continue
        except (UnweaveError, NotImplementedError, RuntimeError):
            break  # told when the run itself is prepared
        break
    return config


def _shape(config: Config) -> tuple[int, int, int]:
    """Of the images; of a folder the size is known before they are read."""
    options = config.data.options
    size = options.get("size")
    if size is not None:
        return (options.get("channels") or 3, size, size)
    return open_data(config).dataset.image_shape
