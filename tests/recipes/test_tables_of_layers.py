"""Tables of layers: what is built equals what the papers print, layer by layer."""

import pytest
import torch
from torch import nn

from unweave.networks import Deconv
from unweave.recipes.architecture import Column, layers_of
from unweave.recipes.dec import table_1 as dec
from unweave.recipes.fac import tables as fac
from unweave.recipes.isa.models import sprites
from unweave.recipes.isa.settings import layer_columns
from unweave.recipes.rec import tables_a3_and_a4 as rec
from unweave.recipes.sbd import tables_1_to_4 as sbd
from unweave.vae import VAE

TABLES = {
    **{f"fac-table{n}": getattr(fac, f"table_{n}") for n in range(1, 7)},
    "sbd-table1": sbd.table_1,
    "sbd-table2": sbd.table_2,
    "rec-tablea3": rec.table_a3,
    "dec-table1": dec.table_1,
    "isa-a4": lambda: layer_columns(sprites("paper")),
}


@pytest.mark.parametrize("name", TABLES)
def test_built_layers_are_the_published_ones(name: str) -> None:
    for column in TABLES[name]():
        for place, (theirs, ours) in enumerate(zip(column.published, column.built(), strict=True)):
            assert theirs == ours or place in column.readings, (name, column.name, place)


def test_readings_are_the_only_differences() -> None:
    """Where FAC prints no ReLU between linear layers, and an input of 136 for 135 codes; both are options, too."""
    read = [
        (name, column.name, row[2], row[3])
        for name, columns in TABLES.items()
        for column in columns()
        for row in column.rows()
        if row[4]
    ]
    assert read == [
        *((f"fac-table{n}", "encoder", "", "relu") for n in (1, 2, 3)),
        ("fac-table6", "generator's input", "inputs 136", "inputs 135"),
    ]


def test_the_printed_readings_of_fac_are_options() -> None:
    for table in (fac.table_1, fac.table_2, fac.table_3):
        printed = next(column for column in table() if column.name == "encoder.hidden_activation=none")
        assert printed.built()[-2:] == [printed.published[-2], "linear 20"]
        assert printed.differences() == [] and not printed.readings
    generator = fac.table_6()[-1]
    assert generator.built() == ["inputs 136"] and not generator.readings


def test_two_linear_layers_of_rec_are_one_with_twice_the_outputs() -> None:
    """REC table A3: "2x Linear": mean and log-variance each from a layer of their own, here from halves of one."""
    torch.manual_seed(0)
    vae = VAE.assemble((3, 64, 64), 9)
    last = vae.encoder.linear[-1]
    assert isinstance(last, nn.Linear)
    two = nn.Linear(256, 9), nn.Linear(256, 9)
    for layer, half in zip(two, (slice(0, 9), slice(9, 18)), strict=True):
        layer.load_state_dict({"weight": last.weight[half], "bias": last.bias[half]})
    images = torch.rand(4, 3, 64, 64)
    hidden = vae.encoder.linear[:-1](vae.encoder.convolutions(images).flatten(1))
    mean, log_variance = (layer(hidden) for layer in two)
    q = vae.encode(images)
    torch.testing.assert_close(q.mean, mean)
    torch.testing.assert_close(q.variance, log_variance.exp())
    assert sum(p.numel() for layer in two for p in layer.parameters()) == sum(
        p.numel() for p in last.parameters()
    )


def test_another_layer_is_found() -> None:
    narrower = Deconv(10, (1, 64, 64), channels=(64, 64, 32, 16), hidden=(128,))
    column = Column("decoder", fac._decoder(128, 1), lambda: layers_of(narrower, inputs=torch.zeros(2, 10)))
    assert column.differences() == [8]  # the last up-convolution but one has 16 channels instead of 32


def test_functions_and_modules_are_recorded_in_the_order_of_their_use() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last, self.first, self.norm = nn.Linear(4, 2), nn.Linear(3, 4), nn.BatchNorm1d(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made: torch.Tensor = self.last(nn.functional.leaky_relu(self.norm(self.first(x)), 0.2)).sigmoid()
            return made

    expected = ["linear 4", "batch norm", "leaky relu", "linear 2", "sigmoid"]
    assert layers_of(Net(), inputs=torch.zeros(2, 3)) == expected


def test_another_slope_is_found() -> None:
    for slope, places in ((0.2, []), (0.1, [1]), (0.01, [1])):
        network = nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(slope))
        built = layers_of(network, inputs=torch.zeros(1, 3), slopes=True)
        column = Column("critic", ["linear 4", "leaky relu 0.2"], lambda built=built: built)  # type: ignore[misc]
        assert column.differences() == places, slope


@pytest.mark.parametrize("name", ["sbd-table3", "sbd-table4", "rec-tablea4", "isa-table1", "isa-table2"])
def test_tables_of_settings_have_no_other_cell(name: str) -> None:
    from unweave.recipes.catalogue import RECIPES
    from unweave.recipes.recipe import Job

    recipe = RECIPES[name]
    assert [finding.value for finding in recipe.conclude(Job(recipe, "paper")).findings] == [0]


def test_the_broadcast_decoder_has_fewer_parameters_and_larger_maps() -> None:
    """SBD appendix A.1; 81,027 and 268,291 parameters by hand."""
    fewer, memory = sbd.fewer_parameters()
    assert fewer.value == 268_291 - 81_027
    assert memory.value > 1.5
