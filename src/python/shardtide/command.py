"""shardtide-py COMMAND: each command is a module with add_arguments(parser) and run(options), imported when called.

Options and variables of clusters are those of ./shardtide. The status is 0, 1 if something was refused or failed, and 2
for a wrong call, wrong values included.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from shardtide import __version__
from shardtide.arguments import mapping, parse_json, read_json, read_text
from shardtide.errors import ShardtideError

if TYPE_CHECKING:
    from shardtide.log import Log

T = TypeVar("T")

# The module of each command, and what it does.
COMMANDS = {
    "plans": ("shardtide.log.__main__", "Shows plans: the latest of each workload, then each new one, until Ctrl-C."),
    "publish": ("shardtide.torchrec.publish", "Publishes the tables of a TorchRec model as a workload."),
    "convert": ("shardtide.torchrec.convert", "Converts plans for TorchRec, and plans of TorchRec for plan evaluate."),
    "import": ("shardtide.imports.__main__", "Imports tables of another system as a workload, and collectives of nccl-tests."),
    "profile": ("shardtide.profile.__main__", "Measures how lookups spread over rows of tables, from files of ids."),
    "collect": ("shardtide.collect.__main__", "Measures sets of shards, plans, and links between nodes."),
}


# Packages that commands need, and errors that are one line.
_PACKAGES = ("torch", "numpy", "confluent_kafka", "avro")
_EXPECTED = (ValueError, OSError, MemoryError, ShardtideError)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line: --help shows the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None, name: str | None = None) -> None:
    """Runs a command, the first argument unless it is named, with these arguments, those of the process unless given."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if name is None:
        parser = Parser("shardtide-py", epilog="shardtide-py COMMAND --help shows the options of a command.")
        parser.add_argument("--version", action="version", version=__version__)
        commands = parser.add_subparsers(metavar="COMMAND", required=True)
        for each, (_, does) in COMMANDS.items():
            commands.add_parser(each, help=does)
        parser.parse_args(given[:1] or ["--help"])
        name = given.pop(0)
    module, does = COMMANDS[name]
    parser = Parser(f"shardtide-py {name}", description=does)
    # What the message of an interrupted command says more.
    parser.set_defaults(interrupted="")
    logging.basicConfig(format="%(message)s")
    options = argparse.Namespace(interrupted="")
    try:
        command = importlib.import_module(module)
        command.add_arguments(parser)
        options = parser.parse_args(given)
        status = command.run(options)
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: interrupted{options.interrupted}\n")
    except Exception as e:
        missing = isinstance(e, ModuleNotFoundError) and e.name in _PACKAGES
        # Kafka's package need not be there.
        if not (missing or isinstance(e, _EXPECTED) or type(e).__name__ == "KafkaException"):
            raise
        is_wrong = isinstance(e, (ValueError, FileNotFoundError)) and not isinstance(e, ShardtideError)
        parser.exit(2 if is_wrong else 1, f"{parser.prog}: {e}\n")
    if status:
        sys.exit(status)


def checked(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Returns a type of an option, whose ValueError and OSError say what is wrong with its value."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except (ValueError, OSError) as e:
            raise argparse.ArgumentTypeError(str(e)) from None

    return parsed


def positive(number: Callable[[str], float]) -> Callable[[str], float]:
    """Returns a type of an option, int or float, whose values are finite and above 0."""

    def parse(text: str) -> float:
        value = number(text)
        if not 0 < value < float("inf"):
            raise ValueError(f"must be above 0, got {text}")
        return value

    return checked(parse)


def json_object(of: str) -> Callable[[str], dict[str, Any]]:
    """Returns a type of an option, a file of a JSON object. of: what it has, for messages"""
    return checked(lambda path: dict(mapping(read_json(path), path, of)))


def add_cluster(parser: argparse.ArgumentParser, timeout_seconds: float) -> None:
    """Adds the options of commands that connect to a cluster, from which log_of() makes a Log, and those for output."""
    add = parser.add_argument
    # Where version 0.2.0 had the addresses.
    add("addresses", nargs="*", help=argparse.SUPPRESS)
    kafka = "Kafka (default: the variable SHARDTIDE_BOOTSTRAP_SERVER)"
    add("-b", "--bootstrap-server", metavar="HOST:PORT", help=kafka)
    add("--registry", metavar="URL", help="schema registry (default: the variable SHARDTIDE_REGISTRY)")
    add("--prefix", default="shardtide.", help="prefix of the topics' names")
    wait = "how long to wait for Kafka"
    add("--timeout", type=positive(float), default=timeout_seconds, metavar="SECONDS", help=wait)
    config = 'settings of librdkafka, such as TLS and SASL, and after "registry." of the registry: properties, or JSON'
    add("--command-config", "--settings", type=checked(_settings), default={}, metavar="FILE", help=config)
    add_output(parser)


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=("text", "json", "jsonl"), default="text", help="what is printed as")


def _settings(path: str) -> dict[str, Any]:
    text = read_text(path)
    if text.lstrip().startswith("{"):
        return dict(parse_json(text, path))
    lines = [line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] not in "#!"]
    return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}


def log_of(options: argparse.Namespace) -> Log:
    """Returns the Log of a command's cluster; ValueError if an address is missing."""
    from shardtide.log import Log

    old = [*options.addresses, None, None]
    kafka = options.bootstrap_server or old[0] or os.environ.get("SHARDTIDE_BOOTSTRAP_SERVER")
    registry = options.registry or old[1] or os.environ.get("SHARDTIDE_REGISTRY")
    if not kafka or not registry or len(old) > 4:
        raise ValueError(
            "this command needs a cluster: give --bootstrap-server and --registry, or set SHARDTIDE_BOOTSTRAP_SERVER"
            " and SHARDTIDE_REGISTRY"
        )
    own = {name[len("registry.") :]: v for name, v in options.command_config.items() if name.startswith("registry.")}
    others = {name: value for name, value in options.command_config.items() if not name.startswith("registry.")}
    return Log({"bootstrap.servers": kafka, **others}, {"url": registry, **own}, options.prefix, None, options.timeout)


def show(options: argparse.Namespace, text: str, record: Any) -> None:
    """Prints a text, or the record that it is of."""
    print(text if options.output == "text" else json.dumps(record, default=str), flush=True)


if __name__ == "__main__":
    main()
