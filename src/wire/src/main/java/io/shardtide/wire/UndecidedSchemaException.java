package io.shardtide.wire;

/**
 * The registry answers, but does not give the schema of one id. It may still: the caller should ask
 * again, and is told within half a minute that the record is invalid, if it is.
 */
public final class UndecidedSchemaException extends RegistryUnavailableException {
  private static final long serialVersionUID = 1L;

  UndecidedSchemaException(String message, Throwable cause) {
    super(message, cause);
  }
}
