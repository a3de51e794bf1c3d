package io.shardtide.torchrec;

import java.util.List;

/**
 * {@code DistributedModelParallel.reshard} cannot go from one plan to the other. What can be done
 * is to save a checkpoint and to start again with the new plan.
 */
public final class NotReshardableException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> problems;

  NotReshardableException(List<String> problems) {
    super(String.join("; ", problems));
    this.problems = List.copyOf(problems);
  }

  /** Returns why, a sentence each. */
  public List<String> problems() {
    return problems;
  }
}
