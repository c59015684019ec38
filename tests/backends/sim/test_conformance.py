"""Every instruction family that the simulator knows, against NumPy, in three modules of micro-kernels."""

import numpy as np
import pytest

from tests.backends.sim import (
    conformance,
    conformance_floats,
    conformance_integers,
    conformance_kernels,
    harness,
)

FILES = {"integers": conformance_integers, "floats": conformance_floats, "kernels": conformance_kernels}


@pytest.mark.parametrize("file", FILES)
def test_conformance(file):
    cases = conformance.cases_of(FILES[file])
    module = harness.compile_module(conformance.program(cases), f"conformance_{file}.cu")
    failures = []
    for case in cases:
        out = harness.empty(case.expected.shape, case.expected.dtype)
        try:
            harness.launch(
                module,
                case.name,
                case.grid,
                case.block,
                *map(harness.to_device, case.inputs),
                out,
                np.int32(case.expected.size),
                shared=case.shared,
            )
            case.check(harness.values(out, case.expected.dtype, case.expected.shape))
        except (AssertionError, harness.sim.SimulatorError) as error:
            failures.append(f"{case.name}: {error}")
    assert len(cases) > 80 and not failures, "\n".join(failures[:20])
