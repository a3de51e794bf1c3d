"""How full tables of managed collision modules are: real TorchRec, sharded on two processes with gloo, and unsharded.

FBGEMM's CPU kernel of MPZCH only reads. What its GPU kernel writes while training, ids in slots, is therefore written
by the test, where FBGEMM's lookup finds them. Sorting modules train.
"""

import logging
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "src/python"), str(ROOT / "src/python/tests")]

import sequence_models as models
from sequence_models import Table

from shardtide import torchrec
from shardtide.torchrec import fill, publish
from shardtide.torchrec.modules import unwrapped
from shardtide.train import FillReporter, Ranks
from shardtide.train.fill import ShardFill, gather_fills

if not models.WHY_NOT:
    import torch
    import torch.distributed as dist
    from torch.distributed import checkpoint as distributed_checkpoint
    from torchrec.distributed.mc_embedding import ManagedCollisionEmbeddingCollectionSharder
    from torchrec.distributed.mc_embeddingbag import ManagedCollisionEmbeddingBagCollectionSharder
    from torchrec.modules.hash_mc_evictions import HashZchEvictionConfig
    from torchrec.modules.hash_mc_evictions import HashZchEvictionPolicyName as Policy
    from torchrec.modules.hash_mc_modules import HashZchManagedCollisionModule
    from torchrec.modules.mc_embedding_modules import (
        ManagedCollisionEmbeddingBagCollection,
        ManagedCollisionEmbeddingCollection,
    )
    from torchrec.modules.mc_modules import (
        DistanceLFU_EvictionPolicy,
        LFU_EvictionPolicy,
        ManagedCollisionCollection,
        MCHManagedCollisionModule,
    )
    from torchrec.sparse.jagged_tensor import JaggedTensor

PATHS = ("bags", "sequences")
SLOTS = 16
# Ids below 500 go to the first of two ranks.
IDS = 1000


def sorting():
    """Returns a module that holds the ids that are used most, chosen after each batch."""
    return MCHManagedCollisionModule(
        SLOTS, torch.device("cpu"), LFU_EvictionPolicy(), eviction_interval=1, input_hash_size=IDS
    )


def hashing():
    """Returns a module of MPZCH, in which an id belongs to the rank that its number says."""
    return HashZchManagedCollisionModule(SLOTS, torch.device("cpu"), total_num_buckets=2, input_hash_size=IDS)


def net(module):
    """Returns a model with a table of a pooled collection, bags_a, and one of sequences, sequences_a."""
    found = models.nn.Module()
    for path, of, config, managing in (
        ("bags", models.EmbeddingBagCollection, models.EmbeddingBagConfig, ManagedCollisionEmbeddingBagCollection),
        ("sequences", models.EmbeddingCollection, models.EmbeddingConfig, ManagedCollisionEmbeddingCollection),
    ):
        name = f"{path}_a"
        table = config(name=name, num_embeddings=SLOTS, embedding_dim=8, feature_names=[name])
        found.add_module(path, managing(of(tables=[table]), ManagedCollisionCollection({name: module()}, [table])))
    return found


def sharded(model, kind="row_wise"):
    """Returns the model under a plan of Shardtide on all ranks."""
    tables, ranks = {f"{path}_a": path for path in PATHS}, dist.get_world_size()
    plan = models.plan([(Table(name, SLOTS, 8), kind, 0) for name in tables], ranks, ranks)
    description = torchrec.descriptions.describe(plan, tables, devices_per_node=ranks, device="cpu")
    return models.DistributedModelParallel(
        model,
        device=torch.device("cpu"),
        plan=torchrec.conversions.to_sharding_plan(description),
        sharders=[ManagedCollisionEmbeddingBagCollectionSharder(), ManagedCollisionEmbeddingCollectionSharder()],
        init_data_parallel=False,
    )


def managed(model, path="bags"):
    """Returns the modules of a collection's tables, by name."""
    return getattr(unwrapped(model), path)._managed_collision_collection._managed_collision_modules


def train(model, ids):
    """Trains a step in which each table looks up the same ids."""
    for path in PATHS:
        batch = models.KeyedJaggedTensor(
            keys=[f"{path}_a"], values=torch.tensor(ids), lengths=torch.ones(len(ids), dtype=torch.int64)
        )
        output, _ = getattr(unwrapped(model), path)(batch)
        output = output.wait() if hasattr(output, "wait") else output
        (output if path == "bags" else output[f"{path}_a"]).values().sum().backward()


