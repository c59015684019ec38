"""The tests of native kernels under AddressSanitizer and UBSan.

    python -m tests.backends.native.sanitized [pytest options]

First a planted fault, one element written past the end of an array, must be noticed. Linux with gcc only.
"""

import os
import subprocess
import sys
import tempfile

from tests import ROOT

FAULT = """
import numpy as np
from minitorch.backends import native
x = np.zeros(100, "f")
write = native.build("#include <stdint.h>\\nvoid f(float *x, int64_t i) { x[i] = 1; }").function("f", "pl")
write(native.address(x), 99)
print("in bounds", flush=True)
write(native.address(x), 100)
"""


def library(name):
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def main():
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "MINITORCH_CACHE": cache, "PYTHONPATH": str(ROOT), "PYTHONMALLOC": "malloc",
                       "CC": "gcc -g -fsanitize=address,undefined -fno-sanitize-recover=all",
                       "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')}",
                       "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
        planted = subprocess.run([sys.executable, "-c", FAULT], env=environment, capture_output=True, text=True)
        if "in bounds" not in planted.stdout or "AddressSanitizer" not in planted.stderr:
            sys.exit(f"the planted fault was not noticed:\n{planted.stdout}{planted.stderr}")
        print("the planted fault was noticed")
        tests = ["tests/backends/native/test_kernels.py", "tests/backends/native/test_convolution.py"]
        options = ["-n", "0", "-q", "-x", "--capture=sys", *sys.argv[1:]]      # what sanitizers say is not captured
        sys.exit(subprocess.run([sys.executable, "-m", "pytest", *tests, *options], env=environment,
                                cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
