"""FBGEMM's operators on jagged tensors that input distributions call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import torch
from torch import Tensor

_LIBRARY: list[torch.library.Library] = []


def define() -> None:
    """Registers the operators as torch.ops.fbgemm.*."""
    library = torch.library.Library("fbgemm", "DEF")
    _LIBRARY.append(library)
    for schema, function in _OPERATORS.items():
        library.define(schema)
        library.impl(schema.split("(")[0], function, "CompositeImplicitAutograd")


def _ends(lengths: Tensor) -> Tensor:
    """Returns the positions at which parts end, after a 0."""
    if lengths.dim() > 1:
        return torch.stack([_ends(row) for row in lengths])
    return torch.cat([lengths.new_zeros(1), torch.cumsum(lengths, 0, dtype=lengths.dtype)])


def _permuted(order: Tensor, lengths: Tensor, values: Tensor, weights: Tensor | None) -> Any:
    ends = _ends(lengths.reshape(len(lengths), -1).sum(1).long()).tolist()
    parts = [slice(ends[i], ends[i + 1]) for i in order.tolist()]

    def taken(tensor: Tensor) -> Tensor:
        return torch.cat([tensor[part] for part in parts]) if parts else tensor[:0]

    return lengths[order.long()], taken(values), None if weights is None else taken(weights)


def _permute(order: Tensor, lengths: Tensor, values: Tensor, weights: Tensor | None = None, _: Any = None) -> Any:
    return _permuted(order, lengths, values, weights)


def _jagged_permute(order: Tensor, ends: Tensor, _: Tensor, size: int) -> Tensor:
    ranges = [torch.arange(int(ends[i]), int(ends[i + 1])) for i in order.tolist()]
    return torch.cat(ranges).to(order.dtype) if ranges else order[:0]


def _offsets_range(offsets: Tensor, size: int) -> Tensor:
    ends = [*offsets.tolist()[1:], size]
    return torch.cat([torch.arange(end - start) for start, end in zip(offsets.tolist(), ends)])


def _bucketize(
    lengths: Tensor,
    indices: Tensor,
    bucketize_pos: bool,
    sequence: bool,
    block_sizes: Tensor,
    my_size: int,
    weights: Tensor | None = None,
    batch_size_per_feature: Tensor | None = None,
    max_B: int = -1,
    block_bucketize_pos: Sequence[Tensor] | None = None,
    keep_orig_idx: bool = False,
    total_num_blocks: Tensor | None = None,
    keep_orig_idx_per_feature: Tensor | None = None,
) -> Any:
    """Sends each id to the bucket that has its row: id div block size; there, its row is id mod block size.

    Returns lengths by bucket, feature and sample; ids and weights in that order; positions and the permutation are not
    supported.
    """
    if sequence or bucketize_pos or block_bucketize_pos or keep_orig_idx or batch_size_per_feature is not None:
        raise NotImplementedError("block_bucketize_sparse_features supports sums of ids in blocks only")
    features = len(block_sizes)
    batch = len(lengths) // features
    block = block_sizes.long().repeat_interleave(batch).repeat_interleave(lengths.long())
    place = torch.arange(len(lengths)).repeat_interleave(lengths.long())
    bucket = torch.div(indices.long(), block, rounding_mode="floor")
    key = bucket * len(lengths) + place
    order = torch.argsort(key, stable=True)
    found = torch.bincount(key, minlength=my_size * len(lengths)).to(lengths.dtype)
    return found, (indices.long() % block)[order].to(indices.dtype), _taken(weights, order), None, None


def _taken(tensor: Tensor | None, order: Tensor) -> Tensor | None:
    return None if tensor is None else tensor[order]


_PERMUTE = "(Tensor permute, Tensor lengths, Tensor values, Tensor? weights=None, SymInt? permuted_lengths_sum=None)"

_OPERATORS: dict[str, Callable[..., Any]] = {
    "asynchronous_complete_cumsum(Tensor t_in) -> Tensor": _ends,
    "asynchronous_inclusive_cumsum(Tensor t_in) -> Tensor": lambda t: torch.cumsum(t, 0, dtype=t.dtype),
    "asynchronous_exclusive_cumsum(Tensor t_in) -> Tensor": lambda t: torch.cumsum(t, 0, dtype=t.dtype) - t,
    f"permute_2D_sparse_data{_PERMUTE} -> (Tensor, Tensor, Tensor?)": _permute,
    f"permute_1D_sparse_data{_PERMUTE} -> (Tensor, Tensor, Tensor?)": _permute,
    "expand_into_jagged_permute(Tensor permute, Tensor input_offsets, Tensor output_offsets, SymInt output_size)"
    " -> Tensor": _jagged_permute,
    "offsets_range(Tensor offsets, SymInt range_size) -> Tensor": _offsets_range,
    "block_bucketize_sparse_features(Tensor lengths, Tensor indices, bool bucketize_pos, bool sequence,"
    " Tensor block_sizes, SymInt my_size, Tensor? weights=None, Tensor? batch_size_per_feature=None, SymInt max_B=-1,"
    " Tensor[]? block_bucketize_pos=None, bool keep_orig_idx=False, Tensor? total_num_blocks=None,"
    " Tensor? keep_orig_idx_per_feature=None) -> (Tensor, Tensor, Tensor?, Tensor?, Tensor?)": _bucketize,
}
