package io.shardtide.growth;

import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Chooses the capacities of hashed tables.
 *
 * <p>Nothing changes until a table may be full within the policy's lead time. Then all tables get
 * what their forecasts need for the same time, as long as the policy covers or, if memory does not
 * hold that, most of the time that it does: a slot is worth most in the table that is full first.
 * Tables that evict share what is left, each slot where it adds most hits for its bytes. Where
 * memory holds less than twice the lead time, all that is left goes to the tables that are full
 * first. No table loses slots.
 *
 * @param policy when tables are resized, and for how long
 */
public record Capacities(CapacityPolicy policy) {
  private static final int HOURS = Forecast.HOURS;

  /**
   * Where memory holds less than the policy covers, tables get room for this share of the time that
   * it holds: what is left goes to those that grow faster than expected meanwhile.
   */
  private static final double GIVEN = 0.8;

  /** With memory nearly full, a plan must raise a table by at least this share of its slots. */
  private static final double LEAST_RAISE = 0.001;

  /**
   * Returns which tables get other capacities, in the order of their names; none if all stay.
   *
   * @param tables the hashed tables of a workload
   * @param bytes memory for all of them together
   */
  public List<Resize> resizes(List<HashedTable> tables, double bytes) {
    boolean isDue = tables.stream().anyMatch(this::isDue);
    if (!isDue && tables.stream().noneMatch(HashedTable::evicts)) {
      return List.of();
    }
    Map<String, Long> chosen = choose(tables, bytes);
    if (!isDue && tables.stream().noneMatch(t -> gainsHits(t, chosen.get(t.name())))) {
      return List.of();
    }
    List<HashedTable> raised =
        tables.stream().filter(t -> chosen.get(t.name()) > t.capacity()).toList();
    // What one event cannot hold follows from later reports.
    boolean isOneEvent = raised.size() <= WorkloadChange.MAX_CHANGES || !isDue;
    return raised.stream()
        .filter(t -> isOneEvent || isDue(t))
        .limit(WorkloadChange.MAX_CHANGES)
        .map(t -> new Resize(t.name(), chosen.get(t.name()), reason(t, chosen.get(t.name()))))
        .sorted(Comparator.comparing(Resize::table))
        .toList();
  }

  private boolean isDue(HashedTable table) {
    return !table.evicts()
        && table.capacity() < TableSpec.MAX_ROWS
        && table.forecast().likelyMost(policy.leadDays()) > table.room();
  }

  private boolean gainsHits(HashedTable table, long capacity) {
    return table.evicts()
        && table.hits().share(capacity) - table.hits().share(table.capacity())
            >= policy.leastHitGain();
  }

  private Map<String, Long> choose(List<HashedTable> tables, double bytes) {
    int enough = 0;
    int tooMany = (int) Math.ceil(policy.coverDays() * HOURS) + 1;
    while (tooMany - enough > 1) {
      int hours = (enough + tooMany) / 2;
      if (bytes(tables, (double) hours / HOURS) <= bytes) {
        enough = hours;
      } else {
        tooMany = hours;
      }
    }
    double most = (double) enough / HOURS;
    if (most < 2 * policy.leadDays()) {
      return lastRoom(tables, bytes);
    }
    boolean isCovered = enough >= policy.coverDays() * HOURS;
    double days = isCovered ? policy.coverDays() : Math.max(2 * policy.leadDays(), GIVEN * most);
    Map<String, Long> chosen = new TreeMap<>();
    double left = bytes;
    for (HashedTable table : tables) {
      long capacity = capacity(table, days);
      chosen.put(table.name(), capacity);
      left -= capacity * table.bytesPerSlot();
    }
    if (isCovered) {
      raiseForHits(tables, chosen, left);
    }
    return chosen;
  }

  /** Slots that a table lacks for some time. */
  private record Missing(HashedTable table, long slots) {
    double bytes() {
      return slots * table.bytesPerSlot();
    }
  }

  /**
   * Gives all that is left of nearly full memory at once, so that later reports have nothing to
   * give: hour by hour to the tables that are full then, the least that one lacks first. Nothing if
   * memory does not hold the ids of today: no capacity helps, and a plan may not even fit.
   */
  private Map<String, Long> lastRoom(List<HashedTable> tables, double bytes) {
    Map<String, Long> now = new TreeMap<>();
    tables.forEach(table -> now.put(table.name(), table.capacity()));
    Map<String, Long> chosen = new TreeMap<>(now);
    double left = bytes - tables.stream().mapToDouble(t -> t.capacity() * t.bytesPerSlot()).sum();
    boolean isLeft = true;
    boolean isEnoughNow = false;
    for (int hour = 0; hour <= policy.coverDays() * HOURS && isLeft; hour++) {
      for (Missing missing : missing(tables, chosen, (double) hour / HOURS)) {
        long added = Math.max(0, Math.min(missing.slots(), affordable(missing.table(), left)));
        chosen.merge(missing.table().name(), added, Long::sum);
        left -= added * missing.table().bytesPerSlot();
        isLeft &= added == missing.slots();
      }
      isEnoughNow |= isLeft;
    }
    boolean isWorthAPlan =
        isEnoughNow
            && tables.stream()
                .anyMatch(t -> chosen.get(t.name()) > (1 + LEAST_RAISE) * t.capacity());
    return isWorthAPlan ? chosen : now;
  }

