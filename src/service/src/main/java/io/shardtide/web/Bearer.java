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
    String header = request.getHeaders().get(HttpHeader.AUTHORIZATION);
    return token.isEmpty()
        || (header != null
            && header.regionMatches(true, 0, BEARER, 0, BEARER.length())
            && token.get().test(header.substring(BEARER.length())));
  }
}
