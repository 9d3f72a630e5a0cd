"""A corpus in SAIL's layout, on a map of four places and one that stands alone."""

from __future__ import annotations

from pathlib import Path

MAP = """<map name="T"><nodes>
<node x="0" y="0" item=""/><node x="1" y="0" item="lamp"/><node x="1" y="1" item="chair"/>
<node x="0" y="1" item=""/><node x="3" y="5" item=""/></nodes><edges>
<edge node1="0,0" node2="1,0" wall="fish" floor="blue"/><edge node1="1,0" node2="1,1" wall="tower" floor="brick"/>
<edge node1="0,1" node2="1,1" wall="fish" floor="wood"/></edges></map>"""
WALKS = [
    ("go to the lamp", "[(0, 0, -1), (0, 0, 90), (1, 0, 90)]"), ("turn to the chair", "[(1, 0, 90), (1, 0, 180)]"),
    ("walk to the chair", "[(1, 0, 180), (1, 1, 180)]"), ("stay where you are", "[(1, 1, 180)]"),
    ("face the wood", "[(1, 1, 0), (1, 1, 270)]"), ("walk down the wood", "[(1, 1, 270), (0, 1, 270)]"),
]  # fmt: skip


def sail(folder: Path, names: tuple[str, ...] = ("T",), times: int = 1) -> None:
    """SingleSentence.xml, and maps beside it: the same walks on each map, `times` with other words."""
    (folder / "maps").mkdir(parents=True, exist_ok=True)
    examples = []
    for name in names:
        (folder / "maps" / f"map-{name.lower()}.xml").write_text(MAP.replace('name="T"', f'name="{name}"'))
        for turn in range(times):
            said = ["", *(f" wort{number}" for number in range(times))][turn]
            walks = [f"<instruction>{text}{said}</instruction><path>{path}</path>" for text, path in WALKS]
            examples += [f'<example id="1" map="{name}">{walk}</example>' for walk in walks]
    (folder / "SingleSentence.xml").write_text(f"<examples>{''.join(examples)}</examples>")
