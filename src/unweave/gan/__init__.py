"""GANs that learn codes, with the same interface for encoding and decoding as a VAE."""

from unweave.gan.infogan import GAN, InfoGAN, InfoWGANGP

GANS: dict[str, type[GAN]] = {"InfoGAN": InfoGAN, "InfoWGANGP": InfoWGANGP}

__all__ = ["GAN", "GANS", "InfoGAN", "InfoWGANGP"]
