package io.shardtide.cost;

import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What shards of one scope communicate in one direction of a step. Its members are the devices of
 * whole rows, the nodes over which rows are split, or all devices together. Two things follow each
 * other: a collective of one buffer among the devices of each member, and an all-to-all among the
 * members; either takes no time where there is a single one.
 *
 * <p>Without a codec, the cluster's bytes of an element are sent. With one, the codec's are, and
 * each device also encodes what it sends and decodes what it gets, all of it, its own part
 * included, as TorchRec does.
 */
public final class StepCollective {
  /** Bytes of an element of a dense gradient, which is not quantized. */
  private static final double GRADIENT_BYTES = 4;

  private static final DeviceGroup ALONE = new DeviceGroup(1, 1);

  private static final Comparator<CommCodec> LEAST_COMPRESSION =
      Comparator.comparingDouble(CommCodec::sentBytesPerElement)
          .reversed()
          .thenComparing(CommCodec::name);

  private final ClusterSpec cluster;
  private final ShardScope scope;
  private final Direction direction;
  private final Optional<CommCodec> codec;
  private final double bytesPerElement;
  private final DeviceGroup members;
  private final Optional<Collective> ofBuffers;

  StepCollective(
      ClusterSpec cluster, ShardScope scope, Direction direction, Optional<CommCodec> codec) {
    this.cluster = cluster;
    this.scope = scope;
    this.direction = direction;
    this.codec = codec;
    bytesPerElement =
        scope == ShardScope.COPIES
            ? GRADIENT_BYTES
            : codec
                .map(CommCodec::sentBytesPerElement)
                .orElse(cluster.wireBytesPerElement(direction));
    members =
        switch (scope) {
          case DEVICE -> DeviceGroup.of(cluster);
          case NODE -> new DeviceGroup(cluster.nodes(), 1);
          case CLUSTER, COPIES -> ALONE;
        };
    ofBuffers =
        scope.collectives(direction).stream().filter(of -> of != Collective.ALL_TO_ALL).findFirst();
  }

  /**
   * Returns the collective without a codec, and with each that the cluster allows for it and that
   * sends fewer bytes, the least compression first.
   */
  public static List<StepCollective> candidates(
      ClusterSpec cluster, ShardScope scope, Direction direction) {
    double without = cluster.wireBytesPerElement(direction);
    Stream<CommCodec> codecs =
        cluster.codecs().stream()
            .filter(of -> of.serves(scope, direction) && of.sentBytesPerElement() < without)
            .sorted(LEAST_COMPRESSION);
    return Stream.concat(Stream.of(Optional.<CommCodec>empty()), codecs.map(Optional::of))
        .map(of -> new StepCollective(cluster, scope, direction, of))
        .toList();
  }

  /** Returns the bytes of an element that is sent. */
  public double bytesPerElement() {
    return bytesPerElement;
  }

  /** Returns whether it sends as another one of the same scope and direction does. */
  public boolean sendsAs(StepCollective other) {
    return codec.equals(other.codec);
  }

  /** Returns the scope of the shards. */
  ShardScope scope() {
    return scope;
  }

  /**
   * Returns the codec as a plan has it, if there is one.
   *
   * @param savedMs how much shorter a step is with it, in milliseconds
   */
  Optional<CollectiveCodec> coded(double savedMs) {
    return codec.map(of -> new CollectiveCodec(scope, direction, of, savedMs));
  }

  /** Returns the number of all devices. */
  public int devices() {
    return cluster.devices();
  }

  /** Returns the members, as a group whose devices they are. */
  public DeviceGroup members() {
    return members;
  }

  /** Returns the member that a device belongs to. */
  int member(int device) {
    return switch (scope) {
      case DEVICE -> device;
      case NODE -> cluster.node(device);
      case CLUSTER, COPIES -> 0;
    };
  }

