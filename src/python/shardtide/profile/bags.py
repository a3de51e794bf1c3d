"""The forms in which training programs hold ids: arrays, tensors, values with lengths or offsets, jagged tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

    ids: one dimension, of any integer type, those of a sample after those of the one before
    samples: samples of the batch, also those without ids
    lengths: ids of each sample; None: equally many, or not known
    """

    ids: Integers
    samples: int
    lengths: Integers | None = None

    def offsets(self, begin: int, end: int) -> npt.NDArray[np.int64]:
        """Returns where the ids of some samples begin, and at last where they end; spread evenly if not known."""
        if self.lengths is None:
            return np.arange(begin, end + 1) * self.ids.size // self.samples
        first = self.lengths[:begin].sum(dtype=np.int64)
        return first + np.append(0, np.cumsum(self.lengths[begin:end], dtype=np.int64))


def bags(ids: Any, *, lengths: Any = None, offsets: Any = None, samples: int | None = None) -> Bags:
    """Returns the ids of a feature, which may be numpy arrays, torch tensors on any device, or sequences of integers.

    ids: without another argument, one id for each sample [samples], or equally many [samples, ids], of which a masked
        array may lack some; or a JaggedTensor (values() and lengths()), a nested tensor of torch, or Bags. With another
        argument, the ids of all samples in one dimension.
    lengths: number of ids of each sample; they sum to the number of ids
    offsets: where the ids of each sample begin, and at last their number: one more than samples, as TorchRec has them
    samples: the number of samples, where it does not matter which ids are whose

    ValueError if the ids are no integers, or do not fit the lengths, offsets or samples. An empty batch is legal.
    """
    if sum(given is not None for given in (lengths, offsets, samples)) > 1:
        raise ValueError("ids must come with one of lengths, offsets and samples, got several")
    parts = _samples_known(ids)
    if parts is not None:
        if lengths is not None or offsets is not None or samples is not None:
            raise ValueError(f"{type(ids).__name__} knows its samples; lengths, offsets and samples must be left out")
        return parts
    array = integers(ids, "ids")
    if lengths is not None:
        lengths = integers(lengths, "lengths")
        _check_lengths(lengths, array.size, "ids")
        samples = lengths.size
    elif offsets is not None:
        lengths = _lengths_of(integers(offsets, "offsets"), array.size)
        samples = lengths.size
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
    return Bags(array, int(samples), lengths)


def _samples_known(ids: Any) -> Bags | None:
    """Returns the Bags of what knows which ids are whose; None of anything else."""
    if isinstance(ids, Bags):
        return ids
    if isinstance(ids, np.ma.MaskedArray):
        if ids.ndim not in (1, 2):
            raise ValueError(f"ids must have 1 or 2 dimensions, got {ids.ndim}")
        return Bags(integers(ids.compressed(), "ids"), ids.shape[0], ids.reshape(len(ids), -1).count(axis=1))
    if getattr(ids, "is_nested", False):
        return _nested(ids)
    if callable(getattr(ids, "keys", None)):
        raise ValueError(f"ids must be those of one feature, got a {type(ids).__name__}, which has several")
    if callable(getattr(ids, "lengths", None)):
        return bags(ids.values(), lengths=ids.lengths())
    return None


