"""`torch.hub`: models of folders, and weights that are downloaded once."""

import os
import sys

import pytest

import minitorch as torch


def test_hub_reads_folders(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['numpy']\nimport beside\n"
                                         "def model(n, k=1):\n    'A model.'\n    return beside.made, n, k\n")
    (tmp_path / "beside.py").write_text("made = 'beside'\n")
    try:
        assert torch.hub.load(tmp_path, "model", 3, source="local", k=2) == ("beside", 3, 2)
    finally:
        sys.modules.pop("beside", None)
    assert "model" in torch.hub.list(tmp_path, source="local")
    assert torch.hub.help(tmp_path, "model", source="local") == "A model."
    with pytest.raises(NotImplementedError, match="clone"):
        torch.hub.load("owner/repository", "model")
    with pytest.raises(RuntimeError, match="nothing"):
        torch.hub.load(tmp_path, "nothing", source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package_x']\ndef model(): pass\n")
    with pytest.raises(RuntimeError, match="no_such_package_x"):
        torch.hub.load(tmp_path, "model", source="local")


def test_hub_downloads_once_and_checks(tmp_path, monkeypatch):
    torch.save({"w": torch.ones(2)}, tmp_path / "weights.pt")
    url = (tmp_path / "weights.pt").as_uri()
    found = torch.hub.load_state_dict_from_url(url, tmp_path / "cache")
    assert found["w"].tolist() == [1, 1] and (tmp_path / "cache" / "weights.pt").exists()
    (tmp_path / "weights.pt").unlink()
    assert torch.utils.model_zoo.load_url(url, tmp_path / "cache")["w"].tolist() == [1, 1]
    torch.save({}, tmp_path / "net-0123abcd.pt")
    with pytest.raises(RuntimeError, match="invalid hash"):
        torch.hub.load_state_dict_from_url((tmp_path / "net-0123abcd.pt").as_uri(), tmp_path, check_hash=True,
                                           file_name="copy-0123abcd.pt")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert torch.hub.get_dir() == os.path.join(tmp_path, "hub")
