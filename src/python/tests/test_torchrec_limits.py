"""What TorchRec cannot run, on real TorchRec with two processes, and that no plan of ours asks for it."""

import json
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
from shardtide.torchrec import checkpoint, codecs, modules, publish
from shardtide.torchrec.workload import Workload
from shardtide.torchrec.descriptions import KINDS

if not models.WHY_NOT:
    import torch
    import torch.distributed as dist
    from fbgemm_gpu.split_embedding_configs import EmbOptimType
    from torch import nn
    from torch.distributed import checkpoint as distributed_checkpoint
    from torch.distributed.checkpoint.staging import BlockingAsyncStager
    from torchrec.distributed.embedding import EmbeddingCollectionSharder
    from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
    from torchrec.distributed.fbgemm_qcomm_codec import CommType, QCommsConfig, get_qcomm_codecs_registry
    from torchrec.distributed.fp_embeddingbag import FeatureProcessedEmbeddingBagCollectionSharder
    from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig, EmbeddingConfig
    from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection
    from torchrec.modules.feature_processor_ import PositionWeightedModuleCollection
    from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection
    from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    CPU = torch.device("cpu")

CELLS = json.loads((ROOT / "src/cli/src/test/resources/torchrec/codecs.json").read_text(encoding="utf-8"))
UNPOOLED = ("table_wise", "column_wise", "row_wise")
CLUSTER = {"devices": 2, "memoryBytesPerDevice": 2**30, "batchSize": 64, "hardware": "h200"}
ROWS = 8


def bags(name="a", columns=8, **fields):
    config = EmbeddingBagConfig(
        name=name, num_embeddings=ROWS, embedding_dim=columns, feature_names=[f"f_{name}"], **fields
    )
    return EmbeddingBagCollection(tables=[config])


def weighted():
    config = EmbeddingBagConfig(name="a", num_embeddings=ROWS, embedding_dim=8, feature_names=["f_a"])
    return EmbeddingBagCollection(tables=[config], is_weighted=True)


def of(**children):
    """Returns a module with some children."""
    found = nn.Module()
    for name, child in children.items():
        found.add_module(name, child)
    return found


def plan(kind, columns=8, names=("a",)):
    """Returns a plan of tables, the first one from rank 0 on."""
    return models.plan([(Table(name, ROWS, columns), kind, rank) for rank, name in enumerate(names)], 2, 2)


def sharded(net, shardings, sharders):
    """Returns the net under a TorchRec plan: of a description, its plan."""
    return models.DistributedModelParallel(
        net,
        env=models.ShardingEnv.from_process_group(dist.GroupMember.WORLD),
        device=CPU,
        plan=torchrec.conversions.to_sharding_plan({"plan": shardings}),
        sharders=sharders,
        init_data_parallel=True,
    )


def sgd(rate=1.0):
    return {"optimizer": EmbOptimType.EXACT_SGD, "learning_rate": rate}


def ids(values, feature="f_a", weights=None):
    return KeyedJaggedTensor([feature], torch.tensor(values), lengths=torch.ones(len(values)).int(), weights=weights)


def output(collection, batch):
    found = collection(batch)
    return found.wait() if hasattr(found, "wait") else found


def fill(model):
    """Sets the weights of all tables, the same under all plans."""
    for name, tensor in model.state_dict().items():
        if ".embedding" in name:
            whole = torch.rand(tensor.size(), generator=models.generator(name.split(".")[-2])) - 0.5
            for place, part in models.parts(tensor):
                part.data.copy_(whole[place])


def weights_of(model):
    """Returns this rank's parts of tables."""
    return [part.detach().clone() for _, tensor in sorted(model.state_dict().items()) for _, part in models.parts(tensor)]


# Codecs.


