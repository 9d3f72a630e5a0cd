"""The contract tests must be able to fail: an attention that forgets the mask is caught."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WRONG = '''
from xattend.attention import Attention
from xattend.registry import register


@register("attention", "no-mask")
class NoMask(Attention):
    """A dot product that forgets which positions are real."""

    def attend_all(self, query_BTQ, bound, state, *, weights=True):
        scores_BTS = query_BTQ[:, :, : bound.keys_BSA.shape[-1]] @ bound.keys_BSA.transpose(1, 2)
        weights_BTS = scores_BTS.softmax(dim=-1)
        return weights_BTS @ bound.values_BSD, weights_BTS[:, :, None], state
'''
RIGHT = WRONG.replace("no-mask", "with-mask").replace(
    "weights_BTS = scores_BTS.softmax(dim=-1)",
    "weights_BTS = __import__('xattend.attention.base').attention.base.masked_softmax(scores_BTS, bound.mask_BS)",
)


def contract_tests(part: Path) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", str(here / "test_attention.py"), "--part", str(part), "-k", part.stem, "-p", "no:cacheprovider"]
    return subprocess.run(command, capture_output=True, text=True, cwd=here.parents[1], check=False)


def test_an_attention_without_mask_fails(tmp_path: Path) -> None:
    (tmp_path / "no-mask.py").write_text(WRONG)
    result = contract_tests(tmp_path / "no-mask.py")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "weight on padding" in result.stdout
    assert "test_padding_changes_nothing[no-mask]" in result.stdout


def test_the_same_attention_with_mask_passes(tmp_path: Path) -> None:
    (tmp_path / "with-mask.py").write_text(RIGHT)
    result = contract_tests(tmp_path / "with-mask.py")
    assert result.returncode == 0, result.stdout + result.stderr
