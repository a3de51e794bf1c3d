"""Measures what random sets of embedding shards cost on this device, as samples for a cost model.

`python -m shardtide.collect --out DIR` draws tables (`tables`) and sets of shards of them (`shapes`), draws ids with the
tables' skew (`ids`), runs forward, backward and optimizer of each set (`operators`, `measure`), and appends the times to
files (`samples`) beside a description of the machine (`machine`).

`python -m shardtide.collect links --out FILE` measures the bandwidth between nodes, as links of a pool (`links`).
"""
