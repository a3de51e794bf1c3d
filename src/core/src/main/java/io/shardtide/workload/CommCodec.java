package io.shardtide.workload;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * A way to send the numbers of a collective in fewer bytes, which a workload's trainer allows:
 * TorchRec's quantized communication (QComms), or a part of the numbers only. A codec changes the
 * numbers that are trained on, so that a plan has none that the workload does not list.
 *
 * @param name name, such as {@code fp16}; TorchRec's are fp16, bf16, fp8 and int8
 * @param bytesPerElement bytes of an element that is sent, above 0 to {@link
 *     ClusterSpec#MAX_WIRE_BYTES}
 * @param gigabytesPerSecond single-precision numbers that a device encodes or decodes, in 10^9
 *     bytes a second: {@value #MIN_SPEED} to {@value #MAX_SPEED}, or 0 if coding takes no time
 * @param density share of the elements that are sent, above 0 to 1; below 1 of a codec that leaves
 *     out small ones
 * @param canBeSummed whether a reduce-scatter can add encoded numbers
 * @param directions the directions in which it may be used, in their order; empty means both
 */
@RecordBuilder
public record CommCodec(
    String name,
    double bytesPerElement,
    double gigabytesPerSecond,
    double density,
    boolean canBeSummed,
    List<Direction> directions) {
  /** A slower codec takes longer than any collective. */
  public static final double MIN_SPEED = 0.001;

  /** A petabyte a second; the memory of a device reads a hundredth of it. */
  public static final double MAX_SPEED = 1_000_000;

  /** The order of codecs in a cluster. */
  static final Comparator<CommCodec> ORDER = Comparator.comparing(CommCodec::name);

  private static final double SINGLE_PRECISION_BYTES = 4;

  private static final double BYTES_PER_GIGABYTE_AND_MS = 1e6;

  /**
   * @throws RejectedException if the name is none, or a value is outside its range
   */
  public CommCodec {
    Names.check(name, "name of a codec", RejectionReason.INVALID_CLUSTER);
    Set<Direction> distinct =
        directions.isEmpty() ? EnumSet.allOf(Direction.class) : EnumSet.copyOf(directions);
    directions = List.copyOf(distinct);
    Limits.of(RejectionReason.INVALID_CLUSTER, "codec", name)
        .above("bytes per element", bytesPerElement, 0, ClusterSpec.MAX_WIRE_BYTES)
        .above("density", density, 0, 1)
        .check(
            gigabytesPerSecond == 0
                || (gigabytesPerSecond >= MIN_SPEED && gigabytesPerSecond <= MAX_SPEED),
            "GB/s",
            "0 or between 0.001 and 1000000",
            gigabytesPerSecond);
  }

  /** A codec for both directions that takes no time and sends all elements. */
  public CommCodec(String name, double bytesPerElement) {
    this(name, bytesPerElement, 0, 1, true, List.of());
  }

  /**
   * Returns the directions with these names in events.
   *
   * @param codec name of the codec, for a message
   * @throws RejectedException if a name is no direction's
   */
  public static List<Direction> directionsOf(String codec, Collection<String> names) {
    String what = "direction of codec " + Names.quote(codec);
    return names.stream()
        .map(name -> Named.parse(Direction.class, name, what, RejectionReason.INVALID_CLUSTER))
        .toList();
  }

  /** Returns the bytes that are sent for an element, those that are left out included. */
  public double sentBytesPerElement() {
    return bytesPerElement * density;
  }

  /**
   * Returns whether the codec may be used in the collectives of a scope: not for copies, whose
   * gradients are single precision, and not where a reduce-scatter adds what it cannot.
   */
  public boolean serves(ShardScope scope, Direction direction) {
    return scope != ShardScope.COPIES
        && directions.contains(direction)
        && (canBeSummed || !scope.collectives(direction).contains(Collective.REDUCE_SCATTER));
  }

  /** Returns how long a device takes to encode or decode, in milliseconds. */
  public double codingMs(double elements) {
    return gigabytesPerSecond == 0
        ? 0
        : elements * SINGLE_PRECISION_BYTES / (gigabytesPerSecond * BYTES_PER_GIGABYTE_AND_MS);
  }
}
