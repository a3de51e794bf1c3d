"""Shardtide for PyTorch: sharding plans of embedding tables, live from Kafka.

docs/CLIENTS.md says what each subpackage is for. Importing one imports only what it needs: PyTorch, TorchRec and
Kafka's client are imported by what uses them.
"""

# That of pom.xml, as Python writes it; a test compares them.
__version__ = "0.2.0"
