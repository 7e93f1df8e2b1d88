"""Families of ops that few kernels need; each is imported when one of its ops is named."""
