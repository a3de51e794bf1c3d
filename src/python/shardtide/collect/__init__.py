"""Measures what random sets of embedding shards cost on this device, as samples for a cost model.

It draws tables (`tables`) and sets of shards of them (`shapes`), draws ids with the tables' skew (`ids`), runs forward,
backward and optimizer of each set (`operators`, `measure`), and appends the times to files (`samples`).
"""