  private static List<Missing> missing(
      List<HashedTable> tables, Map<String, Long> chosen, double days) {
    return tables.stream()
        .filter(table -> !table.evicts())
        .map(
            t ->
                new Missing(
                    t,
                    slots(expectedIds(t, days) / HashedTable.LOAD_FACTOR) - chosen.get(t.name())))
        .filter(missing -> missing.slots() > 0)
        .sorted(
            Comparator.comparingDouble(Missing::bytes)
                .thenComparing(missing -> missing.table().name()))
        .toList();
  }

  private static long affordable(HashedTable table, double bytes) {
    return (long) Math.min(Long.MAX_VALUE / 2.0, bytes / table.bytesPerSlot());
  }

  private double bytes(List<HashedTable> tables, double days) {
    return tables.stream().mapToDouble(t -> capacity(t, days) * t.bytesPerSlot()).sum();
  }

  /** Returns the slots that a table needs for some days; at least those that it has. */
  private long capacity(HashedTable table, double days) {
    if (table.evicts()) {
      return table.capacity();
    }
    double ids = Math.max(table.forecast().most(policy.leadDays()), expectedIds(table, days));
    return Math.max(table.capacity(), slots(roundUp(ids / HashedTable.LOAD_FACTOR)));
  }

  /**
   * Returns the ids to have room for: half-way between the median and the highest forecast. The
   * highest one would take up to 6% more memory for a fifth fewer resizes.
   */
  private static double expectedIds(HashedTable table, double days) {
    Range then = table.forecast().in(days);
    return (then.median() + then.high()) / 2;
  }

  /** Rounds to three digits, which people can compare; at most 1% more. */
  private static double roundUp(double slots) {
    double unit = 1;
    while (slots / unit >= 1_000) {
      unit *= 10;
    }
    return Math.ceil(slots / unit) * unit;
  }

  /** Returns a number of slots that a table may have. */
  private static long slots(double needed) {
    return (long) Math.min(TableSpec.MAX_ROWS, Math.ceil(needed));
  }

  /** Slots that a table that evicts may get in addition, with the hits that they add. */
  private record Step(HashedTable table, long capacity, double hitsPerByte) {}

  /** Gives what memory is left to tables that evict, where a byte adds most hits first. */
  private static void raiseForHits(
      List<HashedTable> tables, Map<String, Long> chosen, double bytes) {
    double left = bytes;
    List<HashedTable> open = new ArrayList<>(tables.stream().filter(HashedTable::evicts).toList());
    while (!open.isEmpty()) {
      Optional<Step> best =
          open.stream()
              .flatMap(t -> next(t, chosen.get(t.name())).stream())
              .max(
                  Comparator.comparingDouble(Step::hitsPerByte)
                      .thenComparing(step -> step.table().name()));
      if (best.isEmpty() || best.get().hitsPerByte() <= 0) {
        return;
      }
      HashedTable table = best.get().table();
      long now = chosen.get(table.name());
      long added = Math.min(best.get().capacity() - now, affordable(table, left));
      chosen.put(table.name(), now + added);
      left -= added * table.bytesPerSlot();
      if (now + added < best.get().capacity()) {
        open.remove(table);
      }
    }
  }

  /** Returns the slots that add the most hits a byte, of those with a known share of hits. */
  private static Optional<Step> next(HashedTable table, long capacity) {
    double now = table.hits().share(capacity);
    return table
        .hits()
        .described()
        .filter(slots -> slots > capacity)
        .mapToObj(
            slots ->
                new Step(
                    table,
                    slots,
                    table.lookups()
                        * (table.hits().share(slots) - now)
                        / ((slots - capacity) * table.bytesPerSlot())))
        .reduce((first, second) -> second.hitsPerByte() > first.hitsPerByte() ? second : first);
  }

  private static String reason(HashedTable table, long capacity) {
    if (table.evicts()) {
      return String.format(
          Locale.ROOT,
          "%.1f%% of its lookups find their id, %.1f%% with so many slots",
          100 * table.hits().share(table.capacity()),
          100 * table.hits().share(capacity));
    }
    return table
        .forecast()
        .daysUntilAbove(table.room())
        .map(days -> "it is full in " + DayTexts.of(days))
        .orElse("it is full in more than %s days".formatted(Forecast.MOST_DAYS));
  }

  /**
   * Returns when memory no longer holds the ids of tables that do not evict; empty if it does for
   * long enough.
   *
   * @param tables the hashed tables of a workload
   * @param bytes memory for all of them together
   */
  public Optional<MemoryEnd> memoryEnd(List<HashedTable> tables, double bytes) {
    double earliest = Double.POSITIVE_INFINITY;
    double median = Double.POSITIVE_INFINITY;
    double latest = Double.POSITIVE_INFINITY;
    for (int hour = 0; hour <= Forecast.MOST_DAYS * HOURS; hour += hour < 7 * HOURS ? 1 : HOURS) {
      double days = (double) hour / HOURS;
      if (days > policy.warningDays() && median > policy.warningDays()) {
        return Optional.empty();
      }
      Range needed = bytesNeeded(tables, days);
      earliest = needed.high() > bytes ? Math.min(earliest, days) : earliest;
      median = needed.median() > bytes ? Math.min(median, days) : median;
      latest = needed.low() > bytes ? Math.min(latest, days) : latest;
    }
    if (median > policy.warningDays()) {
      return Optional.empty();
    }
    double missing = bytesNeeded(tables, policy.warningDays()).median() - bytes;
    return Optional.of(
        new MemoryEnd(new Range(earliest, median, latest), (long) Math.max(1, Math.ceil(missing))));
  }

  private static Range bytesNeeded(List<HashedTable> tables, double days) {
    return tables.stream()
        .map(table -> table.bytesNeeded(days))
        .reduce(new Range(0, 0, 0), Range::plus);
  }
}
