"""Shardtide for PyTorch."""
