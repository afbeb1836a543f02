import pytest
import torch
import torch.nn.functional as F

from unweave.functional.blur import blur, blur_profile


def direct(images: torch.Tensor, profile: torch.Tensor) -> torch.Tensor:
    channels, radius = images.shape[1], len(profile) // 2
    kernel = torch.outer(profile, profile).to(images).expand(channels, 1, -1, -1)
    return F.conv2d(images, kernel, padding=radius, groups=channels)


@pytest.mark.parametrize("kind", ["box", "gaussian"])
@pytest.mark.parametrize(
    ("radius", "shape"), [(31, (2, 3, 64, 64)), (2, (2, 1, 9, 14)), (0, (1, 1, 4, 4)), (31, (1, 3, 28, 20))]
)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_the_blur_is_the_direct_convolution(
    kind: str, radius: int, shape: tuple[int, ...], layout: torch.memory_format
) -> None:
    torch.manual_seed(0)
    images = torch.rand(*shape).to(memory_format=layout)
    profile = blur_profile(kind, radius)  # type: ignore[arg-type]
    torch.testing.assert_close(blur(images, profile), direct(images, profile), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["box", "gaussian"])
def test_a_delta_keeps_its_sum_where_its_window_fits_and_loses_what_leaves(kind: str) -> None:
    profile = blur_profile(kind, 31)  # type: ignore[arg-type]
    image = torch.zeros(1, 1, 64, 64)
    image[0, 0, 31, 32] = 1.0
    assert blur(image, profile).sum().item() == pytest.approx(1.0, abs=1e-5)
    corner = torch.zeros(1, 1, 64, 64)
    corner[0, 0, 0, 0] = 1.0
    inside = profile[31:].sum().item()  # of each axis, only the half on this side of the edge
    assert blur(corner, profile).sum().item() == pytest.approx(inside**2, abs=1e-5)


def test_the_box_spreads_a_delta_evenly() -> None:
    image = torch.zeros(1, 1, 64, 64)
    image[0, 0, 31, 31] = 1.0
    blurred = blur(image, blur_profile("box", 31))
    torch.testing.assert_close(blurred[0, 0, :63, :63], torch.full((63, 63), 1 / 63**2))
    assert blurred[0, 0, 63].abs().max() == 0


def test_the_blur_is_differentiable() -> None:
    torch.manual_seed(0)
    images = torch.rand(1, 2, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: blur(x, blur_profile("box", 2)), images)
