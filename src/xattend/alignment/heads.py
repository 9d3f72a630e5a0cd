"""What the heads of a decoder are called, and which of them are meant by a name: the same names in reports, in the viewer and for `xattend align --heads`.

>>> head_names("transformer", {"layers": 2}, 4)
['layer 1, head 1', 'layer 1, head 2', 'layer 2, head 1', 'layer 2, head 2']
>>> head_names("hops", {"hops": 2}, 2), head_names("rnn", {}, 1)
(['hop 1', 'hop 2'], ['attention'])
>>> meant("layer 2", head_names("transformer", {"layers": 2}, 4))
[2, 3]
"""

from __future__ import annotations

from typing import Any

from xattend.errors import UserError, suggestion


def head_names(decoder: str, settings: dict[str, Any], heads: int) -> list[str]:
    """Those of all layers, or of all looks, stand one after the other."""
    part, parts = {"transformer": ("layer", "layers"), "hops": ("hop", "hops")}.get(decoder, ("", ""))
    count = int(settings.get(parts, 1)) if part else 1
    each = heads // count if count and heads % count == 0 else 0
    if not part or each == 0 or (count == 1 and each == 1):
        return ["attention"] if heads == 1 else [f"head {head + 1}" for head in range(heads)]
    if each == 1:
        return [f"{part} {number + 1}" for number in range(count)]
    return [f"{part} {number + 1}, head {head + 1}" for number in range(count) for head in range(each)]


def meant(name: str, names: list[str]) -> list[int]:
    """The numbers of the heads that a name means: one head, or all of a layer."""
    wanted = " ".join(name.split()).lower()
    found = [number for number, head in enumerate(names) if wanted in (head, head.partition(",")[0])]
    if not found:
        layers = list(dict.fromkeys(head.partition(",")[0] for head in names))
        raise UserError(f"no head is called '{name}': {suggestion(wanted, list(dict.fromkeys([*layers, *names])))}")
    return found
