package io.shardtide.config;

import io.shardtide.workload.NumberRange;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Where health and metrics are served, and to whom.
 *
 * @param host address to listen on; one that other machines reach needs a token
 * @param port port to listen on; {@link #PORT}, 0 for any free one
 * @param token token that callers must send to see more than whether the service works; empty for
 *     none
 */
public record HttpSettings(String host, int port, Optional<Token> token) {
  /** Range of {@code port}. */
  public static final NumberRange PORT = NumberRange.whole(0, 65_535);

  /**
   * Loopback addresses, as people write them. Other names count as reachable from other machines
   * and are not resolved, because what they resolve to may change.
   */
  private static final Pattern LOOPBACK =
      Pattern.compile("localhost|127(\\.\\d{1,3}){3}|\\[?(::1|(0:){7}1)]?");

  /** Loopback only. */
  public static final HttpSettings DEFAULTS = new HttpSettings("127.0.0.1", 8080, Optional.empty());

  /** Checks the range, and that other machines need a token. */
  public HttpSettings {
    PORT.check("port", port);
    if (!isLoopback(host) && token.isEmpty()) {
      throw new IllegalArgumentException(
          "host must be a loopback address unless there is a token, got %s and no token"
              .formatted(host));
    }
  }

  /** Returns whether an address is a loopback address. */
  static boolean isLoopback(String host) {
    return LOOPBACK.matcher(host).matches();
  }
}
