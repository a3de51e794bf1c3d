package io.shardtide.web;

import java.util.Optional;
import java.util.function.Predicate;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;

/** Who sends a token. */
final class Bearer {
  private static final String BEARER = "Bearer ";

  private Bearer() {}

  /** Returns whether a request bears the token, or none is asked for. */
  static boolean isKnown(Request request, Optional<Predicate<String>> token) {
    return token.isEmpty() || bears(request, token.get());
  }

  /** Returns whether a request bears the token. */
  static boolean bears(Request request, Predicate<String> token) {
    String header = request.getHeaders().get(HttpHeader.AUTHORIZATION);
    return header != null
        && header.regionMatches(true, 0, BEARER, 0, BEARER.length())
        && token.test(header.substring(BEARER.length()));
  }
}
