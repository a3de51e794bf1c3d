"""The forms in which training programs hold ids: arrays, tensors, values with lengths or offsets, jagged tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import TypeAlias

    Integers: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Bags:
    """The ids that a batch looks up for one feature.

    ids: one dimension, of any integer type, in any order
    samples: samples of the batch, also those without ids
    """

    ids: Integers
    samples: int


def bags(ids: Any, *, lengths: Any = None, offsets: Any = None, samples: int | None = None) -> Bags:
    """Returns the ids of a feature, which may be numpy arrays, torch tensors on any device, or sequences of integers.

    ids: without another argument, one id for each sample [samples], or equally many [samples, ids]; or a JaggedTensor
        (values() and lengths()), or Bags. With another argument, the ids of all samples in one dimension.
    lengths: number of ids of each sample; they sum to the number of ids
    offsets: where the ids of each sample begin, and at last their number: one more than samples, as TorchRec has them
    samples: the number of samples, where it does not matter which ids are whose

    ValueError if the ids are no integers, or do not fit the lengths, offsets or samples. An empty batch is legal.
    """
    if sum(given is not None for given in (lengths, offsets, samples)) > 1:
        raise ValueError("ids must come with one of lengths, offsets and samples, got several")
    if isinstance(ids, Bags) or callable(getattr(ids, "lengths", None)):
        if lengths is not None or offsets is not None or samples is not None:
            raise ValueError(f"{type(ids).__name__} knows its samples; lengths, offsets and samples must be left out")
        return ids if isinstance(ids, Bags) else bags(ids.values(), lengths=ids.lengths())
    array = integers(ids, "ids")
    if lengths is not None:
        count = _total(integers(lengths, "lengths"))
        if count != array.size:
            raise ValueError(f"lengths must sum to the number of ids, {array.size}, got {count}")
        samples = len(lengths)
    elif offsets is not None:
        samples = _samples_of(integers(offsets, "offsets"), array.size)
    elif samples is None:
        if array.ndim not in (1, 2):
            raise ValueError(f"ids must have 1 or 2 dimensions, got {array.ndim}")
        return Bags(array.reshape(-1), array.shape[0])
    if array.ndim != 1:
        raise ValueError(f"ids must have 1 dimension where lengths, offsets or samples are given, got {array.ndim}")
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 0:
        raise ValueError(f"samples must be an integer of at least 0, got {samples!r}")
    if samples == 0 and array.size:
        raise ValueError(f"samples must be at least 1 where there are ids, got 0 for {array.size} ids")
    return Bags(array, int(samples))


def by_feature(batch: Any) -> dict[str, Bags]:
    """Returns the ids of each feature of a batch: of a mapping from features to what `bags` takes, or of a
    KeyedJaggedTensor (keys(), values(), lengths(), and stride_per_key() where features differ in their samples).

    ValueError as `bags`, with the feature's name.
    """
    if isinstance(batch, Mapping):
        return {feature: _named(feature, ids) for feature, ids in batch.items()}
    if not all(callable(getattr(batch, method, None)) for method in ("keys", "values", "lengths")):
        raise ValueError(f"A batch must be a mapping by feature or a KeyedJaggedTensor, got {type(batch).__name__}")
    features = list(batch.keys())
    values, lengths = integers(batch.values(), "values"), integers(batch.lengths(), "lengths").reshape(-1)
    if hasattr(batch, "stride_per_key"):
        strides = [int(stride) for stride in batch.stride_per_key()]
    else:
        strides = [lengths.size // max(1, len(features))] * len(features)
    if sum(strides) != lengths.size:
        raise ValueError(
            f"lengths must be those of {len(features)} features with {strides} samples, got {lengths.size}"
        )
    if values.ndim != 1 or _total(lengths) != values.size:
        raise ValueError(f"lengths must sum to the number of values, {values.size}, got {_total(lengths)}")
    result, sample, value = {}, 0, 0
    for feature, stride in zip(features, strides):
        count = int(lengths[sample : sample + stride].sum())
        result[feature] = Bags(values[value : value + count], stride)
        sample, value = sample + stride, value + count
    return result


def _named(feature: str, ids: Any) -> Bags:
    try:
        return bags(ids)
    except ValueError as e:
        raise ValueError(f"Feature {feature}: {e}") from None


def integers(values: Any, what: str) -> Integers:
    """Returns values as an array of integers; without values, of any type."""
    if callable(getattr(values, "detach", None)):
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} must be equally many for each sample, or come with lengths or offsets") from None
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be integers, got {array.dtype}")
    return array


def first_outside(ids: Integers, rows: int) -> int | None:
    """Returns the position of an id that is not between 0 and rows - 1, in the flattened array; None if all are."""
    if ids.size:
        for place in (int(ids.argmin()), int(ids.argmax())):
            if not 0 <= int(ids.flat[place]) < rows:
                return place
    return None


def _total(lengths: Integers) -> int:
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have 1 dimension, got {lengths.ndim}")
    if lengths.size and lengths.min() < 0:
        raise ValueError(f"lengths must be at least 0, got {lengths.min()}")
    return int(lengths.sum())


def _samples_of(offsets: Integers, ids: int) -> int:
    """Returns the number of samples that offsets describe."""
    if offsets.ndim != 1 or not offsets.size or offsets[0] != 0 or offsets[-1] != ids:
        raise ValueError(f"offsets must begin with 0 and end with the number of ids, {ids}, got {_short(offsets)}")
    if (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"offsets must not fall, got {_short(offsets)}")
    return offsets.size - 1


def _short(array: Integers) -> str:
    return np.array2string(array, threshold=6, edgeitems=3)
