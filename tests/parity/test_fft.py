"""Fourier transforms, and what is refused: the same as in PyTorch."""

import numpy as np
import pytest

import minitorch

from .expressions import agree

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")

EXPRESSIONS = """
torch.fft.fft(v)
torch.fft.fft(v,n=2)
torch.fft.fft(v,n=5)
torch.fft.fft(v,n=0)
torch.fft.fft(v,n=-2)
torch.fft.fft(R,dim=0)
torch.fft.fft(R,dim=2)
torch.fft.fft(R,norm='ortho')
torch.fft.fft(R,norm='forward')
torch.fft.fft(R,norm='foo')
torch.fft.fft(torch.tensor(1.))
torch.fft.fft(I)
torch.fft.fft(R.double())
torch.fft.fft(R.half())
torch.fft.fft(R>2)
torch.fft.ifft(R)
torch.fft.rfft(R)
torch.fft.rfft(C)
torch.fft.irfft(R)
torch.fft.irfft(C)
torch.fft.irfft(C,n=5)
torch.fft.irfft(v[:1])
torch.fft.hfft(R)
torch.fft.hfft(C,n=3)
torch.fft.ihfft(R)
torch.fft.fft2(R)
torch.fft.fft2(v)
torch.fft.fft2(R,s=(2,2))
torch.fft.fft2(R,s=(2,))
torch.fft.fft2(R,dim=(0,0))
torch.fft.ifft2(R)
torch.fft.rfft2(R)
torch.fft.irfft2(C)
torch.fft.irfft2(C,s=(2,5))
torch.fft.fftn(R)
torch.fft.fftn(R,s=(2,))
torch.fft.fftn(R,s=(2,-1))
torch.fft.fftn(R,dim=())
torch.fft.fftn(R,dim=(0,))
torch.fft.ifftn(R)
torch.fft.rfftn(R)
torch.fft.rfftn(R,dim=(1,0))
torch.fft.rfftn(torch.tensor(1.))
torch.fft.irfftn(C)
torch.fft.irfftn(C,s=(2,4),norm='ortho')
torch.fft.hfftn(C)
torch.fft.hfft2(C)
torch.fft.hfft2(C,s=(2,5),norm='ortho')
torch.fft.ihfftn(R)
torch.fft.ihfft2(R,norm='forward')
torch.fft.fftfreq(5)
torch.fft.fftfreq(4,d=.5)
torch.fft.fftfreq(4,dtype=torch.float64)
torch.fft.rfftfreq(5)
torch.fft.rfftfreq(4,.1)
torch.fft.fftshift(R)
torch.fft.fftshift(R,dim=1)
torch.fft.fftshift(R,dim=(0,1))
torch.fft.ifftshift(R)
torch.fft.fftshift(torch.arange(5))
torch.fft.fft(torch.empty(0))
torch.fft.irfft(torch.fft.rfft(R),n=3)
""".split("\n")[1:-1]


def names(library):
    """The names in the expressions: R real, v a vector, I integers, C complex."""
    R = library.tensor([[1., 2, 3], [4, 5, 7]])
    C = library.from_numpy(np.array([[1 + 2j, 2 - 1j, 3j], [1, 2j, 1 - 1j]], "complex64"))
    return dict(R=R, v=R[0], I=R.long(), C=C)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    agree(expression, minitorch, torch, names)