def counts(fills):
    """Returns what is counted of tables, which is the same of the pooled one and that of sequences."""
    found = {fill.table: fill[1:] for fill in fills}
    if found["bags_a"] != found["sequences_a"]:
        raise AssertionError(found)
    return found["bags_a"]


def sorted_ids(is_sharded):
    """Trains tables that fill up, then evict; returns counts after each step, and slots with ids, of all ranks."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = sharded(net(sorting)) if is_sharded else net(sorting)
    counter = torchrec.FillCounter(model)
    found = [counts(counter.take())]

    for of_first, of_second in (
        ([1, 2, 3], [501, 502]),
        ([4, 5], [503, 504, 505]),
        # Now slots are few: ids that are used most take those of the ones that are used least.
        ([6, 7, 8] * 4, [506, 507, 508, 509, 510, 511] * 2),
    ):
        ids = [1] * (16 - len(of_first)) + of_first
        ids += [501] * (16 - len(of_second)) + of_second
        # Each rank looks up a part of the ids, whichever rank holds them. A module keeps no more of a batch than of the
        # first one, and a quarter: all are equal.
        train(model, ids[rank::ranks])
        found.append(counts(counter.take()))
    everywhere = [None] * ranks
    dist.all_gather_object(everywhere, found)
    slots = [None] * ranks
    dist.all_gather_object(slots, len(slots_of_ids(managed(model)["bags_a"])))
    return everywhere, slots


def by_default():
    """Returns a sorting module that takes any id."""
    return MCHManagedCollisionModule(SLOTS, torch.device("cpu"), LFU_EvictionPolicy(), eviction_interval=1)


def ids_of_ranks(module):
    """Trains on ids of all of the range up to IDS; returns the ids that each rank holds."""
    model = sharded(net(module))
    counter = torchrec.FillCounter(model)
    for _ in range(6):
        train(model, [(i * 64 + 7) % IDS for i in range(14)] + [1, 2])
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, counts(counter.take())[2])
    return everywhere


def saved(folder):
    model = sharded(net(sorting))
    train(model, [1, 2, 501, 502] * 4)
    distributed_checkpoint.save(model.state_dict(), checkpoint_id=folder)


def loaded(folder):
    """Loads a checkpoint; returns what TorchRec says, or none."""
    model = sharded(net(sorting))
    state = model.state_dict()
    distributed_checkpoint.load(state, checkpoint_id=folder)
    try:
        model.load_state_dict(state)
    except AssertionError as e:
        return str(e)
    return None


def slots_of_ids(module):
    """Returns the slots that a sorting module gives to ids of its own."""
    values = torch.arange(IDS)
    slots = module.remap({"t": JaggedTensor(values=values, lengths=torch.ones_like(values))})["t"].values()
    # The last slot is that of all ids without one.
    return set(slots.tolist()) - {module._output_global_offset + module.output_size() - 1}


def where(module, id_):
    """Returns the slot of this rank in which FBGEMM finds an id, or the one that it gives it if it finds it in none."""
    value = torch.tensor([id_])
    found = module.remap({"t": JaggedTensor(values=value, lengths=torch.ones_like(value))})["t"].values().item()
    return found - module._output_segments[module._start_bucket]


def finds(module, id_):
    return module._hash_zch_identities[where(module, id_), 0] == id_


def put(module, id_):
    """Writes an id where FBGEMM finds it: into the first free slot from its own on, or over the id in its own."""
    own, identities = where(module, id_), module._hash_zch_identities.data
    slot = next((slot for i in range(8) if identities[slot := (own + i) % 8, 0] == -1), own)
    identities[slot, 0] = id_
    if where(module, id_) != slot:
        raise AssertionError(f"FBGEMM does not find id {id_} in slot {slot}")


def hashed_ids():
    """Fills tables of MPZCH beyond their slots; returns what is reported, and which ids FBGEMM finds on all ranks."""
    rank = dist.get_rank()
    model = sharded(net(hashing))
    modules = [managed(model, path)[f"{path}_a"].eval() for path in PATHS]
    counter = torchrec.FillCounter(model)
    reports = mock.Mock()
    reporter = FillReporter(mock.Mock(ranks=Ranks(), reports=reports, running={"planId": "p"}), 1)
    own = range(500 * rank, 500 * rank + 500)
    found = []
    for first, end in ((0, 3), (3, 5 + rank), (6, 6), (10, 40), (40, 42)):
        for id_ in own[first:end]:
            for module in modules:
                put(module, id_)
        gathered = reporter.step(counter.take)
        found.append((gathered, {id_ for id_ in own[:end] if finds(modules[0], id_)}))
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, found)
    return everywhere, [call.args for call in reports.fill.call_args_list]


class Together(unittest.TestCase):
    """What one rank finds, all decide alike: each is told of the shards of all."""

    def gathered(self, *of_ranks):
        return gather_fills(mock.Mock(gather=lambda own: [list(of) for of in of_ranks]), [])

    def test_shards_without_slots_are_not_reported(self):
        found = self.gathered([ShardFill("t", 0, 0, 0), ShardFill("u", 0, 0, 0)], [ShardFill("t", 0, 8, 3)])
        self.assertEqual([(of["table"], [shard["rank"] for shard in of["shards"]]) for of in found], [("t", [1])])
        self.assertEqual(self.gathered([ShardFill("t", 0, 0, 0)], []), [])

    def test_a_wrong_count_of_any_rank_is_an_error_before_the_first_one_reports(self):
        with self.assertRaisesRegex(ValueError, 'ids of table "t" must be between 0 and 2.50, got -1'):
            self.gathered([], [ShardFill("t", 0, 8, -1)])


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class FillTest(unittest.TestCase):
    def test_ids_and_evictions_of_sorted_tables_on_two_ranks(self):
        of_ranks, slots = models.run(sorted_ids, 2, 2, True)
        # Row offset, slots, ids, insertions, evictions, collisions: of 8 slots, the last one holds no id.
        self.assertEqual(of_ranks[0], [(0, 8, 0, 0, 0, 0), (0, 8, 3, 3, 0, 0), (0, 8, 5, 2, 0, 0), (0, 8, 7, 3, 1, 0)])
        self.assertEqual(
            of_ranks[1], [(8, 8, 0, 0, 0, 0), (8, 8, 2, 2, 0, 0), (8, 8, 5, 3, 0, 0), (8, 8, 7, 6, 4, 0)]
        )
        self.assertEqual(slots, [7, 7])

    def test_an_unsharded_table_is_one_shard(self):
        of_ranks, slots = models.run(sorted_ids, 1, 1, False)
        self.assertEqual(
            of_ranks[0], [(0, 16, 0, 0, 0, 0), (0, 16, 5, 5, 0, 0), (0, 16, 10, 5, 0, 0), (0, 16, 15, 9, 4, 0)]
        )
        self.assertEqual(slots, [15])

    def test_hashed_tables_on_two_ranks(self):
        of_ranks, reported = models.run(hashed_ids, 2, 2)
        self.assertEqual([plan for plan, _ in reported], ["p"] * 5)
        before = [set(), set()]
        totals = []
        for step, (_, tables) in enumerate(reported):
            expected = []
            for rank, of_rank in enumerate(of_ranks):
                self.assertEqual(of_rank[step][0], tables)
                held, had = of_rank[step][1], before[rank]
                counted = {"ids": len(held), "insertions": len(held - had), "evictions": len(had - held)}
                expected.append({"rank": rank, "rowOffset": 8 * rank, "slots": 8, **counted, "collisions": 0})
                before[rank] = held
            self.assertEqual(tables, [{"table": f"{path}_a", "shards": expected} for path in PATHS])
            totals.append([shard["ids"] for shard in expected] + [sum(shard["evictions"] for shard in expected)])
        # Until slots are few, all ids that were put.
        self.assertEqual(totals[:4], [[3, 3, 0], [5, 6, 0], [5, 6, 0], [8, 8, totals[3][2]]])
        self.assertGreater(totals[3][2], 0)
        self.assertGreater(totals[4][2], 0)

    def test_torchrec_shards_them_by_rows_only(self):
        with self.assertRaisesRegex(AssertionError, "Only ROW_WISE sharding is supported"):
            models.run(lambda: sharded(net(sorting), "table_wise"), 2, 2)

    def test_fbgemm_does_not_train_hashed_tables_on_cpus(self):
        with self.assertRaisesRegex(RuntimeError, "readonly"):
            train(net(hashing), [1])

    def test_their_storage_is_published(self):
        ttl = HashZchEvictionConfig(features=["bags_a"], single_ttl=24)
        cpu = torch.device("cpu")
        for module, expected in (
            (hashing, {"slotBytes": 8, "eviction": "none"}),
            # With the hour in which an id expires.
            (
                lambda: HashZchManagedCollisionModule(
                    SLOTS, cpu, 2, eviction_policy_name=Policy.SINGLE_TTL_EVICTION, eviction_config=ttl
                ),
                {"slotBytes": 12, "eviction": "age"},
            ),
            (
                lambda: HashZchManagedCollisionModule(
                    SLOTS, cpu, 2, eviction_policy_name=Policy.LRU_EVICTION, eviction_config=ttl
                ),
                {"slotBytes": 12, "eviction": "lru"},
            ),
            (sorting, {"slotBytes": 24, "eviction": "lfu"}),
            (
                lambda: MCHManagedCollisionModule(SLOTS, cpu, DistanceLFU_EvictionPolicy(), eviction_interval=1),
                {"slotBytes": 32, "eviction": "lfu"},
            ),
        ):
            model = net(module)
            storage = torchrec.fill.managed_storage(model)
            self.assertEqual(storage, {"bags_a": expected, "sequences_a": expected})
            collections = [getattr(model, path)._managed_collision_collection for path in PATHS]
            configs = [config for collection in collections for config in collection.embedding_configs()]
            change = publish.workload_change("w", configs, {"bags_a": 1, "sequences_a": 1}, {}, storage=storage)
            self.assertEqual([one["table"]["storage"] for one in change["changes"][1:]], [expected] * 2)
            self.assertEqual([one["table"]["rows"] for one in change["changes"][1:]], [SLOTS] * 2)
        managed(model)["bags_a"]._eviction_policy = object()
        with self.assertRaisesRegex(ValueError, 'Table "bags_a" has the eviction policy object; must be one of SINGLE'):
            torchrec.fill.managed_storage(model)

    def test_ids_of_a_sorting_module_of_any_ids_are_all_on_the_first_rank_which_is_said(self):
        self.assertEqual(models.run(ids_of_ranks, 2, 2, by_default), [7, 0])
        self.assertEqual(models.run(ids_of_ranks, 2, 2, sorting), [7, 6])
        said = "Table bags_a has a sorting managed collision module with the default input_hash_size, 2^63 - 1"
        for function in (torchrec.FillCounter, torchrec.fill.managed_storage):
            self.assertIn(said, self.warnings(function, by_default))
            self.assertNotIn("input_hash_size", self.warnings(function, sorting))
            self.assertEqual(self.warnings(function, hashing), "")

    def test_a_checkpoint_of_a_sorting_module_loads_on_divisors_of_its_ranks_which_is_said(self):
        for before, after in ((2, 1), (1, 2), (4, 2), (2, 4)):
            with tempfile.TemporaryDirectory() as folder:
                models.run(saved, before, before, folder)
                problem = models.run(loaded, after, after, folder)
            with self.subTest(before=before, after=after):
                self.assertEqual(problem is None, before % after == 0, problem)
        for ranks, on in ((1, "1"), (4, "1, 2, 4")):
            with mock.patch.object(fill, "_world_size", lambda: ranks):
                said = f"whose checkpoint of {ranks} ranks TorchRec loads on {on} ranks only: a restart on others fails"
                self.assertIn(said, self.warnings(torchrec.FillCounter, sorting))

    def warnings(self, function, module):
        """Returns what a function says of a model with such modules."""
        fill.warn_once.cache_clear()
        with mock.patch.object(logging.getLogger("shardtide"), "warning") as warned:
            function(net(module))
        return "; ".join(call.args[1] for call in warned.call_args_list)

    def test_models_that_cannot_be_counted_are_refused(self):
        plain = models.nn.Module()
        with self.assertRaisesRegex(ValueError, "Module has no ManagedCollisionCollection"):
            torchrec.FillCounter(plain)
        twice = net(sorting)
        twice.other = net(sorting)
        with self.assertRaisesRegex(
            ValueError, 'Table "bags_a" is in modules "bags.*" and "other.bags.*"; must be in one'
        ):
            torchrec.FillCounter(twice)
        unknown = net(sorting)
        managed(unknown)["bags_a"] = models.nn.Identity()
        with self.assertRaisesRegex(ValueError, 'Table "bags_a" .* has a Identity, which is not supported; must be'):
            torchrec.FillCounter(unknown)


if __name__ == "__main__":
    unittest.main()
