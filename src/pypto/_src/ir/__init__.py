"""The IR as data: nodes, types, traversal, text, verification. Knows no op by name."""

# The printer registers itself with the nodes: `str` of one works wherever there is one.
from pypto._src.ir.text import printer as printer
