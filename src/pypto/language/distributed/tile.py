"""Transfers of tiles between ranks: ``pld.tile.remote_store``."""

from pypto._src.frontend.distributed_markers import get, put, remote_load, remote_store

__all__ = ["get", "put", "remote_load", "remote_store"]
