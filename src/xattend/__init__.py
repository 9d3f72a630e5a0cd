"""xattend: attention models that read anything and write a sequence.

>>> import xattend
>>> xattend.__version__
'0.1.0'

`xattend.load("runs/x")` gives a trained model (see xattend/model.py). Nothing heavy is imported until it is used.
"""

from __future__ import annotations

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


def load(run: str) -> Model:
    """The trained model in a run directory, its files verified."""
    from xattend.model import Model

    return Model.load(run)
