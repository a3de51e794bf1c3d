package io.shardtide.cost;

/**
 * A cost model that cannot be used: foreign, truncated, corrupt, of a newer format, or with numbers
 * that are none.
 */
public final class InvalidModelException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** Creates an exception with a message that says what is wrong. */
  public InvalidModelException(String message) {
    super(message);
  }

  /** Creates an exception with a message that says what is wrong, and its cause. */
  public InvalidModelException(String message, Throwable cause) {
    super(message, cause);
  }
}
