"""Printed IR -> IR: the inverse of `ir.text`."""
