package io.shardtide.bench.soak;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;

/**
 * All committed records of a planner's topics after a soak, with their positions. Every read
 * returns the same records: nothing is written any more.
 */
public interface SoakLog {
  /** Returns the topics. */
  Topics topics();

  /**
   * Reads a topic, one partition after another.
   *
   * @param each receives the records, those of a partition in their order
   * @throws IOException if the topic cannot be read
   */
  <V> void read(Topic<V> topic, Consumer<CommittedRecord<V>> each) throws IOException;

  /**
   * Returns all models by id, in the order of publication.
   *
   * @throws IOException if they cannot be read
   */
  Map<String, ModelBundle> models() throws IOException;
}
