package io.shardtide.wire;

import io.shardtide.workload.RejectedEvent;

/**
 * Result of decoding a record.
 *
 * @param <V> type of the value
 */
public sealed interface Decoded<V> {
  /**
   * A valid record.
   *
   * @param value its value
   */
  record Value<V>(V value) implements Decoded<V> {}

  /**
   * An invalid record.
   *
   * @param rejection the original bytes with the reason
   */
  record Invalid<V>(RejectedEvent rejection) implements Decoded<V> {}
}
