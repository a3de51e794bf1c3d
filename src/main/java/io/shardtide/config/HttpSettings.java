package io.shardtide.config;

import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Where health and metrics are served, and to whom.
 *
 * @param host address to listen on; one that other machines reach needs a token
 * @param port port to listen on, at most 65,535; 0 for any free one
 * @param token what callers must know to see more than whether the service works; empty if nobody
 *     is asked
 */
public record HttpSettings(String host, int port, Optional<Token> token) {
  /**
   * The addresses that only this machine reaches, as people write them. Other names are taken for
   * open without asking what they stand for: the answer may change.
   */
  private static final Pattern LOOPBACK =
      Pattern.compile("localhost|127(\\.\\d{1,3}){3}|\\[?(::1|(0:){7}1)]?");

  /** On this machine only. */
  public static final HttpSettings DEFAULTS = new HttpSettings("127.0.0.1", 8080, Optional.empty());

  /** Checks the range, and that nothing is open to all. */
  public HttpSettings {
    Objects.requireNonNull(host, "host");
    Objects.requireNonNull(token, "token");
    if (port < 0 || port > 65_535) {
      throw new IllegalArgumentException("Port %d; legal are 0 to 65535".formatted(port));
    }
    if (!isLoopback(host) && token.isEmpty()) {
      throw new IllegalArgumentException(
          "Host %s without a token; legal is an address that only this machine reaches, or a token"
              .formatted(host));
    }
  }

  /** Returns whether only this machine reaches an address. */
  static boolean isLoopback(String host) {
    return LOOPBACK.matcher(host).matches();
  }
}
