"""Two one-way alignments made into one (Och & Ney 2003; Koehn, Och & Marcu 2003).

An aligner that asks of each target word where it comes from can give a source word many partners, but a target word only one;
turned round it is the other way. From both:

    intersection           links of both: few, and sure
    union                  links of either
    grow-diag-final-and    starts with the intersection; adds links of the union next to one there already (diagonally, too) if one
                           of their two words has none yet, until nothing changes; at last adds links of either alignment whose
                           words both have none

The order can matter: links are gone through by source position, then target position; what is added counts at once.

>>> sorted(symmetrise({(0, 0), (1, 2)}, {(0, 0), (1, 1), (1, 2)}, "grow-diag-final-and"))
[(0, 0), (1, 1), (1, 2)]
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from xattend.alignment.links import Links

Heuristic = Literal["intersection", "union", "grow-diag-final-and"]
HEURISTICS: tuple[str, ...] = get_args(Heuristic)
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(forward: Links, backward: Links, heuristic: Heuristic) -> Links:
    """One alignment of two. `forward` is the one where each target word has at most one link."""
    if heuristic == "intersection":
        return forward & backward
    if heuristic == "union":
        return forward | backward
    links = _grow(forward & backward, forward | backward)
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    for way in (forward, backward):
        for source, target in sorted(way):
            if source not in sources and target not in targets:
                links.add((source, target))
                sources.add(source)
                targets.add(target)
    return links


def _grow(links: Links, union: Links) -> Links:
    links = set(links)
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    grown = len(links) < len(union)
    while grown:
        grown = False
        queue = sorted(links)
        while queue:
            link = heapq.heappop(queue)
            for by_source, by_target in _NEIGHBOURS:
                new = (link[0] + by_source, link[1] + by_target)
                if new in union and new not in links and (new[0] not in sources or new[1] not in targets):
                    links.add(new)
                    sources.add(new[0])
                    targets.add(new[1])
                    grown = True
                    if new > link:  # still ahead of us
                        heapq.heappush(queue, new)
    return links
