"""xattend: attention models that read anything and write a sequence.

>>> import xattend
>>> xattend.__version__
'0.1.0'

`xattend.load("runs/x")` gives a trained model (see xattend/model.py). Nothing heavy is imported until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xattend.model import Model

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def load(run: str) -> Model:
    """The trained model in a run directory, its files verified."""
    from xattend.model import Model

    return Model.load(run)
