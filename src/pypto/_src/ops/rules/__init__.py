"""What definitions share: checks of operands, the valid part of a result, boxes."""
