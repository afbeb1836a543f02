"""What each score is called on a page, and one sentence about what it measures."""

from dataclasses import dataclass

from unweave.metrics.registry import label_of, sentence_of


@dataclass(frozen=True)
class Explanation:
    """The label of a score on the page, one sentence about what it measures, and its unit.

    Example:
        >>> EXPLANATIONS["nll"].label
        'NLL'
    """

    label: str
    sentence: str
    unit: str = ""


EXPLANATIONS = {
    "elbo": Explanation(
        "ELBO",
        "Lower bound on the log-probability of an image: ELBO = -NLL - KL. Higher is better.",
        "nats",
    ),
    "nll": Explanation("NLL", "Reconstruction cost of an image given its code. Lower is better.", "nats"),
    "kl": Explanation("KL", "Divergence of the posterior from the prior, summed over all latents.", "nats"),
    "latents_used": Explanation(
        "latents used", "Mean number of latents whose posterior standard deviation is below 0.5."
    ),
    "mig": Explanation(
        "MIG",
        "Mutual information gap: 1 if each factor is encoded in one latent of its own. It penalises a rotation of "
        "latent space and does not detect folds along its axes.",
    ),
    "factor_vae_score": Explanation(
        "FactorVAE score",
        "How often the fixed factor is identified from the latent that varies least.",
    ),
    "geometry": Explanation(
        "geometry",
        "How close a grid of two factors stays to a rotated, scaled copy of itself in latent space: 1 is a "
        "perfect copy, 0 is no relation. Rotation does not change it.",
    ),
    "dci": Explanation(
        "DCI disentanglement",
        "Whether each latent matters for one factor: the entropy of a latent's importances for predicting the factors, "
        "1 if each is important for one alone. A factor spread over several latents does not lower it.",
    ),
    "dci_completeness": Explanation(
        "DCI completeness",
        "Whether each factor needs one latent: the entropy of a factor's importances over the latents, 1 if one latent "
        "has all of it. Duplicated codes lower it.",
    ),
    "dci_informativeness": Explanation(
        "DCI informativeness",
        "How well boosted trees predict the factors from all latents together, on held-out codes. It does not matter "
        "how the information is arranged.",
    ),
    "dci_explicitness": Explanation(
        "DCI explicitness",
        "How little capacity a predictor of the factors needs: 1 if a linear one is as good as any, 0 if its error "
        "falls evenly with capacity.",
    ),
    "dci_size": Explanation(
        "DCI size", "Factors for each latent: 1 if there are as many latents as factors."
    ),
    "infomec_modularity": Explanation(
        "InfoM",
        "Modularity: the largest share of what a latent tells that is about one factor, rescaled so that 0 is "
        "all factors alike and 1 is one factor alone.",
    ),
    "infomec_compactness": Explanation(
        "InfoC",
        "Compactness: the largest share of what is told about a factor that one latent tells, rescaled so that 0 is "
        "all latents alike and 1 is one latent alone.",
    ),
    "infomec_explicitness": Explanation(
        "InfoE",
        "Explicitness: how much of a factor's uncertainty a logistic regression on all latents removes; 0 is guessing, "
        "1 is certainty. Information in curves and folds is not seen.",
    ),
    "index_code_mi": Explanation(
        "index-code MI",
        "First part of the KL: how much a code tells about which image it came from.",
        "nats",
    ),
    "total_correlation": Explanation(
        "total correlation",
        "Second part of the KL: how much the latents depend on each other over the whole data set; 0 if they are "
        "independent. Independent latents need not be the factors.",
        "nats",
    ),
    "dimension_wise_kl": Explanation(
        "dimension-wise KL",
        "Third part of the KL: how far the distribution of each single latent over the data set is from the prior's.",
        "nats",
    ),
}


def explanation_of(name: str) -> Explanation:
    """The label, the description and the unit of a score.

    Example:
        >>> explanation_of("kl").unit, explanation_of("my_score").label
        ('nats', 'my score')
    """
    if name in EXPLANATIONS:
        return EXPLANATIONS[name]
    return Explanation(label_of(name), sentence_of(name))
