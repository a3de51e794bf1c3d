package io.shardtide.wire;

import io.shardtide.domain.RejectedEvent;

/**
 * What became of a record that others wrote.
 *
 * @param <V> what it should hold
 */
public sealed interface Decoded<V> {
  /**
   * It can be read.
   *
   * @param value what it holds
   */
  record Value<V>(V value) implements Decoded<V> {}

  /**
   * It cannot.
   *
   * @param rejection the record with the reason
   */
  record Invalid<V>(RejectedEvent rejection) implements Decoded<V> {}
}
