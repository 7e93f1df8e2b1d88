"""The implementation. Nothing in here is public: import from `pypto` and its public packages.

The modules form layers, and a module imports only from its own layer and earlier ones. The order is
data in ``tests/meta/test_layering.py``, which also checks it.
"""
