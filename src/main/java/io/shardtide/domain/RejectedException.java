package io.shardtide.domain;

import java.util.Objects;

/** An input that is not legal: a code for programs, and a sentence for people that says what is. */
public final class RejectedException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final RejectionReason reason;

  /**
   * @param reason the code
   * @param message what was wrong, the value, and what is legal
   */
  public RejectedException(RejectionReason reason, String message) {
    super(Objects.requireNonNull(message, "message"));
    this.reason = Objects.requireNonNull(reason, "reason");
  }

  /** Returns the code. */
  public RejectionReason reason() {
    return reason;
  }
}
