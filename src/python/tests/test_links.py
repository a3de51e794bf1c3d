"""The bandwidth between nodes, as shardtide.collect links measures and writes it. Needs PyTorch."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "src/python"
sys.path.insert(0, str(PACKAGE))

try:
    import torch

    from shardtide.collect import links
    from shardtide.collect.links import LinkSpeed
except ModuleNotFoundError:
    torch = None


@unittest.skipUnless(torch, "PyTorch is not installed")
class PairsTest(unittest.TestCase):
    def test_each_pair_is_measured_once(self):
        for nodes, at_once in itertools.product((2, 3, 4, 5, 8, 13), (1, 2, 100)):
            with self.subTest(nodes=nodes, at_once=at_once):
                rounds = links.rounds_of_pairs(nodes, at_once)
                pairs = [pair for pairs in rounds for pair in pairs]
                self.assertEqual(sorted(pairs), list(itertools.combinations(range(nodes), 2)))
                for pairs in rounds:
                    self.assertTrue(1 <= len(pairs) <= at_once)
                    busy = [node for pair in pairs for node in pair]
                    self.assertEqual(len(set(busy)), len(busy), "no node is in two pairs at a time")

    def test_all_nodes_are_busy_if_they_may_be(self):
        self.assertEqual([len(pairs) for pairs in links.rounds_of_pairs(8, 100)], [4] * 7)
        self.assertEqual([len(pairs) for pairs in links.rounds_of_pairs(7, 100)], [3] * 7)
        self.assertEqual([len(pairs) for pairs in links.rounds_of_pairs(8, 3)], [3, 1] * 7)


@unittest.skipUnless(torch, "PyTorch is not installed")
class FileTest(unittest.TestCase):
    def setUp(self):
        self.speeds = {(0, 2): LinkSpeed(3.25, 2), (0, 1): LinkSpeed(9.87654, 11), (1, 2): LinkSpeed(5, 5)}

    def test_the_smaller_of_two_directions_counts(self):
        written = json.loads(links.to_json(["a", "b", 'c"'], self.speeds))
        self.assertEqual(written["matrix"], [[0, 9.877, 2], [9.877, 0, 5], [2, 5, 0]])
        self.assertEqual(written["nodes"], ["a", "b", 'c"'])

    def test_the_file_is_the_one_that_java_tests_read(self):
        expected = (PACKAGE.parents[1] / "src/cli/src/test/resources/links.json").read_text()
        self.assertEqual(links.to_json(["n1", "n2", "n3"], self.speeds), expected)

    def test_the_summary_names_slow_and_one_way_pairs(self):
        self.assertEqual(
            links.summary(["a", "b", "c"], self.speeds),
            [
                "3 nodes, 3 pairs: 2 GB/s (a and c) to 9.88 GB/s (a and b), median 5 GB/s",
                "directions differ, the smaller one counts; most: a to c 3.25 GB/s, back 2 GB/s",
            ],
        )
        equal = {pair: LinkSpeed(4, 4.5) for pair in self.speeds}
        self.assertEqual(len(links.summary(["a", "b", "c"], equal)), 1)


@unittest.skipUnless(torch, "PyTorch is not installed")
class ProcessesTest(unittest.TestCase):
    """Processes over gloo that act as nodes, as torchrun starts them."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.file = pathlib.Path(temporary.name) / "links.json"

    def start(self, *nodes, options=(), address="127.0.0.1", within=lambda rank: []):
        """Starts a process for each node; None has the host's name.

        within: the command that starts the command of a rank
        """
        store = socket.create_server(("127.0.0.1", 0))
        port = store.getsockname()[1]
        store.close()
        processes = []
        for rank, node in enumerate(nodes):
            environment = {
                **os.environ,
                "PYTHONPATH": str(PACKAGE),
                "RANK": str(rank),
                "WORLD_SIZE": str(len(nodes)),
                "LOCAL_WORLD_SIZE": "1",
                "MASTER_ADDR": address,
                "MASTER_PORT": str(port),
            }
            command = [sys.executable, "-B", "-W", "error", "-m", "shardtide.collect", "links", "--device", "cpu"]
            command += ["--out", str(self.file), *options, *(["--node", node] if node else [])]
            processes.append(
                subprocess.Popen([*within(rank), *command], env=environment, stderr=subprocess.PIPE, text=True)
            )
            self.addCleanup(self.end, processes[-1])
        return processes

    @staticmethod
    def end(process):
        process.kill()
        if not process.stderr.closed:
            process.communicate()

    def said(self, processes, status=0):
        errors = [process.communicate(timeout=120)[1] for process in processes]
        self.assertEqual([process.returncode for process in processes], [status] * len(processes), errors)
        return errors

    def test_three_nodes_are_measured(self):
        began = time.monotonic()
        first, *others = self.said(self.start("n1", "n2", "n3", options=["--mib", "2"]))
        seconds = time.monotonic() - began
        self.assertEqual(others, ["", ""], "rank 0 speaks for all")
        self.assertIn("3 of 3 pairs, 0 s left; ", first)
        self.assertRegex(first, r"\n3 nodes, 3 pairs: [0-9.e-]+ GB/s \(n\d and n\d\) to ")
        self.assertIn(f"\nlinks are in {self.file}\n", first)
        written = json.loads(self.file.read_text())
        self.assertEqual(written["nodes"], ["n1", "n2", "n3"])
        matrix = written["matrix"]
        self.assertEqual(matrix, [list(column) for column in zip(*matrix)], "the same in both directions")
        for row in range(3):
            for column in range(3):
                if row == column:
                    self.assertEqual(matrix[row][column], 0)
                else:
                    # What all repetitions sent in all that time is the least; memory is not faster than the most.
                    self.assertGreater(matrix[row][column], 2 * 2**20 / seconds / 1e9)
                    self.assertLess(matrix[row][column], 200)
        self.assertEqual([path.name for path in self.file.parent.iterdir()], ["links.json"])

    def test_a_slow_network_is_measured_as_slow(self):
        """Nodes in network namespaces of their own, joined by a bridge; what each may send is limited."""
        names = [f"shardtide-{os.getpid()}-{name}" for name in ("bridge", "1", "2", "3")]
        commands = [f"ip netns add {name}" for name in names]
        commands.append(f"ip -n {names[0]} link add bridge type bridge")
        commands.append(f"ip -n {names[0]} link set bridge up")
        for node, mbit in ((1, 800), (2, 800), (3, 200)):
            commands += [
                f"ip -n {names[0]} link add port{node} type veth peer name eth0 netns {names[node]}",
                f"ip -n {names[0]} link set port{node} master bridge up",
                f"ip -n {names[node]} addr add 10.77.0.{node}/24 dev eth0",
                f"ip -n {names[node]} link set lo up",
                f"ip -n {names[node]} link set eth0 up",
                f"tc -n {names[node]} qdisc add dev eth0 root tbf rate {mbit}mbit burst 256kb latency 50ms",
            ]
        for name in names:
            self.addCleanup(subprocess.run, ["ip", "netns", "del", name], capture_output=True)
        for command in commands:
            try:
                subprocess.run(command.split(), check=True, capture_output=True, text=True)
            except (OSError, subprocess.CalledProcessError) as e:
                self.skipTest(f"{command}: {getattr(e, 'stderr', None) or e}")
        environment = ["env", "GLOO_SOCKET_IFNAME=eth0"]
        processes = self.start(
            *("n1", "n2", "n3"),
            options=["--mib", "4"],
            address="10.77.0.1",
            within=lambda rank: ["ip", "netns", "exec", names[rank + 1], *environment],
        )
        said = self.said(processes)
        matrix = json.loads(self.file.read_text())["matrix"]
        # 800 and 200 Mbit/s, in GB/s.
        for pair, most in ((matrix[0][1], 0.1), (matrix[0][2], 0.025), (matrix[1][2], 0.025)):
            self.assertLess(pair, 1.1 * most, "the bucket of 256 KB is sent at once")
            self.assertGreater(pair, 0.5 * most)
        self.assertRegex(said[0], r"directions differ, the smaller one counts; most: n[12] to n3 0\.")

    def test_pairs_at_once(self):
        self.said(self.start("n1", "n2", "n3", "n4", options=["--mib", "1", "--at-once", "2"]))
        matrix = json.loads(self.file.read_text())["matrix"]
        self.assertEqual(sum(value > 0 for row in matrix for value in row), 12)

    def test_two_processes_on_a_node_are_an_error(self):
        self.file.write_text("earlier links")
        for error in self.said(self.start(None, None), status=2):
            self.assertEqual(
                error,
                f'shardtide-py collect: ranks 0 and 1 are both on node "{socket.gethostname()}"; start one process on each'
                " node (torchrun --nproc-per-node 1), or name nodes with --node\n",
            )
        self.assertEqual(self.file.read_text(), "earlier links")

    def test_a_node_that_ends_is_named(self):
        # Repetitions of a message that takes long enough to be interrupted.
        *left, lost = self.start("n1", "n2", "n3", options=["--mib", "256", "--timeout", "10"])
        while not self.file.with_name("links.json.part").exists():
            self.assertIsNone(lost.poll())
            time.sleep(0.05)
        time.sleep(0.5)
        lost.send_signal(signal.SIGKILL)
        errors = self.said(left, status=1)
        for error in errors:
            # PyTorch may write lines of its own before ours.
            self.assertRegex(error, r"(?m)^shardtide-py collect: Rank \d[^\n]* does not answer: [^\n]*\n\Z")
        # The other may miss the one that noticed first, and ended.
        self.assertTrue(any("Rank 2 of 3 does not answer" in error for error in errors), errors)
        self.assertEqual(list(self.file.parent.iterdir()), [], "neither links nor a part of them")

    def test_bad_options_are_one_line(self):
        for nodes, options, status, message in (
            (["n1"], [], 2, "links are between 2 to 512 nodes, got 1; start one process on each node"),
            (["n1"], ["--mib", "0"], 2, "--mib: must be above 0, got 0"),
            (["n1"], ["--at-once", "0"], 2, "--at-once: must be above 0, got 0"),
            ([" "], [], 2, "--node: must have 1 to 255 characters, all of them printable, got ' '"),
            (["n1", "n2"], ["--out", "/nowhere/links"], 1, "/nowhere/links cannot be written: No such file"),
        ):
            with self.subTest(options=options):
                error = self.said(self.start(*nodes, options=options), status)[0]
                self.assertIn(message, error)
                self.assertTrue(re.fullmatch(r"shardtide-py collect( links)?: [^\n]*\n", error), error)


if __name__ == "__main__":
    unittest.main()
