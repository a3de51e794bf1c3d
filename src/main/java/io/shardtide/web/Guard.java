package io.shardtide.web;

import java.util.Locale;
import java.util.Optional;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;

/**
 * Keeps other sites out: a page elsewhere may make a browser send requests here, and a name that
 * its owner points at this machine (DNS rebinding) makes them look like this site's own.
 */
final class Guard {
  private final String host;
  private final boolean anyName;

  /**
   * @param host the name or address that is listened on
   * @param anyName whether requests under any name are legal, because all bear a token, which no
   *     other site has
   */
  Guard(String host, boolean anyName) {
    this.host = host.toLowerCase(Locale.ROOT);
    this.anyName = anyName;
  }

  /** Returns what is wrong with a request, for people; empty if nothing is. */
  Optional<String> flaw(Request request, boolean changes) {
    HttpFields headers = request.getHeaders();
    String name = Request.getServerName(request);
    if (!anyName && (name == null || !isOwn(name.toLowerCase(Locale.ROOT)))) {
      return Optional.of(
          "The request is for a name that is not this server's; legal are addresses, localhost, and http.host");
    }
    String origin = headers.get(HttpHeader.ORIGIN);
    String site = headers.get("Sec-Fetch-Site");
    boolean foreign =
        (origin != null
                && !origin.equals("http://" + headers.get(HttpHeader.HOST))
                && !origin.equals("https://" + headers.get(HttpHeader.HOST)))
            || (site != null && !site.equals("same-origin") && (changes || !site.equals("none")));
    return foreign && (changes || isApi(request))
        ? Optional.of("The request comes from another site; legal is this one")
        : Optional.empty();
  }

  private static boolean isApi(Request request) {
    return request.getHttpURI().getPath().startsWith("/api/");
  }

  /** An address cannot be pointed elsewhere, and localhost is not looked up. */
  private boolean isOwn(String name) {
    return name.equals("localhost")
        || name.equals(host)
        || name.startsWith("[")
        || name.contains(":")
        || name.matches("[0-9]{1,3}(\\.[0-9]{1,3}){3}");
  }
}
