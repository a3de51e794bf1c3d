package io.shardtide.config;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.regex.Pattern;

/** Token that callers of the HTTP server must send. Never shown, not even by this class. */
public final class Token {
  /** Shorter ones could be guessed. */
  public static final int LEAST_LENGTH = 16;

  private static final int LONGEST = 4_096;

  /** Syntax of a bearer token by RFC 6750. */
  private static final Pattern SYNTAX = Pattern.compile("[A-Za-z0-9._~+/-]+=*");

  private final String text;

  private Token(String text) {
    this.text = text;
  }

  /**
   * Returns a token.
   *
   * @param text 16 to 4,096 letters, digits and {@code -._~+/}, with any number of {@code =} after
   *     them
   * @throws IllegalArgumentException if it is invalid; the message does not contain it
   */
  public static Token of(String text) {
    if (text.length() < LEAST_LENGTH
        || text.length() > LONGEST
        || !SYNTAX.matcher(text).matches()) {
      throw new IllegalArgumentException(
          "a token of %d characters; it must have %d to %d letters, digits and -._~+/"
              .formatted(text.length(), LEAST_LENGTH, LONGEST));
    }
    return new Token(text);
  }

  /**
   * Returns whether a text is this token, in a time that depends on the text alone and reveals
   * neither the token's content nor its length.
   */
  public boolean is(String other) {
    return MessageDigest.isEqual(
        other.getBytes(StandardCharsets.UTF_8), text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Token token && is(token.text);
  }

  @Override
  public int hashCode() {
    return text.hashCode();
  }

  @Override
  public String toString() {
    return "********";
  }
}
