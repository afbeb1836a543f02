"""Data sets: a factor space and a source of images, in whole batches."""

from unweave.data.adapting import as_dataset
from unweave.data.arrays import Arrays
from unweave.data.cache import cache_folder
from unweave.data.cars3d import Cars3D
from unweave.data.celeba import CelebA
from unweave.data.chairs3d import Chairs3D
from unweave.data.circles import Circles
from unweave.data.dataset import Batch, Channels, Dataset
from unweave.data.dsprites import DSprites
from unweave.data.faces3d import Faces3D
from unweave.data.files import OriginalFile, data_folder
from unweave.data.folder import Folder
from unweave.data.glyphs import Glyphs
from unweave.data.mnist import MNIST, FashionMNIST
from unweave.data.mpi3d import MPI3D
from unweave.data.objects3d import Objects3D
from unweave.data.pinwheel import Pinwheel
from unweave.data.registry import DATASETS, load
from unweave.data.sampling import SAMPLINGS, Correlated, HeldOut, Uniform
from unweave.data.shapes3d import Shapes3D
from unweave.data.smallnorb import SmallNORB
from unweave.data.space import FactorSpace
from unweave.data.sprites import BusySprites, ColoredSprites
from unweave.data.xysquares import XYSquares

__all__ = [
    "DATASETS",
    "MNIST",
    "MPI3D",
    "SAMPLINGS",
    "Arrays",
    "Batch",
    "BusySprites",
    "Cars3D",
    "CelebA",
    "Chairs3D",
    "Channels",
    "Circles",
    "ColoredSprites",
    "Correlated",
    "DSprites",
    "Dataset",
    "Faces3D",
    "FactorSpace",
    "FashionMNIST",
    "Folder",
    "Glyphs",
    "HeldOut",
    "Objects3D",
    "Pinwheel",
    "OriginalFile",
    "Shapes3D",
    "SmallNORB",
    "Uniform",
    "XYSquares",
    "as_dataset",
    "cache_folder",
    "data_folder",
    "load",
]
