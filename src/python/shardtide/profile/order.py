"""The rows of a table in the order of their use, in memory and in files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from shardtide.arguments import replacing
from shardtide.profile.bags import first_outside, integers
from shardtide.profile.files import load

if TYPE_CHECKING:
    from shardtide.profile.bags import Integers
    from shardtide.profile.rows import Int64s

# What file systems allow for a name, less the ending of a file that is being written.
LONGEST_FILE_NAME = 255 - len(".part")

GOLDEN_SECTION = (math.sqrt(5) - 1) / 2

# Ranks that are checked at once.
PART = 2**20


class RowOrder:
    """The rows of a table in the order of their use, the most used first.

    Where a plan cuts a table by use, row 0 of a row range is the most used row: training programs look up ranks in
    place of ids.

    array: the rank of each row, from 0, integers [rows]: each of 0 to rows - 1 once
    source: what messages call the array

    ValueError for another array.
    """

    def __init__(self, array: Any, source: str = "array") -> None:
        self.array: Integers = np.asarray(array)
        rows = self.array.size
        if self.array.dtype.kind not in "iu" or self.array.ndim != 1 or not rows:
            raise ValueError(
                f"{source} must hold integers in one dimension, got {self.array.dtype} of shape {self.array.shape}"
            )
        used = np.zeros(rows, np.bool_)
        for begin in range(0, rows, PART):
            ranks = self.array[begin : begin + PART]
            place = first_outside(ranks, rows)
            if place is not None:
                raise ValueError(
                    f"{source} must hold ranks between 0 and {rows - 1}, got {ranks[place]} for row {begin + place}"
                )
            used[ranks] = True
        if not used.all():
            raise ValueError(f"{source} must hold each rank from 0 to {rows - 1} once, got none of {used.argmin()}")

    @classmethod
    def read(cls, path: str | Path, rows: int) -> RowOrder:
        """Reads a file that `TableProfile.write_order` or `--order` has written, and checks it.

        rows: of the table

        The file is mapped: processes of a machine share its memory. While it is checked, this takes a byte a row.

        ValueError, with the file's name, if it holds anything but an order of so many rows. OSError if it cannot be
        read.
        """
        array = load(Path(path), mmap_mode="r")
        shape = getattr(array, "shape", None)
        if shape != (rows,):
            got = "several arrays" if shape is None else f"an array of shape {shape}"
            raise ValueError(f"{path} must hold the ranks of {rows} rows, got {got}")
        return cls(array, str(path))

    @property
    def rows(self) -> int:
        return self.array.size

    def ranks(self, ids: Any) -> Any:
        """Returns the rank of each id.

        ids: a numpy array, a torch tensor on any device, or a sequence, of integers from 0 to rows - 1, in any shape

        The ranks are int64 and have the shape of the ids. They are a tensor on the same device if the ids are one, else
        a numpy array.

        ValueError if an id is no row, with the id and its position, or if ids are no integers.
        """
        array = integers(ids, "ids")
        place = first_outside(array, self.rows)
        if place is not None:
            raise ValueError(f"ids must be between 0 and {self.rows - 1}, got {array.flat[place]} at position {place}")
        ranks = np.asarray(self.array[array], np.int64)
        if not callable(getattr(ids, "detach", None)):
            return ranks
        import torch

        return torch.from_numpy(ranks).to(ids.device)


def file_name(table: str) -> str:
    """Returns the name of the file that holds a table's order: the table's name, and .npy.

    Characters of the name other than ASCII letters, digits and "_.-~" are %XX for each byte of their UTF-8, as in URLs:
    user/clicks is user%2Fclicks.npy. No two tables share a name.

    ValueError if it is longer than file systems allow.
    """
    name = quote(table, safe="") + ".npy"
    if len(name) > LONGEST_FILE_NAME:
        raise ValueError(
            f"The file of the order of table {table} must have a name of at most {LONGEST_FILE_NAME} characters,"
            f" got {len(name)}: {name}"
        )
    return name


def spread(ranks: Int64s, rows: int, hot_rows: int) -> Int64s:
    """Returns ranks with those from hot_rows on spread over all other rows, so that each block of them is used alike.

    Neighbours are a golden section of the other rows apart (Knuth, The Art of Computer Programming, 6.4), or, beyond
    2^31 rows, of 2^27 rows: multiples of a number that has no divisor in common with theirs.

    ranks: from 0 to rows - 1
    hot_rows: 0 to rows; their ranks remain
    """
    others = rows - hot_rows
    if others < 2:
        return ranks
    # Products stay below 2^63.
    stride = max(1, int((others if others <= 2**31 else 2**27) * GOLDEN_SECTION))
    while math.gcd(stride, others) > 1:
        stride += 1
    return np.where(ranks < hot_rows, ranks, hot_rows + (ranks - hot_rows) * stride % others)


def rank_type(rows: int) -> np.dtype[np.signedinteger[Any]]:
    """Returns the type of ranks of so many rows: 32-bit integers if they suffice, else 64-bit ones."""
    return np.dtype("<i4" if rows <= 2**31 else "<i8")


def write(path: Path, rows: int, parts: Iterable[Int64s]) -> None:
    """Writes the ranks of so many rows, given in parts, in numpy's format.

    Completely or not at all: to a file beside it, which takes its place at the end. OSError if that fails.
    """
    integer = rank_type(rows)
    with replacing(path) as written, written.open("wb") as file:
        header = {"descr": integer.str, "fortran_order": False, "shape": (rows,)}
        np.lib.format.write_array_header_1_0(file, header)
        for ranks in parts:
            file.write(ranks.astype(integer).data)
        file.flush()
        os.fsync(file.fileno())
