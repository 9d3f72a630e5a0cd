"""The laboratory of gradients: on a model so small that every path of hard attention can be summed, what estimators only estimate is
known, and each can be held beside it. `xattend gradients` is its command, docs/systems/hard_attention.md its page.

bench        the small system and its few short rows
quantities   exact likelihood and bound beside what approximates them
estimators   bias and variance of gradients beside the exact one
"""
