"""The short-time Fourier transform and its inverse; plain functions of other ops.

D. Griffin and J. Lim, "Signal estimation from modified short-time Fourier transform", IEEE Transactions on Acoustics,
Speech, and Signal Processing 32 (1984): the inverse is the least-squares estimate.
"""

from ..core.arrays import is_inexact
from ..core.recording import recorded as R
from ..explain.callers import warn
from .creation.create import ones
from .define import composite
from .elementwise.complex import view_as_real
from .fft import fft, ifft, irfft, rfft
from .nn.pad import constant_pad_nd, pad


def sizes(name, n_fft, hop_length, win_length, window):
    """The distance of the frames and the length of the window, by default n_fft // 4 and n_fft; errors for bad ones."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and window.array.shape != (length,):
        raise RuntimeError(f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window "
                           f"with size {list(window.shape)}")
    return hop, length


def centred(window, n_fft, length, like):
    """The window, of ones if there is none, with zeros on both sides to `n_fft`."""
    if window is None:
        window = ones(length, dtype=like.dtype.to_real(), device=like.device)
    left = (n_fft - length) // 2
    return window if length == n_fft else constant_pad_nd(window, (left, n_fft - length - left), 0)


@composite
def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=None, align_to_window=None):
    """Fourier transforms of overlapping frames: (length) or (batch, length) to (..., frequencies, frames), complex.

    Args:
        n_fft: how many points each frame has.
        hop_length: how far apart frames begin; default ``n_fft // 4``.
        win_length: the size of the window, padded with zeros on both sides to `n_fft`; default `n_fft`.
        window: what each frame is multiplied by, (win_length); default ones.
        center: pad both ends by ``n_fft // 2``, so that frame t is centred on ``t * hop_length``.
        pad_mode: how to pad, as in `nn.functional.pad`.
        normalized: divide by the root of `n_fft`.
        onesided: only the first ``n_fft // 2 + 1`` frequencies, the default for a real input and window.
        return_complex: must be given for a real input; False: the parts along a last dimension of size 2.
        align_to_window: only for ``center=False``: frames of the window's length, not of `n_fft`.

    Frame t at frequency w is ``sum_k window[k] input[t hop + k] exp(-2 pi i w k / n_fft)``. Gradients flow to the
    input and the window. RuntimeError for sizes that do not fit.
    """
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    check_signal(input, n_fft, center, is_complex, return_complex, align_to_window)
    x = input if input.array.ndim == 2 else input.unsqueeze(0)
    if center:
        sides = (n_fft // 2, n_fft // 2)
        x = pad(x.unsqueeze(0), sides, pad_mode).squeeze(0)
    points = x.array.shape[1]
    if not 0 < n_fft <= points:
        raise RuntimeError(f"stft: expected 0 < n_fft < {points}, but got n_fft={n_fft}")
    hop, length = sizes("stft", n_fft, hop_length, win_length, window)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if align_to_window:
        left = (n_fft - length) // 2
        x = constant_pad_nd(x, (left, left), 0)
    frames = x.unfold(1, n_fft, hop)
    if window is not None or length < n_fft:
        frames = frames * centred(window, n_fft, length, input)
    out = (rfft if onesided else fft)(frames, norm="ortho" if normalized else None).transpose(1, 2)
    out = out if input.array.ndim == 2 else out.squeeze(0)
    return out if return_complex or is_complex and return_complex is None else view_as_real(out)


def check_signal(input, n_fft, center, is_complex, return_complex, align_to_window):
    """RuntimeError for a signal or options that `stft` does not take."""
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further "
                           "require that return_complex=True in a future PyTorch release.")
    if not is_inexact(input.array.dtype):
        raise RuntimeError(f"stft(torch.{input.dtype.name}{list(input.shape)}, n_fft={n_fft}): expected a tensor of "
                           f"floating point or complex values")
    if input.array.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, got {input.array.ndim}D")
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false.")


@composite
def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):
    """The signal whose `stft` is nearest to `input`: complex (..., frequencies, frames) to (length) or (batch, length).

    The arguments are those of `stft`; `length` cuts the result or pads it with zeros. Frames are transformed back,
    multiplied by the window and added, and the sum is divided by that of the squares of the windows: RuntimeError where
    this is 0. The result is real, or complex with `return_complex`, for a transform that has all frequencies.
    """
    x, (points, frames) = input, checked_frames(input)
    onesided = points != n_fft if onesided is None else onesided
    check_frequencies(points, n_fft, onesided)
    hop, width = sizes("istft", n_fft, hop_length, win_length, window)
    if hop > width:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, but got hop_length={hop}")
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    window = centred(window, n_fft, width, x)
    x = (x if x.array.ndim == 3 else x.unsqueeze(0)).transpose(1, 2)
    norm = "ortho" if normalized else None
    x = ifft(x, norm=norm) if return_complex else irfft(x[..., :n_fft // 2 + 1], n_fft, norm=norm)
    total = n_fft + hop * (frames - 1)
    place = dict(dimension=1, size=n_fft, step=hop)
    y = R.unfold_backward(x * window, shape=(x.array.shape[0], total), **place)
    weight = R.unfold_backward((window * window).expand(1, frames, n_fft), shape=(1, total), **place)
    margin = n_fft // 2 if center else 0
    end = total - margin if length is None else margin + length
    y, weight = y[:, margin:end], weight[:, margin:end]
    if weight.array.size and bool(weight.detach().abs().min() < 1e-11):
        raise RuntimeError("istft: window overlap add min: 1: the windows leave gaps, where the signal is not known")
    y = y / weight
    if end > total:
        warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in "
             "the tail. Please check your center and hop_length settings.")
        y = constant_pad_nd(y, (0, end - total), 0)
    return y if input.array.ndim == 3 else y.squeeze(0)


def check_frequencies(points, n_fft, onesided):
    """RuntimeError unless there are as many frequencies as a transform of `n_fft` numbers has."""
    expected, words = n_fft, "n_fft when onesided=False"
    if onesided:
        expected, words = n_fft // 2 + 1, "n_fft / 2 + 1 when onesided=True"
    if points != expected:
        raise RuntimeError(f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match "
                           f"{words}, but got {points}")


def checked_frames(input):
    """The numbers of frequencies and frames of what `istft` is given; RuntimeError unless it comes from `stft`."""
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with "
                           "return_complex=True.")
    if not input.array.size:
        raise RuntimeError("istft: input tensor cannot be empty")
    if input.array.ndim not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {input.array.ndim}")
    return input.array.shape[-2:]
