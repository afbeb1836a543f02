"""Objectives with a term in the aggregate posterior q(z), estimated from the batch."""

from abc import ABC
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal, final

import torch
from torch import Tensor
from torch.distributions import Distribution

from unweave.errors import UnweaveError, check_at_least
from unweave.functional.aggregate_posterior import (
    Aggregate,
    Estimator,
    aggregate,
    mixture_weights,
)
from unweave.functional.decomposition import (
    pointwise_dimension_wise_kl,
    pointwise_exclusive_kl,
    pointwise_inclusive_kl,
    pointwise_mutual_information,
    pointwise_total_correlation,
)
from unweave.functional.divergence import factorises
from unweave.functional.mmd import SCALES, Kernel, gaussian_kernel, inverse_multiquadratic, mmd, over_scales
from unweave.functional.moments import code_covariance, covariance, covariance_penalties
from unweave.objectives.core import Loss, Objective, Progress, TrainingData, bound, check_non_negative
from unweave.posteriors import example_posteriors
from unweave.slots import Form
from unweave.vae import VAE, as_tensor


class _AggregateObjective(Objective, ABC):
    """An objective with terms of ``q(z)``, by one of the estimators, some of which need the size of the data set."""

    def __init__(self, estimator: Estimator, dataset_size: int | None) -> None:
        super().__init__()
        check_at_least("objective.dataset_size", dataset_size, 1)
        self.estimator, self.dataset_size, self._size = estimator, dataset_size, dataset_size

    def check(self, vae: VAE) -> None:
        """Needs posteriors that factorise."""
        super().check(vae)
        _check_posterior(self.name, vae)

    def prepare(self, data: TrainingData, batch: int) -> None:
        """Read the size of the data set."""
        self._size = data.count if self._size is None else self._size
        self._weights(batch, data.name)

    def _aggregate(self, q: Distribution, z: Tensor, terms: dict[str, Tensor]) -> Aggregate:
        """``q(z)`` of the batch; ``I(x; z)`` and ``TC(z)`` are added to the terms."""
        at = aggregate(q, z, self._weights(len(z), "it"))
        information = pointwise_mutual_information(q, z, at).mean()
        terms |= {
            "total_correlation": pointwise_total_correlation(at).mean(),
            "mutual_information": information,
        }
        return at

    def _weights(self, batch: int, data: str) -> Tensor:
        if self._size is None and self.estimator in ("mws", "mss", "split"):
            raise UnweaveError(
                f"{self.name} with estimator {self.estimator} needs the number of images of the data set, but {data} "
                f"has none: set objective.dataset_size, or objective.estimator=mixture, which needs no such number"
            )
        return mixture_weights(self.estimator, batch, self._size)


