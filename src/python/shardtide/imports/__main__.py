"""Imports the tables of another system as a workload, and measured collectives as samples."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

from shardtide import command
from shardtide.arguments import check_text
from shardtide.imports import checkpoint, hugectr, nccl_tests, torcheasyrec
from shardtide.imports.imported import Imported
from shardtide.imports.zipf import zipf_cdf
from shardtide.optimizers import OPTIMIZERS
from shardtide.torchrec.workload import Workload

_FORMATS = {
    "hugectr": "a model's JSON, or a text with the arguments of the benchmark of its embedding collection",
    "torcheasyrec": "a configuration in protobuf's text format",
    "checkpoint": "the folder of a checkpoint of torch.distributed of a TorchRec model; needs torch",
    "nccl-tests": "output of all_reduce_perf, alltoall_perf, reduce_scatter_perf or all_gather_perf, or their JSON",
}
_OPTIONS_OF = {
    "dataset": "hugectr",
    "rows": "torcheasyrec",
    "module": "checkpoint",
    **dict.fromkeys(("hardware", "collective", "devices_per_node"), "nccl-tests"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, file = parser.add_argument, command.json_object
    add("format", choices=_FORMATS, help="; ".join(f"{of}: {what}" for of, what in _FORMATS.items()))
    add("source", nargs="+", help="a file, of nccl-tests several; of a checkpoint its folder")
    add("--dataset", help="hugectr: name of one of several datasets")
    add("--rows", type=file("a number for each feature"), help="torcheasyrec: JSON: rows of features with a vocab_file")
    add("--module", help="checkpoint: path of the modules whose tables are meant")
    add("--task", help="name of the workload (default: that of the file, without its ending)")
    cluster = 'JSON: the cluster of a workload, such as {"devices": 8, "batchSize": 65536, "hardware": "h200", ...}'
    add("--cluster", type=file("the fields of a cluster"), help=cluster + "; required for tables")
    lookups = "JSON: an object with the mean number of lookups per sample of features, in place of the source's"
    add("--lookups", type=file("a number for each feature"), help=lookups)
    add("--default-lookups", type=float, metavar="N", help="lookups per sample of all other features")
    add("--profiles", type=file("a profile for each table"), help="JSON: what shardtide-py profile --out wrote")
    zipf = "tables without a profile get the access CDF of Zipf's law with this exponent, 0 to 10: of generated data"
    add("--zipf", type=float, metavar="EXPONENT", help=zipf)
    add("--optimizer", choices=sorted(OPTIMIZERS), help="of the tables, in place of the source's")
    hardware = "nccl-tests: name of the measured hardware, as for ./shardtide model train; required"
    add("--hardware", metavar="NAME", help=hardware)
    add("--collective", choices=nccl_tests.COLLECTIVES, help="nccl-tests: of text that does not name its program")
    per_node = "nccl-tests: devices that NVLink connects (default: those of a host)"
    add("--devices-per-node", type=command.positive(int), metavar="N", help=per_node)
    out = (
        "where to write the workload, for -f of ./shardtide plan make and workload apply (default: standard output); of"
        " nccl-tests the folder of samples, for --samples and --links of ./shardtide model train (required)"
    )
    add("--out", type=pathlib.Path, help=out)


def _read(arguments: argparse.Namespace, source: str) -> Imported:
    if arguments.format == "hugectr":
        return hugectr.read(source, arguments.cluster.get("devices"), arguments.dataset)
    if arguments.format == "torcheasyrec":
        return torcheasyrec.read(source, arguments.rows)
    return checkpoint.read(source, arguments.module)


def _say(notes: list[str]) -> None:
    for note in notes:
        print(f"shardtide-py import: {note}", file=sys.stderr)


def run(arguments: argparse.Namespace) -> None:
    for option, of in _OPTIONS_OF.items():
        if getattr(arguments, option) is not None and arguments.format != of:
            raise ValueError(f"--{option.replace('_', '-')} must be given with {of} only, got {arguments.format}")
    required = ("hardware", "out") if arguments.format == "nccl-tests" else ("cluster",)
    if missing := [f"--{option}" for option in required if getattr(arguments, option) is None]:
        raise ValueError(f"the following arguments are required: {', '.join(missing)}")
    if arguments.format == "nccl-tests":
        hardware = check_text(arguments.hardware, "--hardware")
        about = (arguments.collective, arguments.devices_per_node)
        return _say(nccl_tests.write(arguments.source, hardware, arguments.out, *about))
    if len(arguments.source) > 1:
        raise ValueError(f"{arguments.format} must have one source, got {len(arguments.source)}")
    (source,) = arguments.source
    imported = _read(arguments, source)
    lookups = imported.all_lookups(arguments.lookups, arguments.default_lookups)
    profiles = arguments.profiles or {}
    if arguments.zipf is not None:
        for config in imported.configs:
            profiles.setdefault(config["name"], {"accessCdf": zipf_cdf(config["num_embeddings"], arguments.zipf)})
    tables = imported.tables(lookups, arguments.optimizer, profiles)
    _say(imported.notes)
    task = check_text(arguments.task or pathlib.Path(source).resolve().stem, "--task")
    line = json.dumps(Workload(task).cluster(arguments.cluster).add(tables).line()) + "\n"
    sys.stdout.write(line) if arguments.out is None else arguments.out.write_text(line, encoding="utf-8")


if __name__ == "__main__":
    command.main(name="import")
