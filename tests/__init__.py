"""The tests, in the rooms of the package; whatever they import is told first to use one thread."""

import os

# The matrices of tests are small and the tests themselves run side by side: a second thread of
# BLAS brings nothing then, and on a busy machine waits for its core ten times as long as it works.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
