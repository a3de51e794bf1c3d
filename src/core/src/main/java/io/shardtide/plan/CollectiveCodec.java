package io.shardtide.plan;

import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.Comparator;

/**
 * The codec of the collectives of a step that shards of one scope need in one direction.
 *
 * @param scope the shards; not copies
 * @param direction the half of the step
 * @param codec what is sent
 * @param savedMs how much shorter a step is predicted to be than without the codec, all others as
 *     they are, in milliseconds
 */
public record CollectiveCodec(
    ShardScope scope, Direction direction, CommCodec codec, double savedMs) {
  /** The order in a plan. */
  public static final Comparator<CollectiveCodec> ORDER =
      Comparator.comparing(CollectiveCodec::scope).thenComparing(CollectiveCodec::direction);

  /** Checks that the codec may be used there. */
  public CollectiveCodec {
    if (!codec.serves(scope, direction) || !(savedMs >= 0)) {
      throw new IllegalArgumentException(
          "codec of a collective must serve it and save at least 0 ms, got codec %s in the %s collectives of scope %s, %s ms"
              .formatted(codec.name(), direction.label(), scope.label(), savedMs));
    }
  }
}
