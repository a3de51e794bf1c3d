"""Measures how a training job's lookups spread over the rows of its tables, from batches of ids.

    from shardtide.profile import Profiler, bags

    profiler = Profiler({"user": 1_000_000, "item": 50_000_000}, features={"clicked": "item", "bought": "item"})
    for batch in loader:
        profiler.add({"user": batch.user, "clicked": bags(batch.values, lengths=batch.lengths), "bought": batch.bought})
    for name, use in profiler.results().items():
        spec[name].update(use.fields())

One pass over the ids, in bounded memory (`rows`): exact for tables of up to 16 million rows, and for larger ones of
which the stream uses up to 700,000; else an estimate with a standard error. `bags` says which forms ids may have,
`python -m shardtide.profile` reads them from files. Needs numpy; Parquet files need pyarrow.

Hash tables have ids of 64 bits and no fixed rows. Of them a profiler measures how many distinct ids there are, how many
new ones each period of time brings, and which share of the lookups the most used ids have (`growth`):

    profiler = Profiler({}, hash_tables=["item"])
    for day, loader in enumerate(days):
        profiler.begin_period(day)
        for batch in loader:
            profiler.add({"item": batch.item})
    spec["item"].update(profiler.growth(period_days=1)["item"].fields())

Where a plan cuts a table by use, its rows are in the order of their use. `TableProfile.write_order` writes this order,
and training programs translate ids to ranks in it:

    order = RowOrder.read("orders/item.npy", rows=50_000_000)
    ranks = order.ranks(ids)
"""

from shardtide.profile.bags import Bags, bags
from shardtide.profile.growth import HashTableProfile, TableGrowth
from shardtide.profile.order import RowOrder
from shardtide.profile.profiler import Profiler, TableProfile, TableUse

__all__ = [
    "Bags",
    "HashTableProfile",
    "Profiler",
    "RowOrder",
    "TableGrowth",
    "TableProfile",
    "TableUse",
    "bags",
]