def trained(kind, pooled, columns, samples, forward, backward):
    """Trains a step with codecs; returns outputs, and weights after it. Both ranks have a table, so that both fail."""
    names = ("a", "b")
    if pooled:
        of_tables = [bags(name, columns).embedding_bag_configs()[0] for name in names]
        collection, sharder = EmbeddingBagCollection(tables=of_tables), EmbeddingBagCollectionSharder
    else:
        fields = {"num_embeddings": ROWS, "embedding_dim": columns}
        of_tables = [EmbeddingConfig(name=name, feature_names=[f"f_{name}"], **fields) for name in names]
        collection, sharder = EmbeddingCollection(tables=of_tables), EmbeddingCollectionSharder
    config = QCommsConfig(forward_precision=CommType(forward), backward_precision=CommType(backward))
    description = torchrec.descriptions.describe(plan(kind, columns, names), "e", devices_per_node=2, device="cpu")
    registry = get_qcomm_codecs_registry(config, device=CPU)
    model = sharded(
        of(e=collection), description["plan"], [sharder(fused_params=sgd(), qcomm_codecs_registry=registry)]
    )
    fill(model)
    draw = models.generator("ids", dist.get_rank())
    lengths = torch.randint(0, 4, (2 * samples,), generator=draw)
    looked_up = torch.randint(0, ROWS, (int(lengths.sum()),), generator=draw)
    batch = KeyedJaggedTensor(["f_a", "f_b"], looked_up, lengths=lengths.int())
    found = output(model.module.e, batch)
    outputs = torch.cat([found[f"f_{name}"] if pooled else found[f"f_{name}"].values() for name in names])
    (outputs * torch.rand(outputs.shape, generator=models.generator(dist.get_rank()))).sum().backward()
    return [outputs.detach().clone()], weights_of(model)


def sends(kind, pooled, codec, columns=64, samples=32):
    """Returns whether each direction has a codec: no error on any rank, and the numbers of that codec, not others."""
    of_codecs = {name: trained(kind, pooled, columns, samples, name, name) for name in ("fp32", "fp16")}
    found = []
    for direction in range(2):
        given = ["fp32", "fp32"]
        given[direction] = codec
        try:
            parts = trained(kind, pooled, columns, samples, *given)[direction]
        except (RuntimeError, AssertionError):
            found.append(False)
            continue
        single, half = (
            all(torch.equal(a, b) for a, b in zip(parts, of_codecs[name][direction])) for name in ("fp32", "fp16")
        )
        # On CPUs, TorchRec sends fp16 for bf16, which are as many bytes.
        found.append(single if codec == "fp32" else half if codec in ("fp16", "bf16") else not single and not half)
    of_ranks = [None, None]
    dist.all_gather_object(of_ranks, found)
    if of_ranks[0] != of_ranks[1]:
        raise AssertionError((kind, pooled, codec, of_ranks))
    return found


def all_cells():
    pooled = [kind for kind in KINDS if kind != "data_parallel"]
    return {
        (codec, kind, is_pooled): sends(kind, is_pooled, codec)
        for codec in codecs.CODECS
        for is_pooled, kinds in ((True, pooled), (False, UNPOOLED))
        for kind in kinds
    }


