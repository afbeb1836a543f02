"""ISA figure 5c: MIG against reconstruction over beta, 3D faces, exponents fixed and learned."""

from unweave.recipes.isa.comparison import compare
from unweave.recipes.isa.models import LEARNED, MLPS, face_models, faces, note_protocol
from unweave.recipes.recipe import Conclusion, Job, data_or_stand_in, recipe


@recipe(
    "isa-fig5c",
    title="MIG against reconstruction over beta, 3D faces, exponents fixed and learned",
    claim="On 3D faces the ISA prior with learned exponents has higher MIG than the normal prior at low beta.",
    published="scatter only (figure 5c), 15 runs a point with learned exponents, β = 0.5 to 5",
    runs=faces,
)
def figure_5c(job: Job) -> Conclusion:
    """As figure 5b, with learned exponents."""
    job.note(data_or_stand_in("Faces3D", "Objects3D", channels=1)[1])
    note_protocol(job, MLPS, "width 1,200, 1,500 epochs in batches of 2,048, 15 runs or more")
    return compare(job, face_models(job.scale), LEARNED, "β-VAE", highest_beta=1.0)