@final
class BetaTCVAE(_AggregateObjective):
    """``L = E_q[-log p(x|z)] + alpha * I(x; z) + beta * TC(z) + gamma * sum_j KL(q(z_j) || p(z_j))``.

    Computed as ``E_q[-log p(x|z)] + KL + (alpha - 1) I + (beta - 1) TC + (gamma - 1) sum_j KL_j``, which is the same
    because the three parts sum to the KL; so ``alpha = beta = gamma = 1`` is the VAE without the noise of the
    estimates, and a prior that does not factorise works if ``gamma = 1`` (with ``prior=ISA`` this is ISA-TCVAE). For
    ``KL + gamma' * TC`` as FAC writes it, take ``beta = 1 + gamma'``.

    Args:
        beta: weight of the total correlation.
        alpha: weight of the index-code mutual information.
        gamma: weight of the dimension-wise KL; other than 1 it needs a prior that factorises.
        estimator: of ``q(z)``, see :func:`unweave.functional.mixture_weights`: "mws", "mss" (Chen et al.), "split" (DEC
            Eq. 10), "batch" (FAC appendix D, the one that fails), "mixture".
        dataset_size: ``N`` for mws, mss and split; none: the size of the data set.

    Reference: ISA Eq. 3; FAC Eq. 2 and appendix D; Chen et al. 2018.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = BetaTCVAE(beta=6.0, dataset_size=100)(vae, torch.rand(8, 1, 32, 32), Progress(0, 1))
        >>> terms = loss.terms
        >>> bool(torch.isclose(loss.total, loss.reconstruction + terms["kl"] + 5 * terms["total_correlation"]))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "E_q[-log p(x|z)] + alpha I(x; z) + beta TC(z) + gamma Σ_j KL(q(z_j) ‖ p(z_j))",
            "ISA Eq. 3; Chen et al. 2018 (weighted sampling)",
            "objective=BetaTCVAE objective.beta=6 objective.estimator=mws",
        ),
        Form(
            "the same",
            "ISA Eq. 3; Chen et al. 2018 (stratified sampling)",
            "objective=BetaTCVAE objective.beta=6 objective.estimator=mss",
        ),
        Form(
            "E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z)) + (beta - 1) KL(q(z) ‖ Π_j q(z_j))",
            "FAC appendix D, Eq. 5-6 (batch estimate)",
            "objective=BetaTCVAE objective.beta=36 objective.estimator=batch",
        ),
        Form(
            "E_q[-log p(x|z)] + [log q(z|x) - log p_ISA(z)] + (beta - 1) TC(z)",
            "ISA section 3.2, Eq. 12",
            "objective=BetaTCVAE objective.beta=3 prior=ISA",
        ),
    )

    def __init__(
        self,
        *,
        beta: float = 6.0,
        alpha: float = 1.0,
        gamma: float = 1.0,
        estimator: Estimator = "mws",
        dataset_size: int | None = None,
    ) -> None:
        super().__init__(estimator, dataset_size)
        check_non_negative(beta=beta, alpha=alpha, gamma=gamma)
        self.beta, self.alpha, self.gamma = beta, alpha, gamma

    def check(self, vae: VAE) -> None:
        """Needs posteriors that factorise and, for a dimension-wise KL, such a prior."""
        super().check(vae)
        if self.gamma != 1 and not factorises(vae.prior()):
            raise UnweaveError(
                f"BetaTCVAE with gamma = {self.gamma:g} weighs the KL of each dimension to the prior, but "
                f"{type(vae.prior).__name__} does not factorise over the latents: set objective.gamma=1, or choose "
                f"a prior that factorises (such as prior=StandardNormal)"
            )

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The bound plus the excess weights times the parts of its KL."""
        q, z, prior, reconstruction, kl, terms = bound(vae, images)
        at = self._aggregate(q, z, terms)
        total = reconstruction + progress.hold(kl) + (self.alpha - 1) * terms["mutual_information"]
        total = total + (self.beta - 1) * terms["total_correlation"]
        if factorises(prior):
            terms["dimension_wise_kl"] = pointwise_dimension_wise_kl(prior, z, at).mean()
            total = total + (self.gamma - 1) * terms["dimension_wise_kl"]
        return Loss(total, reconstruction, terms)