def blocks():
    return {
        (pooled, columns, samples): sends("table_wise", pooled, "int8", columns, samples)
        for pooled, columns, samples in ((True, 4, 8), (True, 4, 4), (True, 32, 3), (False, 32, 3), (False, 8, 3))
    }


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class Codecs(unittest.TestCase):
    def test_each_cell_is_what_torchrec_sends(self):
        for (codec, kind, pooled), found in models.run(all_cells, 2, 2).items():
            with self.subTest(codec=codec, kind=kind, pooled=pooled):
                self.assertEqual(found, [codecs.can_send(codec, kind, "cpu", pooled)] * 2)

    def test_the_table_of_java_has_the_same_cells(self):
        self.assertEqual({cell["codec"] for cell in CELLS}, set(codecs.CODECS))
        for cell in CELLS:
            kinds = [kind for kind in KINDS if codecs.can_send(cell["codec"], kind, cell["processor"])]
            self.assertEqual(kinds, [*cell["kinds"], "data_parallel"], cell)

    def test_int8_is_sent_in_blocks(self):
        for (pooled, columns, samples), found in models.run(blocks, 2, 2).items():
            table = {"name": "a", "columns": columns, "pooled": pooled, "constraints": {"kinds": ["table_wise"]}}
            cluster = {"devices": 2, "batchSize": 2 * samples, "codecs": [{"name": "int8"}]}
            usable, problems = codecs.usable(cluster, [table], "cpu")
            with self.subTest(pooled=pooled, columns=columns, samples=samples):
                self.assertEqual(found, [bool(usable)] * 2)
                self.assertEqual("in blocks of 32 numbers" in "".join(problems), not usable)

    def test_codecs_of_a_cluster_are_those_that_all_kinds_of_its_tables_can_send(self):
        def names(device, kinds, name="int8", **fields):
            table = {"name": "a", "columns": 64, "constraints": {"kinds": kinds}, **fields}
            cluster = {"devices": 2, "batchSize": 64, "codecs": [{"name": "fp16"}, {"name": name}]}
            found, problems = codecs.usable(cluster, [table], device)
            return [codec["name"] for codec in found], problems

        columns = ["table_wise", "column_wise"]
        self.assertEqual(names("cpu", columns), (["fp16", "int8"], []))
        self.assertEqual(names("cpu", ["data_parallel"], "fp8"), (["fp16", "fp8"], []))
        self.assertEqual(names("cuda", columns, "fp8"), (["fp16", "fp8"], []))
        self.assertEqual(names("cpu", [*columns, "row_wise"], pooled=False), (["fp16", "int8"], []))
        for device, kinds, name, fields, problem in (
            ("cuda", [], "int8", {}, "int8: TorchRec does not send it on cuda for row_wise, table_row_wise, grid_shard"),
            ("cpu", columns, "fp8", {}, "fp8: TorchRec does not send it on cpu for table_wise, column_wise tables"),
            ("cpu", columns, "top10", {}, "top10: TorchRec has no such codec; must be one of fp32, fp16, bf16, fp8"),
            ("cpu", columns, "int8", {"features": [{"name": "f", "batchShare": 0.3}]}, "samples of a device times"),
            ("cpu", columns, "int8", {"pooled": False, "columns": 48}, "blocks of 32 numbers"),
            ("cpu", ["row_wise"], "fp8", {"pooled": False}, "fp8: TorchRec does not send it on cpu for row_wise tables"),
        ):
            found, problems = names(device, kinds, name, **fields)
            self.assertEqual(found, ["fp16"])
            self.assertIn(problem, "".join(problems))

    def test_a_plan_with_a_codec_that_is_not_sent_is_refused(self):
        for scope, device, name in (("cluster", "cuda", "int8"), ("node", "cuda", "fp8"), ("device", "cpu", "fp8")):
            used = {"scope": scope, "direction": "backward", "codec": {"name": name}, "savedMs": 1.0}
            with self.assertRaisesRegex(ValueError, f"backward collectives of scope {scope} have codec {name}, which"):
                torchrec.descriptions.describe({**plan("table_wise"), "codecs": [used]}, "e", devices_per_node=2, device=device)


# A collection that a model holds under two names.


def towers():
    shared = bags()
    # Moves need a dense parameter.
    return of(one=of(e=shared), two=of(e=shared), top=nn.Linear(1, 1))


def shared_training(folder, kind):
    """Trains both towers; returns whether both have the table, and what it is after a step and a checkpoint."""
    net = towers()
    description = torchrec.modules.describe_for(net, plan(kind), device="cpu", devices_per_node=2)
    model = sharded(net, description["plan"], [EmbeddingBagCollectionSharder(fused_params=sgd())])
    fill(model)
    one, two = model.module.one.e, model.module.two.e
    checkpoint.save(model, folder)
    before = output(two, ids([0, 7]))["f_a"].detach().clone()
    (output(one, ids([0, 7]))["f_a"].sum() + output(two, ids([0, 7]))["f_a"].sum()).backward()
    after = [output(tower, ids([0, 7]))["f_a"].detach().clone() for tower in (one, two)]
    missing = checkpoint.load(model, folder)
    restored = output(one, ids([0, 7]))["f_a"].detach().clone()
    resharder, moved = torchrec.TorchRecResharder(model, devices_per_node=2), None
    if kind == "table_wise":
        prepared = resharder.prepare(plan("column_wise"))
        resharder.apply(prepared)
        moved = list(prepared.changes["plan"])
        restored = output(two, ids([0, 7]))["f_a"].detach().clone()
    return {
        "is one": one is two,
        "steps": [(before - found).abs().max().item() for found in after],
        "restored": torch.equal(before, restored),
        "missing": missing,
        "moved": moved,
    }


def under_the_second_alone():
    net = towers()
    description = torchrec.descriptions.describe(plan("table_wise"), "two.e", devices_per_node=2, device="cpu")
    model = sharded(net, description["plan"], [EmbeddingBagCollectionSharder(fused_params=sgd())])
    return model.module.one.e is model.module.two.e


