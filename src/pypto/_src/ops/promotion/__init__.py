"""How operands of several element types and shapes become equal ones."""
