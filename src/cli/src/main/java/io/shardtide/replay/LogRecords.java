package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * The records of a planner and its clients. Records of one workload come in the order of the log;
 * the order between workloads is arbitrary. Every read returns the same records.
 */
public interface LogRecords {
  /** Returns whether records of a kind are available; there may still be none. */
  boolean has(RecordKind<?> kind);

  /**
   * Reads all records of a kind; none if they are not available.
   *
   * @param kind the kind
   * @param each called with each record
   * @throws IOException if they cannot be read
   * @throws MalformedRecordException if a record is malformed, or {@code each} throws an {@link
   *     IllegalArgumentException}; names its position
   */
  <V> void read(RecordKind<V> kind, Consumer<? super V> each) throws IOException;

  /** Returns the records of a kind that are wanted, see {@link #read}. */
  default <V> List<V> all(RecordKind<V> kind, Predicate<? super V> wanted) throws IOException {
    List<V> all = new ArrayList<>();
    read(
        kind,
        value -> {
          if (wanted.test(value)) {
            all.add(value);
          }
        });
    return all;
  }

  /**
   * Returns the models by id, in the order of publication, if that is known.
   *
   * @throws IOException if they cannot be read
   */
  Map<String, ModelBundle> models() throws IOException;
}
