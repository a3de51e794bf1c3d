package io.shardtide.web;

import java.util.Optional;
import java.util.function.Predicate;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;

/** Checks the bearer token of a request. */
final class Bearer {
  private static final String BEARER = "Bearer ";

  private Bearer() {}

  /** Returns whether a request has the token, or none is required. */
  static boolean isAuthorized(Request request, Optional<Predicate<String>> token) {
    return token.isEmpty() || hasToken(request, token.get());
  }

  /** Returns whether a request has the token. */
  static boolean hasToken(Request request, Predicate<String> token) {
    String header = request.getHeaders().get(HttpHeader.AUTHORIZATION);
    return header != null
        && header.regionMatches(true, 0, BEARER, 0, BEARER.length())
        && token.test(header.substring(BEARER.length()));
  }
}
