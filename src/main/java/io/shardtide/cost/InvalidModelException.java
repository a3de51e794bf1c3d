package io.shardtide.cost;

/**
 * A cost model that cannot be used: foreign, truncated, corrupt, of a newer format, or with numbers
 * that are none.
 */
public final class InvalidModelException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** Says what is wrong. */
  public InvalidModelException(String message) {
    super(message);
  }

  /** Says what is wrong, and what showed it. */
  public InvalidModelException(String message, Throwable cause) {
    super(message, cause);
  }
}