  /** Returns the devices of a member. */
  IntStream devices(int member) {
    return switch (scope) {
      case DEVICE -> IntStream.of(member);
      case NODE -> cluster.devicesOfNode(member).stream().mapToInt(d -> d);
      case CLUSTER, COPIES -> IntStream.range(0, cluster.devices());
    };
  }

  /** Returns the devices of a member that share a buffer. */
  public DeviceGroup group(int member) {
    return switch (scope) {
      case DEVICE -> ALONE;
      case NODE -> {
        int perNode = cluster.devicesPerNode();
        int devices = Math.min(perNode, cluster.devices() - member * perNode);
        yield new DeviceGroup(devices, devices);
      }
      case CLUSTER, COPIES -> DeviceGroup.of(cluster);
    };
  }

  /** Returns the shards of a plan that a member has in this, those that are split over it once. */
  Stream<Shard> shards(List<Shard> shards, int member) {
    return shards.stream()
        .filter(shard -> shard.kind().scope() == scope && member(shard.device()) == member)
        .filter(shard -> scope == ShardScope.DEVICE || shard.rowOffset() == 0);
  }

  /**
   * Returns the collective of one buffer, if the scope has one in this direction.
   *
   * @param elements numbers in the buffer on a device: outputs times columns, of copies rows times
   *     columns
   */
  public Optional<BufferCollective> buffer(double elements) {
    return ofBuffers.map(of -> new BufferCollective(of, direction, elements * bytesPerElement));
  }

  /**
   * Predicts the collective of one buffer, coding included, in milliseconds; see {@link #buffer}.
   */
  public double bufferMs(CostEvaluator evaluator, DeviceGroup group, double elements) {
    return buffer(elements).map(of -> evaluator.bufferMs(of, group)).orElse(0.0)
        + (group.devices() == 1 ? 0 : codingMs(elements + elements / group.devices()));
  }

  /** Returns the bytes that a member sends to each device for an element that it contributes. */
  public double bytesToEach() {
    return bytesPerElement / cluster.devices();
  }

  /**
   * Predicts the all-to-all on a member, coding included, in milliseconds: it encodes what it
   * contributes, and decodes as much as it gets, which is the mean of all members.
   *
   * @param bytes bytes that the member sends to each other one
   * @param load what all members send
   * @param elements numbers that the member contributes
   * @param mean the mean of that over the members
   */
  public double allToAllMs(
      CostEvaluator evaluator, double bytes, AllToAllLoad load, double elements, double mean) {
    double ms = evaluator.allToAllMs(direction, bytes, load);
    return codec.isEmpty() || load.maxBytes() == 0 || members.devices() == 1
        ? ms
        : ms + codingMs((elements + mean) * ((double) members.devices() / cluster.devices()));
  }

  private double codingMs(double elements) {
    return codec.map(of -> of.codingMs(elements)).orElse(0.0);
  }

  /**
   * Predicts both on each member, in milliseconds.
   *
   * @param elements numbers that each member contributes
   */
  double[] ms(CostEvaluator evaluator, double[] elements) {
    AllToAllLoad load = AllToAllLoad.of(members, elements, bytesToEach());
    double mean = Arrays.stream(elements).sum() / elements.length;
    double[] ms = new double[elements.length];
    for (int m = 0; m < ms.length; m++) {
      ms[m] =
          bufferMs(evaluator, group(m), elements[m])
              + allToAllMs(evaluator, elements[m] * bytesToEach(), load, elements[m], mean);
    }
    return ms;
  }

  /** Predicts both on each device, in milliseconds. */
  double[] ms(CostEvaluator evaluator, List<DeviceLoad> loads) {
    double[] elements = new double[members.devices()];
    Arrays.setAll(elements, m -> loads.get(devices(m).findFirst().orElseThrow()).elements(scope));
    double[] ofMembers = ms(evaluator, elements);
    double[] ms = new double[loads.size()];
    Arrays.setAll(ms, d -> ofMembers[member(d)]);
    return ms;
  }
}
