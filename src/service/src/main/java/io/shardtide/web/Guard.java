package io.shardtide.web;

import java.util.Locale;
import java.util.Optional;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;

/**
 * Rejects requests that other web sites cause: a page elsewhere can make a browser send requests to
 * this server (CSRF), and with a host name that resolves to this machine (DNS rebinding) they look
 * like requests of this site.
 */
final class Guard {
  private final String host;
  private final boolean anyName;

  /**
   * @param host the name or address that the server listens on
   * @param anyName whether any host name is accepted, because all requests need a token, which no
   *     other site has
   */
  Guard(String host, boolean anyName) {
    this.host = host.toLowerCase(Locale.ROOT);
    this.anyName = anyName;
  }

  /**
   * Returns why a request is rejected, as a sentence; empty if it is accepted.
   *
   * @param changes whether the request changes something
   */
  Optional<String> rejection(Request request, boolean changes) {
    HttpFields headers = request.getHeaders();
    String name = Request.getServerName(request);
    if (!anyName && (name == null || !isOwn(name.toLowerCase(Locale.ROOT)))) {
      return Optional.of(
          "The request's host must be an address, localhost or the value of http.host, got "
              + (name == null ? "none" : name));
    }
    String origin = headers.get(HttpHeader.ORIGIN);
    String site = headers.get("Sec-Fetch-Site");
    boolean foreign =
        (origin != null
                && !origin.equals("http://" + headers.get(HttpHeader.HOST))
                && !origin.equals("https://" + headers.get(HttpHeader.HOST)))
            || (site != null && !site.equals("same-origin") && (changes || !site.equals("none")));
    return foreign && (changes || isApi(request))
        ? Optional.of("The request must come from this site, not from another one")
        : Optional.empty();
  }

  private static boolean isApi(Request request) {
    return request.getHttpURI().getPath().startsWith("/api/");
  }

  /** Addresses and localhost cannot be made to resolve elsewhere. */
  private boolean isOwn(String name) {
    return name.equals("localhost")
        || name.equals(host)
        || name.startsWith("[")
        || name.contains(":")
        || name.matches("[0-9]{1,3}(\\.[0-9]{1,3}){3}");
  }
}