@final
class InformationDropout(_AggregateObjective):
    """``L = E_q[-log p(x|z)] + beta * KL(q(z|x) || q(z)) + gamma * TC(z)``.

    The KL to the prior is replaced by the KL to the aggregate posterior, the mutual information of image and code.
    ``gamma = 0`` is the objective of Information Dropout, ``gamma > 0`` the one its authors dismiss as intractable.

    Args:
        beta: weight of the mutual information.
        gamma: weight of the total correlation.
        estimator: of ``q(z)``, see :func:`unweave.functional.mixture_weights`.
        dataset_size: ``N`` for mws, mss and split; none: the size of the data set.

    Reference: FAC Eq. 8, 9.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> objective = InformationDropout(beta=2.0, estimator="mixture")
        >>> loss = objective(vae, torch.rand(8, 1, 32, 32), Progress(0, 1))
        >>> bool(torch.isclose(loss.total, loss.reconstruction + 2 * loss.terms["mutual_information"]))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "E_q[-log p(x|z)] + beta KL(q(z|x) ‖ q(z))",
            "FAC Eq. 8",
            "objective=InformationDropout objective.beta=4",
        ),
        Form(
            "E_q[-log p(x|z)] + beta KL(q(z|x) ‖ q(z)) + gamma KL(q(z) ‖ Π_j q(z_j))",
            "FAC Eq. 9",
            "objective=InformationDropout objective.beta=1 objective.gamma=35",
        ),
    )
    held: ClassVar[str | None] = "mutual_information"
    needs_prior: ClassVar[bool] = False

    def __init__(
        self,
        *,
        beta: float = 1.0,
        gamma: float = 0.0,
        estimator: Estimator = "mss",
        dataset_size: int | None = None,
    ) -> None:
        super().__init__(estimator, dataset_size)
        check_non_negative(beta=beta, gamma=gamma)
        self.beta, self.gamma = beta, gamma

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """Reconstruction plus the weighted mutual information and total correlation."""
        q, z, _, reconstruction, _, terms = bound(vae, images)
        self._aggregate(q, z, terms)
        rate = self.beta * progress.hold(terms["mutual_information"])
        return Loss(reconstruction + rate + self.gamma * terms["total_correlation"], reconstruction, terms)


@final
class DIPVAE(Objective):
    """``L = E_q[-log p(x|z)] + KL + lambda_od * sum_{i != j} C_ij^2 + lambda_d * sum_i (C_ii - 1)^2``.

    ``C`` is the covariance over the batch of the posterior means (kind "i"), or of the code ``z`` (kind "ii"): the
    covariance of the means plus the diagonal matrix of the mean variances.

    Args:
        kind: "i" or "ii".
        lambda_od: weight of the covariances.
        lambda_d: weight of the variances' distance from 1.

    Reference: FAC Eq. 10 (I), 11 (II).

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = DIPVAE(lambda_od=2.0, lambda_d=3.0)(vae, torch.rand(8, 1, 32, 32), Progress(0, 1))
        >>> terms = loss.terms
        >>> penalty = 2 * terms["covariance_off_diagonal"] + 3 * terms["covariance_diagonal"]
        >>> bool(torch.isclose(loss.total, loss.reconstruction + terms["kl"] + penalty))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = tuple(
        Form(
            f"E_q[-log p(x|z)] + KL(q(z|x) ‖ p(z)) + lambda_od Σ_(i≠j) {c}_ij² + lambda_d Σ_i ({c}_ii - 1)²",
            f"FAC Eq. {number}",
            f"objective=DIPVAE objective.kind={kind} objective.lambda_od=10 objective.lambda_d={diagonal}",
        )
        for kind, c, number, diagonal in (("i", "Cov[mu(x)]", 10, 100), ("ii", "Cov[z]", 11, 10))
    )

    def __init__(
        self, *, kind: Literal["i", "ii"] = "i", lambda_od: float = 10.0, lambda_d: float = 100.0
    ) -> None:
        super().__init__()
        check_non_negative(lambda_od=lambda_od, lambda_d=lambda_d)
        self.kind, self.lambda_od, self.lambda_d = kind, lambda_od, lambda_d

    def check(self, vae: VAE) -> None:
        """Kind "ii" needs posteriors without covariances of their own."""
        super().check(vae)
        if self.kind == "ii":
            _check_posterior(f"{self.name} ii", vae)

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The bound plus the weighted distance of the covariance from the identity."""
        q, _, _, reconstruction, kl, terms = bound(vae, images)
        off, diagonal = covariance_penalties(covariance(q.mean) if self.kind == "i" else code_covariance(q))
        terms |= {"covariance_off_diagonal": off, "covariance_diagonal": diagonal}
        total = reconstruction + progress.hold(kl) + self.lambda_od * off + self.lambda_d * diagonal
        return Loss(total, reconstruction, terms)


@final
class DecompositionVAE(Objective):
    """``L = E_q[-log p(x|z)] + beta * KL(q(z|x) || p(z)) + alpha * D(q(z), p(z))``.

    ``D`` is the inclusive KL, ``KL(p(z) || q(z))``, with ``q(z)`` the mixture, with equal weights, of the posteriors of
    the batch or of all data, and as many samples of ``p(z)`` as there are images in the batch; the exclusive KL,
    ``KL(q(z) || p(z)) = -H[q(z)] - E_q(z)[log p(z)]``; or the unbiased MMD between the codes of the batch and as many
    samples of ``p(z)``.

    The exclusive KL takes ``log q(z_b)`` at the batch's own codes, by DEC Eq. 10b if ``q(z)`` is that of the batch, and
    exactly if it is that of all data. By Eq. 10b, in batches much smaller than the data set, it behaves as more weight
    on ``KL(q(z|x) || p(z))`` and may be negative: DEC appendix C, ``unweave theory entropy``.

    The kernels of the MMD are summed over the widths ``C = 2 * latents * scale``: twice the latents is the expected
    squared distance of two samples of a standard normal prior. The Gaussian kernel is ``exp(-||x - y||^2 / C)``.

    Args:
        alpha: weight of the divergence.
        beta: weight of the KL.
        divergence: "inclusive_kl", "exclusive_kl" or "mmd".
        aggregate: the images in ``q(z)`` of a KL: those of the "batch", or all "data" (only for small data sets,
            because each step then encodes all of them).
        kernel: that of the MMD, "imq" (inverse multiquadratic) or "gaussian".
        norm: in the inverse multiquadratic kernel, "squared" as in its reference, or "plain" as DEC prints it.
        scales: widths of the kernel, in units of ``2 * latents``.
        dataset_size: ``n`` of Eq. 10b for the exclusive KL of the batch; none: the size of the data set.

    Reference: DEC Eq. 7, section 6.3, appendices B and C, Eq. 10.

    Example:
        >>> import torch
        >>> vae = VAE.assemble((1, 32, 32), 4)
        >>> loss = DecompositionVAE(alpha=5.0, divergence="mmd")(vae, torch.rand(8, 1, 32, 32), Progress(0, 1))
        >>> bool(torch.isclose(loss.total, loss.reconstruction + loss.terms["kl"] + 5 * loss.terms["mmd"]))
        True
    """

    forms: ClassVar[tuple[Form, ...]] = (
        Form(
            "E_q[-log p(x|z)] + beta KL(q(z|x) ‖ p(z)) + alpha KL(p(z) ‖ q(z))",
            "DEC Eq. 7 and appendix B",
            "objective=DecompositionVAE objective.alpha=1 objective.divergence=inclusive_kl",
        ),
        Form(
            "E_q[-log p(x|z)] + beta KL(q(z|x) ‖ p(z)) + alpha MMD²(q(z), p(z))",
            "DEC Eq. 7 and section 6.3",
            "objective=DecompositionVAE objective.alpha=1000 objective.divergence=mmd",
        ),
        Form(
            "E_q[-log p(x|z)] + beta KL(q(z|x) ‖ p(z)) + alpha KL(q(z) ‖ p(z))",
            "DEC Eq. 7 and appendix C, Eq. 10",
            "objective=DecompositionVAE objective.alpha=1 objective.divergence=exclusive_kl",
        ),
    )

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        divergence: Literal["inclusive_kl", "exclusive_kl", "mmd"] = "inclusive_kl",
        aggregate: Literal["batch", "data"] = "batch",
        kernel: Literal["imq", "gaussian"] = "imq",
        norm: Literal["squared", "plain"] = "squared",
        scales: tuple[float, ...] = SCALES,
        dataset_size: int | None = None,
    ) -> None:
        super().__init__()
        check_non_negative(alpha=alpha, beta=beta)
        check_at_least("objective.dataset_size", dataset_size, 1)
        if not scales or min(scales) <= 0:
            raise UnweaveError(f"objective.scales must be numbers greater than 0, got {list(scales)}")
        self.alpha, self.beta, self.divergence, self.aggregate = alpha, beta, divergence, aggregate
        self.kernel, self.norm, self.scales = kernel, norm, scales
        self.data: Tensor | None = None
        self.dataset_size = dataset_size

    def check(self, vae: VAE) -> None:
        """A KL of ``q(z)`` needs posteriors that factorise; samples of a learned prior must be differentiable."""
        super().check(vae)
        if self.divergence != "mmd":
            _check_posterior(self.name, vae)
        learned = any(p.requires_grad for p in vae.prior.parameters())
        if self.divergence != "exclusive_kl" and learned and not vae.prior().has_rsample:
            raise UnweaveError(
                f"{self.name} trains a prior through samples of it, but those of {type(vae.prior).__name__} have no "
                f"rsample, so that its parameters would get a wrong gradient: choose a prior without learned "
                f"parameters (such as prior=StandardNormal), or objective=BetaVAE, which draws no samples of it"
            )

    def prepare(self, data: TrainingData, batch: int) -> None:
        """With ``aggregate="data"``, load all images; for Eq. 10b, read their number; both check the batch."""
        if self.divergence == "mmd" and batch < 2:
            raise UnweaveError(f"objective.divergence=mmd needs a batch_size of at least 2, got {batch}")
        if self.divergence == "exclusive_kl" and self.aggregate == "batch":
            if self.dataset_size is None and data.count is None:
                raise UnweaveError(
                    f"objective.divergence=exclusive_kl needs the number of images of the data set, but {data.name} "
                    f"has none: set objective.dataset_size"
                )
            self.dataset_size = self.dataset_size or data.count
            mixture_weights("split", batch, self.dataset_size)
        if self.divergence == "mmd" or self.aggregate != "data":
            return
        if data.count is None or data.count > _MOST_IMAGES:
            raise UnweaveError(
                f"objective.aggregate=data encodes all images at each step, so it takes at most {_MOST_IMAGES:,}, "
                f"but {data.name} has {data.count or 'no fixed number of them'}: set objective.aggregate=batch"
            )
        self.data = as_tensor(data.at(torch.arange(data.count).numpy()))

    def forward(self, vae: VAE, images: Tensor, progress: Progress) -> Loss:
        """The bound plus ``alpha`` times the divergence of ``q(z)`` and the prior."""
        q, z, prior, reconstruction, kl, terms = bound(vae, images)
        posteriors = q if self.data is None else vae.encode(self.data.to(images.device))
        if self.divergence == "exclusive_kl":
            own = None if self.data is not None else mixture_weights("split", len(z), self.dataset_size)
            divergence = pointwise_exclusive_kl(prior, posteriors, z, own).mean()
        else:
            draw: Callable[..., Tensor] = prior.rsample if prior.has_rsample else prior.sample
            samples = draw((len(z),))
            if self.divergence == "mmd":
                divergence = mmd(z, samples, self._kernel(z.shape[1]))
            else:
                divergence = pointwise_inclusive_kl(prior, posteriors, samples).mean()
        terms[self.divergence] = divergence
        return Loss(
            reconstruction + self.beta * progress.hold(kl) + self.alpha * divergence, reconstruction, terms
        )

    def _kernel(self, latents: int) -> Kernel:
        kernel: Callable[..., Tensor] = (
            gaussian_kernel if self.kernel == "gaussian" else partial(inverse_multiquadratic, norm=self.norm)
        )
        return over_scales(kernel, [2 * latents * scale for scale in self.scales])


_MOST_IMAGES = 10_000


def _check_posterior(name: str, vae: VAE) -> None:
    if not factorises(example_posteriors(vae.posterior, vae.device)):
        raise UnweaveError(
            f"{name} needs posteriors that factorise over the latents, but {type(vae.posterior).__name__} does not: "
            f"choose posterior=DiagonalNormal"
        )