def types_of_towers():
    net = towers()
    description = torchrec.descriptions.describe(plan("table_wise"), {"a": ["one.e", "two.e"]}, devices_per_node=2, device="cpu")
    model = sharded(net, description["plan"], [EmbeddingBagCollectionSharder(fused_params=sgd())])
    return model.module.one.e is model.module.two.e


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class SharedOfEachRelease(unittest.TestCase):
    def test_it_is_refused_where_torchrec_makes_two_of_it_under_both_paths(self):
        self.assertEqual(models.run(types_of_towers, 2, 2), modules._shards_once())
        with mock.patch.object(modules, "_shards_once", lambda: False):
            with self.assertRaisesRegex(ValueError, 'Modules "one.e", "two.e" are one collection, of which this Torch'):
                torchrec.modules.table_modules(towers())


@unittest.skipUnless(not models.WHY_NOT and modules._shards_once(), "TorchRec trains a copy for each name")
class Shared(unittest.TestCase):
    def test_it_is_one_table_that_is_published_once_and_planned_under_all_its_paths(self):
        change = Workload("w").cluster(dict(CLUSTER)).model(towers(), {"f_a": 1.0}).change()
        self.assertEqual([one["table"]["name"] for one in change["changes"] if "table" in one], ["a"])
        self.assertEqual(torchrec.modules.table_modules(towers()), {"a": ["one.e", "two.e"]})
        self.assertEqual(list(torchrec.modules.collections(towers())), ["one.e"])
        # TorchRec meets children in the order in which they were added.
        shared = bags()
        self.assertEqual(list(torchrec.modules.collections(of(z=of(e=shared), b=of(e=shared)))), ["z.e"])
        found = torchrec.modules.describe_for(towers(), plan("row_wise"), device="cpu", devices_per_node=2)
        self.assertEqual(list(found["plan"]), ["one.e", "two.e"])
        self.assertEqual(found["plan"]["one.e"], found["plan"]["two.e"])
        again = torchrec.modules.describe_for(towers(), found, device="cpu", devices_per_node=2)
        self.assertEqual(again["plan"], found["plan"])

    def test_it_is_trained_saved_and_resharded_as_one(self):
        for kind in ("table_wise", "row_wise"):
            with tempfile.TemporaryDirectory() as folder:
                found = models.run(shared_training, 2, 2, folder, kind)
            # Two ranks, of which each has a gradient of 1 for both towers; TorchRec takes the mean of ranks.
            self.assertEqual(found["steps"], [2.0, 2.0])
            self.assertEqual((found["is one"], found["restored"], found["missing"]), (True, True, []))
            self.assertEqual(found["moved"], ["one.e"] if kind == "table_wise" else None)

    def test_torchrec_makes_two_of_it_under_the_second_path_alone_which_is_refused(self):
        self.assertFalse(models.run(under_the_second_alone, 2, 2))
        second = torchrec.descriptions.describe(plan("table_wise"), "two.e", devices_per_node=2, device="cpu")
        with self.assertRaisesRegex(ValueError, 'Table "a" of module "one.e" is not in the plan'):
            torchrec.modules.check_model(towers(), second)
        first = torchrec.descriptions.describe(plan("table_wise"), "one.e", devices_per_node=2, device="cpu")
        torchrec.modules.check_model(towers(), first)
        first["plan"]["two.e"] = torchrec.descriptions.describe(plan("row_wise"), "x", devices_per_node=2, device="cpu")["plan"]["x"]
        with self.assertRaisesRegex(ValueError, 'Module "two.e" is the same as "one.e", with other shardings'):
            torchrec.modules.check_model(towers(), first)
        with self.assertRaisesRegex(ValueError, 'Table "a" is in modules "one.e" and "two.e" with different shardings'):
            torchrec.descriptions.describe(first, devices_per_node=2)

    def test_two_names_in_one_module_are_refused(self):
        shared = bags()
        with self.assertRaisesRegex(ValueError, 'Module "x" has one EmbeddingBagCollection as one and as two, of which'):
            torchrec.modules.collections(of(x=of(one=shared, two=shared)))


# Optimizers in the backward pass.


def in_backward():
    net = of(e=bags())
    apply_optimizer_in_backward(torch.optim.SGD, net.e.parameters(), {"lr": 0.5})
    return net


