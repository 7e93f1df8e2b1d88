"""The IR as data: nodes, types, traversal, text, verification. Knows no op by name."""

from pypto._src.ir.node_base import Node


def _print(node: Node, prefix: str) -> str:
    """Return the text of a node; the printer is imported when the first one is asked for."""
    from pypto._src.ir.text.printer import python_print

    return python_print(node, prefix)


Node.printer = staticmethod(_print)
