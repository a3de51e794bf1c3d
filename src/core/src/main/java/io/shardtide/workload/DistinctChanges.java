package io.shardtide.workload;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Checks that an event does not change the same thing twice. */
final class DistinctChanges {
  /** Longer values, such as histograms, are named and not shown. */
  private static final int MAX_SHOWN = 40;

  /** In the order in which messages say them, whichever change comes first. */
  private static final List<String> VERBS = List.of("sets", "resizes", "drops");

  private DistinctChanges() {}

  /**
   * @throws RejectedException with the positions of two changes of one table, or of the cluster,
   *     and what differs between them
   */
  static void check(List<Change> changes) {
    Map<Optional<String>, Integer> positions = new HashMap<>();
    for (int c = 0; c < changes.size(); c++) {
      Optional<String> table = table(changes.get(c));
      Integer same = positions.putIfAbsent(table, c);
      if (same != null) {
        throw RejectionReason.TOO_MANY_CHANGES.failure(
            "an event must have at most one change of %s, got changes[%s] and changes[%s]: %s. Maybe rename one, leave one out, or publish two events"
                .formatted(
                    table.map(name -> "table " + Names.quote(name)).orElse("the cluster"),
                    same,
                    c,
                    difference(changes.get(same), changes.get(c))));
      }
    }
  }

  /** Returns the table that is changed; none if the cluster is. */
  private static Optional<String> table(Change change) {
    return change instanceof Change.OfTable of ? Optional.of(of.name()) : Optional.empty();
  }

  private static String difference(Change first, Change second) {
    if (first.getClass() != second.getClass()) {
      int least = Math.min(verb(first), verb(second));
      int most = Math.max(verb(first), verb(second));
      return "one %s it, the other %s it".formatted(VERBS.get(least), VERBS.get(most));
    }
    if (first instanceof Change.TableDropped) {
      return "both drop it";
    }
    Record before = spec(first);
    List<String> fields = new ArrayList<>();
    for (RecordComponent field : before.getClass().getRecordComponents()) {
      Object was = Reflected.value(field, before);
      Object is = Reflected.value(field, spec(second));
      if (!was.equals(is)) {
        String values = "%s and %s".formatted(was, is);
        fields.add(field.getName() + (values.length() <= MAX_SHOWN ? " " + values : ""));
      }
    }
    return fields.isEmpty() ? "they are equal" : "they differ in " + String.join(", ", fields);
  }

  private static int verb(Change change) {
    return change instanceof Change.TableDropped
        ? 2
        : change instanceof Change.TableResized ? 1 : 0;
  }

  private static Record spec(Change change) {
    if (change instanceof Change.TableUpserted upserted) {
      return upserted.table();
    }
    return change instanceof Change.ClusterSet set ? set.cluster() : (Record) change;
  }
}
