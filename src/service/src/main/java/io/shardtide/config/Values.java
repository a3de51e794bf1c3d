package io.shardtide.config;

import io.shardtide.workload.NumberRange;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * Parses the values of settings. An invalid value is an {@link IllegalArgumentException}; its
 * message says what is wrong with the value, or is null where the setting's range says it.
 */
final class Values {
  private static final Pattern BROKER =
      Pattern.compile("(\\[[0-9a-fA-F:.%]+]|[^\\s,:\\[\\]]+):(\\d{1,5})");

  private Values() {}

  static long whole(String text, NumberRange range) {
    return number(text, range, Long::valueOf, "a whole number");
  }

  static double real(String text, NumberRange range) {
    return number(text, range, Double::valueOf, "a number");
  }

  private static <T extends Number> T number(
      String text, NumberRange range, Function<String, T> parser, String expected) {
    try {
      T value = parser.apply(text);
      require(range.contains(value.doubleValue()));
      return value;
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("it is not " + expected, e);
    }
  }

  static boolean bool(String text) {
    require(text.matches("(?i)true|false"));
    return Boolean.parseBoolean(text);
  }

  static String brokers(String text) {
    List<String> brokers = new ArrayList<>();
    for (String part : text.split(",", -1)) {
      String broker = part.strip();
      var match = BROKER.matcher(broker);
      if (!match.matches() || Integer.parseInt(match.group(2)) > 65_535) {
        throw new IllegalArgumentException("\"%s\" is not host:port".formatted(broker));
      }
      brokers.add(broker);
    }
    return String.join(",", brokers);
  }

  static String url(String text) {
    try {
      URI uri = new URI(text);
      require(
          uri.getHost() != null
              && uri.getUserInfo() == null
              && uri.getQuery() == null
              && uri.getFragment() == null
              && ("http".equals(uri.getScheme()) || "https".equals(uri.getScheme())));
    } catch (URISyntaxException e) {
      // Its message quotes the address, which may hold a password.
      throw new IllegalArgumentException();
    }
    return text;
  }

  static Function<String, Object> matching(String pattern) {
    return text -> {
      require(text.matches(pattern));
      return text;
    };
  }

  /** Reads a file that holds a token and nothing else; no message shows its content. */
  static Optional<Token> token(String text) {
    if (text.isEmpty()) {
      return Optional.empty();
    }
    Path file = path(text);
    String token;
    try {
      token = Files.readString(file, StandardCharsets.US_ASCII).strip();
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("it holds bytes that are not ASCII", e);
    } catch (IOException e) {
      throw new IllegalArgumentException("it is not a readable file", e);
    }
    try {
      return Optional.of(Token.of(token));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("it holds " + e.getMessage(), e);
    }
  }

  static Path path(String text) {
    require(!text.isEmpty());
    try {
      return Path.of(text);
    } catch (InvalidPathException e) {
      throw new IllegalArgumentException(e.getReason(), e);
    }
  }

  static List<Path> files(String text) {
    List<Path> files = new ArrayList<>();
    for (String part : text.isBlank() ? new String[0] : text.split(",", -1)) {
      Path file = path(part.strip());
      if (!Files.isReadable(file) || Files.isDirectory(file)) {
        throw new IllegalArgumentException("%s is not a readable file".formatted(file));
      }
      if (files.contains(file)) {
        throw new IllegalArgumentException("%s is repeated".formatted(file));
      }
      files.add(file);
    }
    return files;
  }

  private static void require(boolean valid) {
    if (!valid) {
      throw new IllegalArgumentException();
    }
  }
}
