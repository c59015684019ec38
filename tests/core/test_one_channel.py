"""Tensors of one channel, or of one pixel, whose elements lie in several memory formats at once."""

import pytest

import minitorch as torch
from minitorch import nn

LAST = torch.channels_last


@pytest.mark.parametrize("shape, strides", [((2, 1, 4, 5), (20, 1, 5, 1)), ((2, 3, 1, 1), (3, 1, 3, 3)),
                                            ((1, 1, 4, 5), (20, 1, 5, 1)), ((2, 3, 4, 5), (60, 1, 15, 3))])
def test_copies_have_the_strides_of_the_format(shape, strides):
    """So convolutions see the format they were made in; they kept the old strides, which fit as
    well."""
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    for made in (x.to(memory_format=LAST), x.clone(memory_format=LAST), x.double().to(x.dtype, memory_format=LAST),
                 x.contiguous().to(torch.float64, memory_format=LAST)):
        assert made.stride() == strides and torch.equal(made.to(x.dtype), x) and made.data_ptr() != x.data_ptr()
        assert made.to(memory_format=LAST) is made
        assert made.clone(memory_format=torch.contiguous_format).stride() == x.stride()
    if 1 in shape[1:]:
        assert x.contiguous(memory_format=LAST) is x
    x.requires_grad_()
    (x.to(memory_format=LAST) ** 2).sum().backward()
    assert torch.equal(x.grad, 2 * x) and x.grad.stride() == x.stride()


def test_a_network_of_images_of_one_channel_stays_in_channels_last():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 1, 1)).to(memory_format=LAST)
    assert [tuple(p.stride()) for p in net.parameters() if p.dim() == 4] == [(9, 1, 3, 1), (4, 1, 4, 4)]
    x = torch.ones(2, 1, 6, 5).to(memory_format=LAST)
    net(x).sum().backward()
    assert all([p.grad.is_contiguous(memory_format=LAST) for p in net.parameters() if p.dim() == 4])
