package io.shardtide.wire;

import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The topics of one prefix.
 *
 * @param prefix text before each name
 * @param extensions those that are enabled
 * @param limits {@code max.message.bytes} by name, of those whose limit on the cluster is smaller
 * @param partitions how many partitions topics have on the cluster, by name; as far as known
 */
public record Topics(
    String prefix,
    Set<Extension> extensions,
    Map<String, Integer> limits,
    Map<String, Integer> partitions) {
  /** The default prefix of all names. */
  public static final String DEFAULT_PREFIX = "shardtide.";

  /**
   * The application that reads workload-changes. With the prefix before it, it is the consumer
   * group whose committed offsets are the planner's progress.
   */
  public static final String WORKLOAD_APPLICATION = "workload";

  /** Copies what it is given. */
  public Topics {
    extensions = Set.copyOf(extensions);
    limits = Map.copyOf(limits);
    partitions = Map.copyOf(partitions);
  }

  /** Returns the topics with a prefix before each name, those of all extensions included. */
  public static Topics withPrefix(String prefix) {
    return inUse(prefix, EnumSet.allOf(Extension.class));
  }

  /**
   * Returns the topics that a planner uses.
   *
   * @param prefix text before each name
   * @param extensions those that are enabled; {@link #all()} is without the topics of others
   */
  public static Topics inUse(String prefix, Set<Extension> extensions) {
    return new Topics(prefix, extensions, Map.of(), Map.of());
  }

  /**
   * Returns these topics with the limits that they have on a cluster.
   *
   * @param found {@code max.message.bytes} by name, of those whose limit is smaller
   */
  @ForUpgradeFrom("0.2.0")
  public Topics limitedTo(Map<String, Integer> found) {
    return new Topics(prefix, extensions, found, partitions);
  }

  /**
   * Returns these topics with the partitions that they have on a cluster.
   *
   * @param found how many partitions they have, by name
   */
  public Topics withPartitions(Map<String, Integer> found) {
    return new Topics(prefix, extensions, limits, found);
  }

  /** Returns a topic; it need not be in use. */
  public <V> Topic<V> of(TopicType<V> type) {
    String name = prefix + type.name();
    int limit = limits.getOrDefault(name, Integer.MAX_VALUE);
    return new Topic<>(name, type, Math.min(limit, type.maxMessageBytes()));
  }

  /** Returns all topics that are in use, in the order of the flow; see {@link #inUse}. */
  public List<Topic<?>> all() {
    return TopicType.all().stream()
        .filter(type -> type.extension().map(extensions::contains).orElse(true))
        .<Topic<?>>map(this::of)
        .toList();
  }

  /** Returns how many partitions a topic has; empty if that is not known. */
  public OptionalInt partitions(Topic<?> topic) {
    Integer count = partitions.get(topic.name());
    return count == null ? OptionalInt.empty() : OptionalInt.of(count);
  }

  /** Returns the extension that a topic belongs to; empty for any other name. */
  public Optional<Extension> extensionOf(String name) {
    return TopicType.all().stream()
        .filter(type -> name.equals(prefix + type.name()))
        .findFirst()
        .flatMap(TopicType::extension);
  }
}
