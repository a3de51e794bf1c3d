package io.shardtide.wire;

/** The schema registry does not answer, or answers with an error; the caller should retry. */
public sealed class RegistryUnavailableException extends RuntimeException
    permits UndecidedSchemaException {
  private static final long serialVersionUID = 1L;

  /** Creates an exception; the message names the registry. */
  public RegistryUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
