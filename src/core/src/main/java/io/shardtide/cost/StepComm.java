package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.CommCodec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * What the collectives of a step send. A collective without a codec sends the cluster's bytes of an
 * element. One with a codec sends the codec's, and each device also encodes what it sends and
 * decodes what it gets, all of it, its own part included, as TorchRec does.
 *
 * @param cluster the devices
 * @param codecs the codecs in use, at most one for each scope and direction
 */
public record StepComm(ClusterSpec cluster, List<CollectiveCodec> codecs) {
  /** The scopes whose collectives can have a codec. */
  public static final List<ShardScope> SCOPES =
      List.of(ShardScope.DEVICE, ShardScope.NODE, ShardScope.CLUSTER);

  private static final Comparator<CommCodec> LEAST_COMPRESSION =
      Comparator.comparingDouble(CommCodec::sentBytesPerElement)
          .reversed()
          .thenComparing(CommCodec::name);

  /** Copies what may change. */
  public StepComm {
    codecs = List.copyOf(codecs);
  }

  /** Returns a step without codecs. */
  public static StepComm of(ClusterSpec cluster) {
    return new StepComm(cluster, List.of());
  }

  /**
   * Returns steps whose collectives are, one by one, as short as those of any choice of codecs: one
   * without codecs, and one for each codec that the cluster allows, used wherever it may be and
   * sends fewer bytes.
   */
  public static List<StepComm> extremes(ClusterSpec cluster) {
    List<StepComm> all = new ArrayList<>();
    all.add(of(cluster));
    for (CommCodec codec : cluster.codecs()) {
      List<CollectiveCodec> everywhere = new ArrayList<>();
      for (ShardScope scope : SCOPES) {
        for (Direction direction : Direction.values()) {
          if (candidates(cluster, scope, direction).contains(codec)) {
            everywhere.add(new CollectiveCodec(scope, direction, codec, 0));
          }
        }
      }
      if (!everywhere.isEmpty()) {
        all.add(new StepComm(cluster, everywhere));
      }
    }
    return all;
  }

  /**
   * Returns the codecs that the cluster allows for collectives, the least compression first;
   * without those that send no fewer bytes than no codec.
   */
  public static List<CommCodec> candidates(
      ClusterSpec cluster, ShardScope scope, Direction direction) {
    double without = cluster.wireBytesPerElement(direction);
    return cluster.codecs().stream()
        .filter(codec -> codec.serves(scope, direction) && codec.sentBytesPerElement() < without)
        .sorted(LEAST_COMPRESSION)
        .toList();
  }

  private Optional<CommCodec> codec(ShardScope scope, Direction direction) {
    // A loop, since searches ask for each load that they compare.
    for (CollectiveCodec of : codecs) {
      if (of.scope() == scope && of.direction() == direction) {
        return Optional.of(of.codec());
      }
    }
    return Optional.empty();
  }

  /** Returns the bytes of an element on the wire. */
  public double bytesPerElement(ShardScope scope, Direction direction) {
    return codec(scope, direction)
        .map(CommCodec::sentBytesPerElement)
        .orElse(cluster.wireBytesPerElement(direction));
  }

  /** Returns whether encoding and decoding takes time in any collective. */
  public boolean takesCodingTime() {
    return codecs.stream().anyMatch(of -> of.codec().gigabytesPerSecond() > 0);
  }

  /**
   * Returns what coding adds to an all-to-all on a device, in milliseconds: the numbers that it
   * contributes, and as many as it gets, which is the mean of all devices.
   *
   * @param group the devices that take part
   * @param elements numbers that the device contributes, a multiple of what it sends to each
   * @param meanElements the mean over the devices
   */
  public double allToAllCodingMs(
      ShardScope scope,
      Direction direction,
      DeviceGroup group,
      double elements,
      double meanElements) {
    double share = (double) group.devices() / cluster.devices();
    return codec(scope, direction)
        .map(codec -> codec.codingMs((elements + meanElements) * share))
        .orElse(0.0);
  }

  /**
   * Returns what coding adds to the collective of shards whose rows are split, in milliseconds: all
   * numbers on one side of it, and one device's part on the other.
   *
   * @param group the devices that take part; nothing is sent on one
   * @param elements outputs times columns
   */
  public double rowsCodingMs(
      ShardScope scope, Direction direction, DeviceGroup group, double elements) {
    return group.devices() == 1
        ? 0
        : codec(scope, direction)
            .map(codec -> codec.codingMs(elements + elements / group.devices()))
            .orElse(0.0);
  }

  /** Predicts the collective of shards whose rows are split, coding included, in milliseconds. */
  public double rowsMs(
      CostEvaluator evaluator,
      ShardScope scope,
      Direction direction,
      DeviceGroup group,
      double elements) {
    return evaluator.bufferMs(BufferCollective.ofRows(this, scope, direction, elements), group)
        + rowsCodingMs(scope, direction, group, elements);
  }
}
