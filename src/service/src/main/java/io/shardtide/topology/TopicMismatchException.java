package io.shardtide.topology;

import java.util.List;

/** The cluster's topics would lose records or break their order, so that the start is refused. */
public final class TopicMismatchException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<TopicDifference> differences;

  TopicMismatchException(List<TopicDifference> differences) {
    super(
        "The cluster's topics would lose records or break their order; nothing was started:%n%s"
            .formatted(TopicCheck.describe(differences)));
    this.differences = List.copyOf(differences);
  }

  /** Returns all differences, harmless ones included. */
  public List<TopicDifference> differences() {
    return differences;
  }
}
