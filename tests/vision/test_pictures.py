"""Pictures in files: written and read again."""

import pytest

import minitorch as torch


def test_pictures_in_files(tmp_path):
    pytest.importorskip("PIL")
    from minitorch.vision import io as pictures
    x = torch.arange(3 * 4 * 5, dtype=torch.uint8).reshape(3, 4, 5)
    pictures.write_png(x, str(tmp_path / "x.png"))
    assert torch.equal(pictures.read_image(str(tmp_path / "x.png")), x)
    assert pictures.read_image(str(tmp_path / "x.png"), pictures.ImageReadMode.GRAY).shape == (1, 4, 5)
    assert pictures.decode_jpeg(pictures.encode_jpeg(x)).shape == x.shape
    with pytest.raises(RuntimeError, match="not a picture"):
        pictures.decode_image(torch.zeros(9, dtype=torch.uint8))
