"""Parameters found by search: FDF and n_d of sparse-indexing, K from a motion's statistics."""

from kinepack.search.bap import Evaluator, Found, Point, exhaustive
from kinepack.search.fast import fast
from kinepack.search.sparseness import Sparseness, choose_k

__all__ = ["Evaluator", "Found", "Point", "Sparseness", "choose_k", "exhaustive", "fast"]
