package io.shardtide.growth;

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
 * what their forecasts need for the same time, the longest that memory holds and the policy covers:
 * a slot is worth most in the table that is full first. Tables that evict share what is left, each
 * slot where it adds most hits for its bytes. No table loses slots.
 */
public final class Capacities {
  private static final int HOURS = Forecast.HOURS;

  private final CapacityPolicy policy;

  /**
   * @param policy when tables are resized, and for how long
   */
  public Capacities(CapacityPolicy policy) {
    this.policy = policy;
  }

  /**
   * Decides.
   *
   * @param tables the hashed tables of a workload
   * @param bytes memory for all of them together
   */
  public CapacityDecision decide(List<HashedTable> tables, double bytes) {
    return new CapacityDecision(resizes(tables, bytes), memoryEnd(tables, bytes));
  }

  private List<Resize> resizes(List<HashedTable> tables, double bytes) {
    boolean isDue = tables.stream().anyMatch(this::isDue);
    if (!isDue && tables.stream().noneMatch(HashedTable::evicts)) {
      return List.of();
    }
    Map<String, Long> chosen = choose(tables, bytes);
    if (!isDue && tables.stream().noneMatch(t -> gainsHits(t, chosen.get(t.name())))) {
      return List.of();
    }
    return tables.stream()
        .filter(t -> chosen.get(t.name()) > t.capacity())
        .map(t -> new Resize(t.name(), chosen.get(t.name()), reason(t, chosen.get(t.name()))))
        .sorted(Comparator.comparing(Resize::table))
        .toList();
  }

  private boolean isDue(HashedTable table) {
    return !table.evicts() && table.forecast().most(policy.leadDays()) > table.room();
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
    double days = Math.min(policy.coverDays(), (double) enough / HOURS);
    Map<String, Long> chosen = new TreeMap<>();
    if (days < 2 * policy.leadDays()) {
      // With memory nearly full, each report would lead to a plan that moves rows for a few slots.
      tables.forEach(table -> chosen.put(table.name(), table.capacity()));
      return chosen;
    }
    double left = bytes;
    for (HashedTable table : tables) {
      long capacity = capacity(table, days);
      chosen.put(table.name(), capacity);
      left -= capacity * table.bytesPerSlot();
    }
    raiseForHits(tables, chosen, left);
    return chosen;
  }

  private double bytes(List<HashedTable> tables, double days) {
    return tables.stream().mapToDouble(t -> capacity(t, days) * t.bytesPerSlot()).sum();
  }

  /** Returns the slots that a table needs for some days; at least those that it has. */
  private long capacity(HashedTable table, double days) {
    return table.evicts()
        ? table.capacity()
        : Math.max(table.capacity(), roundUp(needed(table, days) / HashedTable.LOAD_FACTOR));
  }

  /**
   * Returns the ids to have room for: half-way between the median and the highest forecast. The
   * highest one would take up to 6% more memory for a fifth fewer resizes. At least twice the
   * growth of the lead time: during a burst, each report raises that, and would lead to a plan
   * (RATIONALE.md).
   */
  private double needed(HashedTable table, double days) {
    Forecast forecast = table.forecast();
    Range then = forecast.in(days);
    double most = forecast.most(policy.leadDays());
    return Math.max(2 * most - forecast.now().ids(), (then.median() + then.high()) / 2);
  }

  /** Rounds to three digits, which people can compare; at most 1% more. */
  private static long roundUp(double slots) {
    double unit = 1;
    while (slots / unit >= 1_000) {
      unit *= 10;
    }
    return (long) (Math.ceil(slots / unit) * unit);
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
      long affordable = (long) Math.min(Long.MAX_VALUE / 2.0, left / table.bytesPerSlot());
      long added = Math.min(best.get().capacity() - now, affordable);
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
        .orElse("it is full in more than %d days".formatted(Forecast.MOST_DAYS));
  }

  /** Returns when memory no longer holds the ids of tables that do not evict. */
  private Optional<MemoryEnd> memoryEnd(List<HashedTable> tables, double bytes) {
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

  /** Returns the bytes that the tables need; those that evict need what they have. */
  private static Range bytesNeeded(List<HashedTable> tables, double days) {
    Range bytes = new Range(0, 0, 0);
    for (HashedTable table : tables) {
      Range ids = table.evicts() ? new Range(0, 0, 0) : table.forecast().in(days);
      bytes =
          bytes.plus(
              ids.times(1 / HashedTable.LOAD_FACTOR)
                  .atLeast((double) table.capacity())
                  .times(table.bytesPerSlot()));
    }
    return bytes;
  }
}
