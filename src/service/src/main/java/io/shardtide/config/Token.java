package io.shardtide.config;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.regex.Pattern;

/** Token that callers of the HTTP server must send. Never shown, not even by this class. */
public final class Token {
  /** Shorter ones could be guessed. */
  public static final int LEAST_LENGTH = 16;

  private static final int LONGEST = 4_096;

  /** Syntax of a bearer token by RFC 6750. */
  private static final Pattern SYNTAX = Pattern.compile("[A-Za-z0-9._~+/-]+=*");

  /** Compared instead of the token, so that timing reveals neither its content nor its length. */
  private final byte[] hash;

  private Token(byte[] hash) {
    this.hash = hash;
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
    return new Token(hash(text));
  }

  /** Returns whether a text is this token, in constant time. */
  public boolean is(String text) {
    return MessageDigest.isEqual(hash, hash(text));
  }

  private static byte[] hash(String text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java has SHA-256", e);
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Token token && MessageDigest.isEqual(hash, token.hash);
  }

  @Override
  public int hashCode() {
    return hash[0];
  }

  @Override
  public String toString() {
    return "********";
  }
}
