"""The hops' equations, written out for one row."""

from __future__ import annotations

import torch

from xattend.attention import Additive
from xattend.decoders.hops import Hops
from xattend.types import BOS, Memory, Space


def test_two_hops_by_hand() -> None:
    torch.manual_seed(1)
    decoder = Hops(Space(vocabulary=7), 6, lambda size: Additive(size, 6), size=8, hops=2).eval()
    states_SD, question_D = torch.randn(4, 6), torch.randn(6)
    memory = Memory(states_SD[None], torch.ones(1, 4, dtype=torch.bool), question_D[None])
    first = decoder.question(question_D) + decoder.embedding.weight[BOS]
    query, seen = first, []
    for look, mix in zip(decoder.attentions, decoder.mixes, strict=True):
        scores_S = torch.tanh(look.query(query) + look.key(states_SD)) @ look.v.weight[0]
        seen.append(scores_S.softmax(0))
        query = query + mix(seen[-1] @ states_SD)
    wanted = decoder.output(torch.tanh(decoder.join(torch.cat([query, first]))))
    step = decoder.step(torch.tensor([BOS]), decoder.start(memory))
    torch.testing.assert_close(step.logits_BV[0], wanted)
    torch.testing.assert_close(step.looked()[0], torch.stack(seen))
    torch.testing.assert_close(decoder(memory, torch.tensor([[BOS]]))[0, 0], wanted)
