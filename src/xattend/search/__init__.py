"""Search: from a decoder's distributions to outputs. Every search gives one sentence the same answer in any batch."""

from xattend.search.base import Search, Steps
from xattend.search.beam import Beam
from xattend.search.best_path import BestPath
from xattend.search.constrained import Constrained
from xattend.search.diverse import DiverseBeam
from xattend.search.ensemble import Ensemble
from xattend.search.exact import Exact, ExactHypothesis
from xattend.search.greedy import Greedy
from xattend.search.risk import MinimumRisk
from xattend.search.sample import Sample

__all__ = [
    "Beam", "BestPath", "Constrained", "DiverseBeam", "Ensemble", "Exact", "ExactHypothesis", "Greedy", "MinimumRisk", "Sample", "Search", "Steps",
]  # fmt: skip
