package io.shardtide.torchrec;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Which {@code EmbeddingBagCollection} of a model has which table. A path is names separated by
 * dots, as of the model that {@code DistributedModelParallel} wraps; empty for the model itself.
 *
 * @param path path of the collection with all tables; not used if there are paths by table
 * @param byTable the path for each table, if there are several collections
 */
public record Modules(String path, SortedMap<String, String> byTable) {
  private static final Pattern PATH = Pattern.compile("|[^.]+(\\.[^.]+)*");

  /**
   * @throws IllegalArgumentException if a path is not valid
   */
  public Modules {
    byTable = Collections.unmodifiableSortedMap(new TreeMap<>(byTable));
    check(path);
    byTable.values().forEach(Modules::check);
  }

  private static void check(String path) {
    if (!PATH.matcher(path).matches()) {
      throw new IllegalArgumentException(
          "module path must be names separated by dots, or empty for the model itself, got \"%s\""
              .formatted(path));
    }
  }

  /** Returns a single collection. */
  public static Modules of(String path) {
    return new Modules(path, new TreeMap<>());
  }

  /**
   * Parses one {@code PATH}, or {@code PATH=TABLE,TABLE,...} of each of several collections.
   *
   * @param texts at least one
   * @throws IllegalArgumentException if the texts are neither, or a path is not valid
   */
  public static Modules parse(List<String> texts) {
    if (texts.size() == 1 && texts.get(0).indexOf('=') < 0) {
      return of(texts.get(0));
    }
    SortedMap<String, String> byTable = new TreeMap<>();
    for (String text : texts) {
      int end = text.indexOf('=');
      if (end < 0) {
        throw new IllegalArgumentException(
            "module must be PATH=TABLE,TABLE,... for each of several, got \"%s\"".formatted(text));
      }
      String path = text.substring(0, end);
      for (String table : text.substring(end + 1).split(",", -1)) {
        String other = byTable.put(table, path);
        if (table.isEmpty() || other != null) {
          throw new IllegalArgumentException(
              table.isEmpty()
                  ? "module must be PATH=TABLE,TABLE,..., got \"%s\"".formatted(text)
                  : "Table \"%s\" is in modules \"%s\" and \"%s\"; must be in one"
                      .formatted(table, other, path));
        }
      }
    }
    return new Modules("", byTable);
  }

  /**
   * Returns the tables of each path.
   *
   * @param tables all tables of a plan
   * @throws IllegalArgumentException if they are not the tables of the modules
   */
  SortedMap<String, List<String>> tablesByPath(Collection<String> tables) {
    SortedMap<String, List<String>> tablesByPath = new TreeMap<>();
    TreeSet<String> names = new TreeSet<>(tables);
    names.addAll(byTable.keySet());
    for (String table : names) {
      String ofTable = byTable.isEmpty() ? path : byTable.get(table);
      if (ofTable == null) {
        throw new IllegalArgumentException(
            "Table \"%s\" has no module path; modules must have one for each table of the plan"
                .formatted(table));
      }
      if (!tables.contains(table)) {
        throw new IllegalArgumentException(
            "Table \"%s\" of module \"%s\" is not in the plan; must be a plan of all tables of the modules"
                .formatted(table, ofTable));
      }
      tablesByPath.computeIfAbsent(ofTable, name -> new ArrayList<>()).add(table);
    }
    return tablesByPath;
  }
}
