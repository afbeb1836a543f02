"""GANs that learn codes: another way to a generator, with the encode and decode face of a VAE."""

from unweave.gan.infogan import GAN, InfoGAN, InfoWGANGP

GANS: dict[str, type[GAN]] = {"InfoGAN": InfoGAN, "InfoWGANGP": InfoWGANGP}

__all__ = ["GAN", "GANS", "InfoGAN", "InfoWGANGP"]
