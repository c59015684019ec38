"""The demo on a simulated GPU beside the processor."""

import pytest

from tests.backends.cuda.kernel_checks import DEVICE


@pytest.mark.skipif(DEVICE != "sim", reason="the demo beside the CPU is for the simulator")
def test_the_demo_agrees_with_the_cpu(capsys):
    from minitorch.cli.demo import main
    assert main(["--device", "sim", "--steps", "2", "--batch-size", "3"]) == 0
    assert "the two agree" in capsys.readouterr().out
