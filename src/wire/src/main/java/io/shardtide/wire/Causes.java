package io.shardtide.wire;

import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/** What led to an error. */
public final class Causes {
  private Causes() {}

  static Stream<Throwable> of(Throwable error) {
    return Stream.iterate(error, Objects::nonNull, Throwable::getCause);
  }

  /** Returns the outermost error of a type: the error itself, or one of its causes. */
  public static <T extends Throwable> Optional<T> find(Throwable error, Class<T> type) {
    return of(error).filter(type::isInstance).map(type::cast).findFirst();
  }

  /** Returns the last cause. */
  public static Throwable root(Throwable error) {
    return of(error).reduce((outer, cause) -> cause).orElseThrow();
  }

  /** Returns class and message of the last cause. */
  public static String describe(Throwable error) {
    Throwable root = root(error);
    return root.getClass().getSimpleName()
        + (root.getMessage() == null ? "" : ": " + root.getMessage());
  }
}
