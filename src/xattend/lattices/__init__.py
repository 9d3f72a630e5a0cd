"""Sums over all ways in which a short sequence can lie along a long one: CTC and transducers, in log space."""
