"""Optimisers: torch's own, with the settings a recipe may give. One file each.

An optimiser is built as `build("optimiser", name, parameters, **settings)` and is a `torch.optim.Optimizer`. Its `lr` is
the base learning rate; the training loop multiplies it by the schedule's factor before every update.
"""
