package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/**
 * What a planner and its clients left on the log. The records of one workload come in the order in
 * which they were written; how workloads alternate means nothing. May be read again and again, and
 * gives the same each time.
 */
public interface LogRecords {
  /** Returns whether records of a kind were kept; there may still be none. */
  boolean has(RecordKind<?> part);

  /**
   * Shows each record.
   *
   * @param part which records
   * @param each is shown them
   * @throws IOException if they cannot be read
   * @throws MalformedRecordException if one of them is no such record, or {@code each} refuses one
   *     with an {@link IllegalArgumentException}; says where it is
   */
  <V> void read(RecordKind<V> part, Consumer<? super V> each) throws IOException;

  /**
   * Returns the models by id, in the order in which they were published, where that is known.
   *
   * @throws IOException if they cannot be read
   */
  Map<String, ModelBundle> models() throws IOException;
}