def _nested(ids: Any) -> Bags:
    if ids.dim() != 2:
        raise ValueError(f"ids must have 2 dimensions, samples and ids, got a nested tensor with {ids.dim()}")
    if not callable(getattr(ids, "offsets", None)) or not callable(getattr(ids, "values", None)):
        parts = [integers(part, "ids") for part in ids.unbind()]
        # Empty ones are of another type, and one type without a sign and one with one make doubles.
        found = [part for part in parts if part.size]
        lengths = np.array([part.size for part in parts], np.int64)
        return Bags(np.concatenate(found) if found else np.empty(0, np.int64), len(parts), lengths)
    values, begins = integers(ids.values(), "ids"), integers(ids.offsets(), "offsets")
    if ids.lengths() is None:
        return bags(values[begins[0] : begins[-1]], offsets=begins - begins[0])
    # Narrowed: there are ids between samples that belong to none.
    lengths = integers(ids.lengths(), "lengths")
    places = np.repeat(begins[: lengths.size] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return bags(values[places], lengths=lengths)


def by_feature(batch: Any) -> dict[str, Bags]:
    """Returns the ids of each feature of a batch: of a mapping from features to what `bags` takes, or of a
    KeyedJaggedTensor (keys(), values(), lengths(), and stride_per_key() where features differ in their samples).

    ValueError as `bags`, with the feature's name, and if a KeyedJaggedTensor has a key twice.
    """
    if isinstance(batch, Mapping):
        return {feature: _named(feature, ids) for feature, ids in batch.items()}
    if not all(callable(getattr(batch, method, None)) for method in ("keys", "values", "lengths")):
        raise ValueError(f"A batch must be a mapping by feature or a KeyedJaggedTensor, got {type(batch).__name__}")
    features = list(batch.keys())
    for place, feature in enumerate(features):
        if feature in features[:place]:
            raise ValueError(
                f"keys must be different, got {feature} at positions {features.index(feature)} and {place}: which of"
                " them the table looks up is not known. Maybe count each by itself, with TableProfile.add"
            )
    values, lengths = integers(batch.values(), "values"), integers(batch.lengths(), "lengths")
    if lengths.ndim not in (1, 2) or (lengths.ndim == 2 and lengths.shape[0] != len(features)):
        raise ValueError(
            f"lengths must be those of {len(features)} features, [features * samples] or [features, samples], got"
            f" {list(lengths.shape)}"
        )
    lengths = lengths.reshape(-1)
    if hasattr(batch, "stride_per_key"):
        strides = [int(stride) for stride in batch.stride_per_key()]
    else:
        strides = [lengths.size // max(1, len(features))] * len(features)
    if len(strides) != len(features) or min(strides, default=0) < 0 or sum(strides) != lengths.size:
        raise ValueError(
            f"lengths must be those of {len(features)} features with {strides} samples, got {lengths.size}"
        )
    if values.ndim != 1:
        raise ValueError(f"values must have 1 dimension, got {values.ndim}")
    _check_lengths(lengths, values.size, "values")
    result, sample, value = {}, 0, 0
    for feature, stride in zip(features, strides):
        of_feature = lengths[sample : sample + stride]
        count = int(of_feature.sum())
        result[feature] = Bags(values[value : value + count], stride, of_feature)
        sample, value = sample + stride, value + count
    return result


def _named(feature: str, ids: Any) -> Bags:
    try:
        return bags(ids)
    except ValueError as e:
        raise ValueError(f"Feature {feature}: {e}") from None


def integers(values: Any, what: str) -> Integers:
    """Returns values as an array of integers; without values, of any type. ValueError if they are others."""
    if callable(getattr(values, "detach", None)):
        try:
            values = values.detach().cpu().numpy()
        except (TypeError, RuntimeError, NotImplementedError) as e:
            raise ValueError(f"{what} must be integers in a dense tensor, got {_tensor(values)}: {e}") from None
    if np.ma.is_masked(values):
        raise ValueError(f"{what} must not be masked, got {np.ma.count_masked(values)} masked of {np.size(values)}")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):
        raise ValueError(f"{what} must be equally many for each sample, or come with lengths or offsets") from None
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f" and isinstance(values, (list, tuple)) and all(map(_is_integer, _flat(values))):
        # Beside smaller integers, numpy makes doubles of those from 2^63 on.
        least = min(_flat(values))
        if least < 0:
            raise ValueError(f"{what} must be integers of 64 bits, all with a sign or all without, got {least} too")
        array = np.array(values, np.uint64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{what} must be integers, got {array.dtype}")
    if isinstance(values, (list, tuple)) and any(isinstance(value, (bool, np.bool_)) for value in _flat(values)):
        raise ValueError(f"{what} must be integers, got bool among them")
    return array


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _tensor(tensor: Any) -> str:
    return f"{str(tensor.dtype).replace('torch.', '')} with layout {tensor.layout} on device {tensor.device}"


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def first_outside(ids: Integers, rows: int) -> int | None:
    """Returns the position of an id that is not between 0 and rows - 1, in the flattened array; None if all are."""
    if ids.size:
        for place in (int(ids.argmin()), int(ids.argmax())):
            if not 0 <= int(ids.flat[place]) < rows:
                return place
    return None


def _check_lengths(lengths: Integers, count: int, what: str) -> None:
    """ValueError if lengths are not those of so many ids or values."""
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have 1 dimension, got {lengths.ndim}")
    if lengths.size and lengths.min() < 0:
        raise ValueError(f"lengths must be at least 0, got {lengths.min()}")
    # Of larger ones, the sum could pass 2^64 and begin again.
    if lengths.size and lengths.max() > count:
        raise ValueError(f"lengths must sum to the number of {what}, {count}, got {lengths.max()} among them")
    if int(lengths.sum()) != count:
        raise ValueError(f"lengths must sum to the number of {what}, {count}, got {lengths.sum()}")


def _lengths_of(offsets: Integers, ids: int) -> Integers:
    if offsets.ndim != 1 or not offsets.size or offsets[0] != 0 or offsets[-1] != ids:
        raise ValueError(
            f"offsets must begin with 0 and end with the number of ids, {ids}, got {_short(offsets)}. Those of"
            " nn.EmbeddingBag lack the last one unless include_last_offset is set: append it"
        )
    if (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"offsets must not fall, got {_short(offsets)}")
    return np.diff(offsets)


def _short(array: Integers) -> str:
    return np.array2string(array, threshold=6, edgeitems=3)
