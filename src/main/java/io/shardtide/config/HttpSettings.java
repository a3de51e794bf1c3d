package io.shardtide.config;

import java.util.Objects;

/**
 * Where health and metrics are served.
 *
 * @param host address to listen on; nothing asks who calls, so that another address than loopback
 *     needs a network that may know
 * @param port port to listen on, at most 65,535; 0 for any free one
 */
public record HttpSettings(String host, int port) {
  /** On this machine only. */
  public static final HttpSettings DEFAULTS = new HttpSettings("127.0.0.1", 8080);

  /** Checks the range. */
  public HttpSettings {
    Objects.requireNonNull(host, "host");
    if (port < 0 || port > 65_535) {
      throw new IllegalArgumentException("Port %d; legal are 0 to 65535".formatted(port));
    }
  }
}
