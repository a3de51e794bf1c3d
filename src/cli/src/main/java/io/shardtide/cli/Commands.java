package io.shardtide.cli;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The commands by name. A command's class is loaded when the command is called or listed, because
 * most bring Kafka or TensorFlow with them.
 */
final class Commands {
  /** In the order of the help. Each class is named after its command: {@code RunCommand}. */
  static final List<String> NAMES =
      List.of(
          "demo",
          "run",
          "doctor",
          "rights",
          "workload",
          "plan",
          "pool",
          "model",
          "table",
          "log",
          "bench");

  /** They need the embedded broker or the benchmarks, which the distribution does not contain. */
  static final Set<String> CHECKOUT_ONLY = Set.of("demo", "bench");

  /** They need no command beside them. */
  private static final Set<String> ALONE = Set.of("-V", "--version", "version");

  private Commands() {}

  /** Returns the commands to load for these arguments: the one that is called, or all. */
  static List<String> neededFor(String... args) {
    if (args.length == 1 && ALONE.contains(args[0])) {
      return List.of();
    }
    return args.length > 0 && NAMES.contains(args[0]) ? List.of(args[0]) : NAMES;
  }

  /** Returns a command's class, or nothing if this distribution does not contain it. */
  static Optional<Class<?>> type(String name) {
    String type =
        "%s.%s%sCommand"
            .formatted(
                Commands.class.getPackageName(),
                name.substring(0, 1).toUpperCase(Locale.ROOT),
                name.substring(1));
    try {
      return Optional.of(Class.forName(type));
    } catch (ClassNotFoundException e) {
      if (CHECKOUT_ONLY.contains(name)) {
        return Optional.empty();
      }
      throw new LinkageError("The class of the command " + name + " is missing", e);
    }
  }
}