def step_of(kind):
    """Returns how much a row changes in a step of the optimizer in backward, 0.5, or of the dense one, 0.01."""
    net = in_backward()
    description = torchrec.descriptions.describe(plan(kind), "e", devices_per_node=2, device="cpu")
    model = sharded(net, description["plan"], [EmbeddingBagCollectionSharder()])
    fill(model)
    dense = [p for p in model.parameters() if not hasattr(p, "_in_backward_optimizers")]
    before = output(model.module.e, ids([0]))["f_a"]
    before.sum().backward()
    if dense:
        torch.optim.SGD(dense, lr=0.01).step()
    return (before - output(model.module.e, ids([0]))["f_a"]).max().item()


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class InBackward(unittest.TestCase):
    def test_a_copied_table_would_be_trained_with_the_dense_rate_and_is_not_planned(self):
        self.assertAlmostEqual(models.run(step_of, 2, 2, "table_wise"), 0.5, places=6)
        self.assertAlmostEqual(models.run(step_of, 2, 2, "data_parallel"), 0.01, places=6)
        change = Workload("w").cluster(dict(CLUSTER)).model(in_backward(), {"f_a": 1.0}).change()
        kinds = [kind for kind in KINDS if kind != "data_parallel"]
        self.assertEqual(change["changes"][1]["table"]["constraints"], {"kinds": kinds})
        only = {"a": {"kinds": ["data_parallel"]}}
        with self.assertRaisesRegex(ValueError, "Table a must be allowed one of table_wise, .*, got data_parallel"):
            Workload("w").cluster(dict(CLUSTER)).model(in_backward(), {"f_a": 1.0}, constraints=only).change()
        with self.assertRaisesRegex(ValueError, 'Table "a" of module "e" is data_parallel and has an optimizer in the'):
            torchrec.modules.describe_for(in_backward(), plan("data_parallel"), device="cuda", devices_per_node=2)
        torchrec.modules.describe_for(in_backward(), plan("table_wise"), device="cpu", devices_per_node=2)
        torchrec.modules.describe_for(of(e=bags()), plan("data_parallel"), device="cuda", devices_per_node=2)


# Weights that a network computes.


def gradients_of_weights(kind):
    net = of(e=weighted())
    description = torchrec.descriptions.describe(plan(kind), "e", devices_per_node=2, device="cpu")
    model = sharded(net, description["plan"], [EmbeddingBagCollectionSharder(fused_params=sgd())])
    fill(model)
    computed = torch.ones(4, requires_grad=True)
    output(model.module.e, ids([0, 1, 6, 7], weights=computed * 2))["f_a"].sum().backward()
    return computed.grad is not None and bool(computed.grad.abs().sum() > 0)


def processed():
    return of(e=FeatureProcessedEmbeddingBagCollection(weighted(), PositionWeightedModuleCollection({"f_a": 9})))


