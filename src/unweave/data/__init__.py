"""Datasets: a factor space and a source of images, in whole batches."""

from unweave.data.arrays import Arrays
from unweave.data.cache import cache_folder
from unweave.data.circles import Circles
from unweave.data.dataset import Batch, Dataset
from unweave.data.dsprites import DSprites
from unweave.data.folder import Folder
from unweave.data.mnist import MNIST, FashionMNIST
from unweave.data.registry import DATASETS, load
from unweave.data.space import FactorSpace
from unweave.data.xysquares import XYSquares

__all__ = [
    "DATASETS",
    "MNIST",
    "Arrays",
    "Batch",
    "Circles",
    "DSprites",
    "Dataset",
    "FactorSpace",
    "FashionMNIST",
    "Folder",
    "XYSquares",
    "cache_folder",
    "load",
]
