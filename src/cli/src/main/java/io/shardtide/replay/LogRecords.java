package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The records of a planner and its clients. Records of one workload come in the order of the log;
 * the order between workloads is arbitrary. Every read returns the same records.
 */
public interface LogRecords {
  /** Returns whether records of a kind are available; there may still be none. */
  boolean has(RecordKind<?> kind);

  /**
   * Reads all records of a kind.
   *
   * @param kind the kind
   * @param each called with each record
   * @throws IOException if they cannot be read
   * @throws MalformedRecordException if a record is malformed, or {@code each} throws an {@link
   *     IllegalArgumentException}; names its position
   */
  <V> void read(RecordKind<V> kind, Consumer<? super V> each) throws IOException;

  /**
   * Returns the models by id, in the order of publication, if that is known.
   *
   * @throws IOException if they cannot be read
   */
  Map<String, ModelBundle> models() throws IOException;
}
