package io.shardtide.wire;

/**
 * The schema registry does not answer, or not as it should: a reason to try again, never to drop a
 * record.
 */
public final class RegistryUnavailableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Says which registry, and what happened. */
  public RegistryUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
