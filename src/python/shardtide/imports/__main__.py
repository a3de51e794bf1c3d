"""Imports the tables of another system as a workload; of NeuroShard its samples too.

python -m shardtide.imports hugectr FILE [--dataset NAME] ...
python -m shardtide.imports torcheasyrec FILE [--rows FILE] ...
python -m shardtide.imports checkpoint FOLDER [--module PATH] ...
    [--task NAME] --cluster FILE [--lookups FILE] [--default-lookups N] [--profiles FILE] [--zipf EXPONENT]
    [--optimizer NAME] [--out FILE] [--publishable FOLDER]
python -m shardtide.imports neuroshard FILE --tables FILE --cluster FILE [--out FILE]
python -m shardtide.imports neuroshard FOLDER [--tables FILE] --out FOLDER

hugectr       a model's JSON, or a text with the arguments of the benchmark of its embedding collection
torcheasyrec  a configuration in protobuf's text format
checkpoint    the folder of a checkpoint of torch.distributed of a TorchRec model; needs torch
neuroshard    a file of tasks, a workload each, named by their position; or a folder of labelled samples

--cluster          JSON: an object with the cluster's fields in a file of workloads, such as
                   {"devices": 8, "memoryBytesPerDevice": 85899345920, "batchSize": 65536, "hardware": "h200"}
--rows             JSON: an object with the rows of features whose vocabulary is in a file
--lookups          JSON: an object with the mean number of lookups per sample of each feature, in place of the source's
--default-lookups  lookups per sample of features that neither the source nor --lookups says
--profiles         JSON: what `python -m shardtide.profile --out` wrote, by table
--zipf             tables without a profile get the access CDF of Zipf's law with this exponent: of generated data
--tables           neuroshard: table_configs.json; of samples by default that in the folder or its parent
--out              where to write the workload, a line for `shardtide plan make -f`; default: standard output.
                   Of samples: the sample folder to write, for `shardtide model train` and `evaluate`
--publishable      a folder for configs.json, lookups.json, profiles.json, storage.json, constraints.json, kernels.json
                   and weights.json, for options of python -m shardtide.torchrec.publish; --cluster is then not needed

What the source does not say is printed on standard error, with what is taken instead.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any

from shardtide.arguments import check_text, mapping, read_json
from shardtide.imports import checkpoint, hugectr, neuroshard, torcheasyrec
from shardtide.imports.imported import Imported, workload
from shardtide.imports.zipf import zipf_cdf
from shardtide.optimizers import OPTIMIZERS

_OPTIONS_OF = {"dataset": "hugectr", "rows": "torcheasyrec", "module": "checkpoint", "tables": "neuroshard"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shardtide.imports",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("format", choices=("hugectr", "torcheasyrec", "checkpoint", "neuroshard"))
    parser.add_argument("source", help="a file; of a checkpoint or of samples its folder")
    parser.add_argument("--dataset", help="hugectr: name of one of several datasets")
    parser.add_argument("--rows", help="torcheasyrec: JSON file: rows by feature, of those with a vocab_file")
    parser.add_argument("--module", help="checkpoint: path of the modules whose tables are meant")
    parser.add_argument("--tables", help="neuroshard: table_configs.json")
    parser.add_argument("--task", help="name of the workload (default: that of the file, without its ending)")
    parser.add_argument("--cluster", help="JSON file: an object with the cluster's fields")
    parser.add_argument("--lookups", help="JSON file: lookups per sample by feature")
    parser.add_argument("--default-lookups", type=float, metavar="N", help="lookups per sample of all other features")
    parser.add_argument("--profiles", help="JSON file: profiles of tables by name, see python -m shardtide.profile")
    parser.add_argument("--zipf", type=float, metavar="EXPONENT", help="of tables without a profile, from 0 to 10")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), help="of the tables, in place of the source's")
    parser.add_argument("--out", type=pathlib.Path, help="file for the workload (default: standard output), or folder")
    parser.add_argument("--publishable", type=pathlib.Path, metavar="FOLDER", help="folder for files to publish")
    return parser


def _object(path: str | None, option: str, of: str) -> dict[str, Any]:
    return dict(mapping(read_json(path), f"{option} {path}", of)) if path else {}


def _read(arguments: argparse.Namespace, cluster: dict[str, Any]) -> Imported:
    if arguments.format == "hugectr":
        return hugectr.read(arguments.source, cluster.get("devices"), arguments.dataset)
    if arguments.format == "torcheasyrec":
        return torcheasyrec.read(arguments.source, _object(arguments.rows, "--rows", "a number for each feature"))
    return checkpoint.read(arguments.source, arguments.module)


def _write(lines: list[dict[str, Any]], out: pathlib.Path | None) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="utf-8")


def _neuroshard(arguments: argparse.Namespace) -> None:
    """Writes the workloads of tasks, or the sample folder of samples."""
    source = pathlib.Path(arguments.source)
    taken = ("tables", "out") if source.is_dir() else ("tables", "out", "cluster")
    others = [name for name in vars(arguments) if name not in ("format", "source", *taken)]
    given = [f"--{name.replace('_', '-')}" for name in others if getattr(arguments, name) is not None]
    if given:
        raise ValueError(f"neuroshard takes --{', --'.join(taken)} of {source}, got {', '.join(given)}")
    for name in ("out",) if source.is_dir() else ("tables", "cluster"):
        if getattr(arguments, name) is None:
            raise ValueError(f"--{name} must be given with neuroshard and {source}")
    if source.is_dir():
        neuroshard.write_samples(source, arguments.tables, arguments.out)
        return
    cluster = _object(arguments.cluster, "--cluster", "the fields of a cluster")
    tasks = neuroshard.tasks(source, neuroshard.tables(arguments.tables))
    _write([workload(str(place), cluster, task) for place, task in enumerate(tasks)], arguments.out)


def _run(arguments: argparse.Namespace) -> None:
    for option, of in _OPTIONS_OF.items():
        if getattr(arguments, option) is not None and arguments.format != of:
            raise ValueError(f"--{option} must be given with {of} only, got {arguments.format}")
    if arguments.format == "neuroshard":
        _neuroshard(arguments)
        return
    if arguments.cluster is None and arguments.publishable is None:
        raise ValueError("--cluster must be given, or --publishable")
    if arguments.cluster is None and arguments.out is not None:
        raise ValueError("--out needs --cluster")
    cluster = _object(arguments.cluster, "--cluster", "the fields of a cluster")
    imported = _read(arguments, cluster)
    lookups = imported.all_lookups(
        _object(arguments.lookups, "--lookups", "a number for each feature"), arguments.default_lookups
    )
    profiles = _object(arguments.profiles, "--profiles", "a profile for each table")
    if arguments.zipf is not None:
        for config in imported.configs:
            profiles.setdefault(config["name"], {"accessCdf": zipf_cdf(config["num_embeddings"], arguments.zipf)})
    tables = imported.tables(lookups, arguments.optimizer, profiles)
    for note in imported.notes:
        print(f"shardtide.imports: {note}", file=sys.stderr)
    if arguments.publishable is not None:
        arguments.publishable.mkdir(parents=True, exist_ok=True)
        files = {"configs": imported.configs, "lookups": lookups, "profiles": profiles, **imported.options()}
        for name, content in files.items():
            (arguments.publishable / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    if arguments.cluster is not None:
        task = check_text(arguments.task or pathlib.Path(arguments.source).resolve().stem, "--task")
        _write([workload(task, cluster, tables)], arguments.out)


def main() -> None:
    arguments = _parser().parse_args()
    try:
        _run(arguments)
    except (ValueError, OSError) as e:
        sys.exit(f"shardtide.imports: {e}")


if __name__ == "__main__":
    main()
