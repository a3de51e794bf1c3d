package io.shardtide.topology;

import java.util.List;

/** The cluster's topics would lose data or break the order of records: nothing is started. */
public final class TopicMismatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<TopicDifference> differences;

  TopicMismatchException(List<TopicDifference> differences) {
    super(
        "The cluster's topics are not as they must be, and nothing was started:%n%s"
            .formatted(TopicCheck.describe(differences)));
    this.differences = List.copyOf(differences);
  }

  /** Returns what differs, harmless differences included. */
  public List<TopicDifference> differences() {
    return differences;
  }
}