def gradients_of_processors(kind):
    description = torchrec.descriptions.describe(plan(kind), "e", devices_per_node=2, device="cpu")
    sharder = FeatureProcessedEmbeddingBagCollectionSharder(EmbeddingBagCollectionSharder(fused_params=sgd()))
    model = sharded(processed(), description["plan"], [sharder])
    output(model.module.e, ids([0, 1, 6, 7]))["f_a"].sum().backward()
    own = [p.grad for name, p in model.named_parameters() if "position_weights" in name]
    sums = [None, None]
    dist.all_gather_object(sums, [0.0 if one is None else one.abs().sum().item() for one in own])
    return sum(map(sum, sums)) > 0


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class LearnedWeights(unittest.TestCase):
    LEARNED = {"weights": {"f_a": "learned"}}

    def test_they_have_gradients_of_copies_only_which_is_what_is_planned(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.assertEqual(models.run(gradients_of_weights, 2, 2, kind), kind == "data_parallel")
        change = Workload("w").cluster(dict(CLUSTER)).model(of(e=weighted()), {"f_a": 1.0}, **self.LEARNED).change()
        self.assertEqual(change["changes"][1]["table"]["constraints"], {"kinds": ["data_parallel"]})
        self.assertEqual(change["changes"][1]["table"]["idWeights"], "learned")
        given = Workload("w").cluster(dict(CLUSTER)).model(of(e=weighted()), {"f_a": 1.0}).change()
        self.assertNotIn("constraints", given["changes"][1]["table"])
        net = of(e=weighted())
        apply_optimizer_in_backward(torch.optim.SGD, net.parameters(), {"lr": 0.5})
        with self.assertRaisesRegex(ValueError, "Table a must be allowed one of no kind, which TorchRec has for such"):
            Workload("w").cluster(dict(CLUSTER)).model(net, {"f_a": 1.0}, **self.LEARNED).change()

    def test_those_of_feature_processors_have_them_under_all_kinds(self):
        for kind in ("table_wise", "row_wise"):
            self.assertTrue(models.run(gradients_of_processors, 2, 2, kind))
        change = Workload("w").cluster(dict(CLUSTER)).model(processed(), {"f_a": 1.0}, **self.LEARNED).change()
        self.assertNotIn("constraints", change["changes"][1]["table"])


# Types of numbers on CPUs.


def trains_on_cpus(data_type, output_type):
    """Trains a row-wise table, so that all ranks meet the error; returns whether its weights change."""
    net = of(e=bags(data_type=DataType[data_type]))
    description = torchrec.descriptions.describe(plan("row_wise"), "e", devices_per_node=2, device="cpu")
    description["plan"]["e"]["a"]["output_dtype"] = output_type
    model = sharded(net, description["plan"], [EmbeddingBagCollectionSharder(fused_params=sgd())])
    before = output(model.module.e, ids([0, 7]))["f_a"]
    before.float().sum().backward()
    return not torch.equal(before, output(model.module.e, ids([0, 7]))["f_a"])


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class NumbersOnCpus(unittest.TestCase):
    def test_fbgemm_trains_fp32_and_fp16_alone_on_cpus_and_others_are_refused(self):
        self.assertTrue(models.run(trains_on_cpus, 2, 2, "FP16", "FP32"))
        for data_type in ("BF16", "NFP8", "INT8", "UINT8", "INT4", "INT2"):
            # Of integers, TorchRec does not even make the table.
            with self.assertRaisesRegex(AssertionError, "not implemented for|Shard tensor size|Could not run"):
                models.run(trains_on_cpus, 2, 2, data_type, "FP32")
            net = of(e=bags(data_type=DataType[data_type]))
            with self.assertRaisesRegex(ValueError, f'Table "a" has the data_type {data_type}, which FBGEMM.s CPU'):
                torchrec.modules.describe_for(net, plan("row_wise"), device="cpu", devices_per_node=2)
            torchrec.modules.describe_for(net, plan("row_wise"), device="cuda", devices_per_node=2)
        for output_type in ("BF16", "INT8"):
            with self.assertRaisesRegex(AssertionError, "not implemented for 'BFloat16'|only supported for cuda"):
                models.run(trains_on_cpus, 2, 2, "FP32", output_type)
            kernel = {"table": "a", "kernel": {"outputType": output_type}, "enforceHbm": False}
            with self.assertRaisesRegex(ValueError, f'Table "a" has the output_dtype {output_type}, which FBGEMM.s CPU'):
                torchrec.descriptions.describe({**plan("row_wise"), "kernels": [kernel]}, "e", devices_per_node=2, device="cpu")


# What TORCHREC.md says of training programs.


def saved_in_background(folder, has_stager):
    model = row_wise()
    before = weights_of(model)
    stager = {"async_stager": BlockingAsyncStager()} if has_stager else {}
    group = dist.new_group(backend="gloo")
    saving = distributed_checkpoint.async_save(
        model.state_dict(), checkpoint_id=folder, process_group=group, **stager
    )
    output(model.module.e, ids([0, 7]))["f_a"].sum().backward()
    saving.result()
    after = weights_of(model)
    distributed_checkpoint.load(model.state_dict(), checkpoint_id=folder)
    return not torch.equal(after[0], before[0]), torch.equal(weights_of(model)[0], before[0])


def blocks_of_equal_seeds(seed_of_rank):
    torch.manual_seed(seed_of_rank * dist.get_rank())
    model = row_wise(is_filled=False)
    of_ranks = [None, None]
    dist.all_gather_object(of_ranks, weights_of(model)[0])
    return torch.equal(*of_ranks)


def row_wise(is_filled=True):
    description = torchrec.descriptions.describe(plan("row_wise"), "e", devices_per_node=2, device="cpu")
    sharder = EmbeddingBagCollectionSharder(fused_params=sgd())
    model = sharded(of(e=bags()), description["plan"], [sharder])
    if is_filled:
        fill(model)
    return model


@unittest.skipIf(models.WHY_NOT, models.WHY_NOT)
class Programs(unittest.TestCase):
    def test_checkpoints_in_the_background_need_a_blocking_stager(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(models.run(saved_in_background, 2, 2, folder, True), (True, True))
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(AssertionError, "not supported for Shard"):
            models.run(saved_in_background, 2, 2, folder, False)

    def test_equal_seeds_make_equal_blocks_of_rows(self):
        self.assertTrue(models.run(blocks_of_equal_seeds, 2, 2, 0))
        self.assertFalse(models.run(blocks_of_equal_seeds, 2, 2, 1))


if __name__ == "__main__":
    unittest.main()
