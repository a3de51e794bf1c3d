"""How a table's lookups are computed, as a publisher decides it: in TorchRec's terms, and in those of a TableSpec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardtide.arguments import mapping, shown, texts

# TorchRec's EmbeddingComputeKernels that plans may have.
COMPUTE_KERNELS = ("dense", "fused", "fused_uvm", "fused_uvm_caching")

CACHE_ALGORITHMS = ("LRU", "LFU")

# TorchRec's DataTypes that FBGEMM's training kernels write.
OUTPUT_TYPES = ("FP32", "FP16", "BF16", "INT8")

# What the planner chooses among if no kernel is named.
_PLANNERS_CHOICE = {"dense", "fused", "fused_uvm_caching"}

_OF_KERNEL = ("computeKernel", "cacheLoadFactor", "cacheAlgorithm", "outputType", "stochasticRounding")
_FIELDS = (*_OF_KERNEL, "enforceHbm", "deduplicated")

# Of CacheParams, for which plans have no field.
_NOT_CARRIED = ("reserved_memory", "precision", "prefetch_pipeline", "multipass_prefetch_config")


def kernel_fields(decided: Any, table: str) -> dict[str, Any]:
    """Returns the fields kernel, enforceHbm and deduplicated of a TableSpec, as far as they are decided.

    decided: an object with the fields of a TableKernel, enforceHbm and deduplicated; or TorchRec's ParameterConstraints, of which
        compute_kernels, cache_params (algorithm and load_factor), enforce_hbm, stochastic_rounding and output_dtype
        are read. One compute kernel is named; dense, fused and fused_uvm_caching together leave the choice to the
        planner, as none does. A cache's stats are not needed: the planner knows how lookups spread over rows
    table: its name, for messages

    ValueError names what is unknown, or what a plan has no field for. The planner checks the ranges of numbers.
    """
    if not isinstance(decided, Mapping) and hasattr(decided, "compute_kernels"):
        decided = _of_constraints(decided, table)
    what = f"The kernel of table {table}"
    fields = dict(mapping(decided, what, "fields of a TableKernel, or ParameterConstraints"))
    unknown = sorted(fields.keys() - set(_FIELDS))
    if unknown:
        raise ValueError(f"{what} must have the fields {', '.join(_FIELDS)}, got {', '.join(map(str, unknown))}")
    for field, known in (
        ("computeKernel", COMPUTE_KERNELS),
        ("cacheAlgorithm", CACHE_ALGORITHMS),
        ("outputType", OUTPUT_TYPES),
        ("stochasticRounding", (True, False)),
        ("enforceHbm", (True, False)),
        ("deduplicated", (True, False)),
    ):
        value = fields.get(field)
        if value is not None and not any(value is one or isinstance(one, str) and value == one for one in known):
            raise ValueError(f"{what}: {field} must be one of {', '.join(map(str, known))}, got {shown(value)}")
    kernel = {field: fields[field] for field in _OF_KERNEL if fields.get(field) is not None}
    return {
        # Left out where nothing is decided: registries of earlier planners do not know the field.
        **({"kernel": {field: kernel.get(field) for field in _OF_KERNEL}} if kernel else {}),
        **({"enforceHbm": True} if fields.get("enforceHbm") else {}),
        **({"deduplicated": fields["deduplicated"]} if fields.get("deduplicated") is not None else {}),
    }


def _of_constraints(constraints: Any, table: str) -> dict[str, Any]:
    what = f"The ParameterConstraints of table {table}"
    if getattr(constraints, "key_value_params", None) is not None:
        raise ValueError(f"{what} have key_value_params; must be None, since plans have tables in memory only")
    cache = getattr(constraints, "cache_params", None)
    for field in _NOT_CARRIED:
        if getattr(cache, field, None) is not None:
            raise ValueError(
                f"{what}: cache_params has {field}, which plans have no field for; set it in the fused_params of the"
                " sharder, for all its tables"
            )
    return {
        "computeKernel": _compute_kernel(constraints.compute_kernels, what),
        "cacheLoadFactor": getattr(cache, "load_factor", None),
        "cacheAlgorithm": _name(getattr(cache, "algorithm", None)),
        "outputType": _name(getattr(constraints, "output_dtype", None)),
        "stochasticRounding": getattr(constraints, "stochastic_rounding", None),
        "enforceHbm": getattr(constraints, "enforce_hbm", None),
    }


def _compute_kernel(allowed: Any, what: str) -> str | None:
    """Returns the only kernel that is allowed, or None if the planner may choose as it does anyway."""
    names = texts(allowed or (), f"{what}: compute_kernels", "names of kernels")
    supported = [name for name in COMPUTE_KERNELS if name in names]
    if not names or _PLANNERS_CHOICE.issubset(supported):
        return None
    if len(supported) == 1:
        return supported[0]
    if not supported:
        known = ", ".join(COMPUTE_KERNELS)
        raise ValueError(f"{what}: compute_kernels must have one of {known}, got {', '.join(names)}")
    raise ValueError(
        f"{what}: compute_kernels must be one kernel, or dense, fused and fused_uvm_caching, among which the planner"
        f" chooses; got {', '.join(supported)}. Maybe name none, and publish constraints: mayBeCached false keeps"
        " tables in device memory, and kinds without data_parallel makes no copies, which are dense"
    )


def _name(member: Any) -> Any:
    return getattr(member, "name", member)
