"""xattend: attention models that read anything and write a sequence.

>>> import xattend
>>> xattend.__version__
'0.1.0'

`xattend.load("runs/x")` gives a trained model (see xattend/model.py). Nothing heavy is imported until it is used.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import TYPE_CHECKING

# torch's threads wait for each other by spinning, for long: on a machine with something else to do, training with two
# threads was measured up to twenty times slower then. A short spin costs nothing when alone. Read when torch is first imported.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

if TYPE_CHECKING:
    from xattend.model import Model

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def _keep_freed_memory() -> None:
    """Tells glibc not to give freed memory back to the system between two steps.

    A step frees and asks for the same large blocks again and again. By default every page of them is made anew each time:
    20,000 to 60,000 page faults an update were counted. Other systems' allocators have no such switch, and are left alone.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ:
        return
    with contextlib.suppress(OSError, TypeError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(-1, 2_000_000_000)  # M_TRIM_THRESHOLD: how much must be free before any goes back
        mallopt(-4, 0)  # M_MMAP_MAX: cut large blocks, too, from what is kept


_keep_freed_memory()


def load(run: str) -> Model:
    """The trained model in a run directory, its files verified."""
    from xattend.model import Model

    return Model.load(run)
