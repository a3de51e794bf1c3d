package io.shardtide.cost;

import io.shardtide.workload.Collective;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Durations of collectives by a data sheet and by tables of measured ones. Of a group that was
 * measured, a table is right at its sizes; between them, measured over predicted is a straight line
 * in logarithms of both; beyond them it is that of the last one. A group that was not measured has
 * the line of the nearest one, of those within a node or of those over several nodes.
 */
public final class Links {
  /** A figure misses what was measured by more than this share of it. */
  private static final double MISSED = 1 / 3.0;

  private static final Comparator<DeviceGroup> BY_SIZE =
      Comparator.comparingInt(DeviceGroup::devices).thenComparingInt(DeviceGroup::devicesPerNode);

  private final LinkDataSheet sheet;
  private final List<CollectiveSample> measured;

  /** ln(measured over predicted) by log2 of the bytes that a device holds. */
  private final Map<Collective, NavigableMap<DeviceGroup, NavigableMap<Double, Double>>> lines =
      new EnumMap<>(Collective.class);

  /**
   * Keeps a data sheet and tables.
   *
   * @param measured collectives in which all devices send the same; may be empty
   */
  public Links(LinkDataSheet sheet, List<CollectiveSample> measured) {
    this.sheet = sheet;
    this.measured = List.copyOf(measured);
    measured.stream()
        .collect(
            Collectors.groupingBy(
                CollectiveSample::collective,
                Collectors.groupingBy(
                    CollectiveSample::group,
                    () -> new TreeMap<>(BY_SIZE),
                    Collectors.groupingBy(
                        s -> log2(s.heldBytes()),
                        TreeMap::new,
                        Collectors.averagingDouble(
                            s -> StrictMath.log(s.longestMs() / sheet.ms(s)))))))
        .forEach((collective, byGroup) -> lines.put(collective, new TreeMap<>(byGroup)));
  }

  /** Returns milliseconds of a collective; arguments as of {@link LinkDataSheet#ms}. */
  public double ms(Collective collective, double bytes, DeviceGroup group) {
    double ms = sheet.ms(collective, bytes, group);
    double log2Bytes = log2(collective == Collective.ALL_TO_ALL ? bytes * group.devices() : bytes);
    return nearest(collective, group)
        .map(line -> ms * StrictMath.exp(at(line, log2Bytes)))
        .orElse(ms);
  }

  private Optional<NavigableMap<Double, Double>> nearest(Collective collective, DeviceGroup group) {
    return tables(collective).entrySet().stream()
        .filter(entry -> entry.getKey().nodes() > 1 == group.nodes() > 1)
        .min(Comparator.comparingDouble(entry -> distance(entry.getKey(), group)))
        .map(Map.Entry::getValue);
  }

  /** Returns the measured groups, each with its sizes as log2 of the bytes that a device holds. */
  public SortedMap<DeviceGroup, NavigableMap<Double, Double>> tables(Collective collective) {
    return lines.getOrDefault(collective, new TreeMap<>(BY_SIZE));
  }

  private static double distance(DeviceGroup a, DeviceGroup b) {
    return Math.abs(log2(a.devices()) - log2(b.devices()))
        + Math.abs(log2(a.devicesPerNode()) - log2(b.devicesPerNode()));
  }

  private static double at(NavigableMap<Double, Double> line, double x) {
    Map.Entry<Double, Double> below = line.floorEntry(x);
    Map.Entry<Double, Double> above = line.ceilingEntry(x);
    if (below == null || above == null || below.equals(above)) {
      return (below == null ? above : below).getValue();
    }
    double share = (x - below.getKey()) / (above.getKey() - below.getKey());
    return below.getValue() + share * (above.getValue() - below.getValue());
  }

  private static double log2(double number) {
    return ShardFeatures.log2(Math.max(1, number));
  }

  /**
   * Returns what the data sheet alone misses by more than a third of what was measured, by
   * collective and group in the order of the samples.
   *
   * @param samples the tables and other measured collectives
   */
  public List<Miss> misses(List<CollectiveSample> samples) {
    List<Miss> misses = new ArrayList<>();
    samples.stream()
        .collect(
            Collectors.groupingBy(
                s -> List.of(s.shown(), s.group()), LinkedHashMap::new, Collectors.toList()))
        .values()
        .forEach(
            group -> {
              List<CollectiveSample> missed =
                  group.stream().filter(s -> share(s) > MISSED).toList();
              missed.stream()
                  .max(Comparator.comparingDouble(this::share))
                  .ifPresent(
                      worst ->
                          misses.add(
                              new Miss(worst, sheet.ms(worst), missed.size(), group.size())));
            });
    return misses;
  }

  private double share(CollectiveSample sample) {
    return Math.abs(sheet.ms(sample) / sample.longestMs() - 1);
  }

  /** Returns the data sheet. */
  public LinkDataSheet sheet() {
    return sheet;
  }

  /** Returns the tables. */
  public List<CollectiveSample> measured() {
    return measured;
  }

  /** Returns the data sheet and the number of measured collectives, for people. */
  public String describe() {
    return sheet.describe()
        + (measured.isEmpty() ? "" : "; measured collectives: " + measured.size());
  }

  /**
   * What a data sheet misses of a collective and a group.
   *
   * @param worst the collective that is furthest off
   * @param sheetMs its duration by the data sheet, in milliseconds
   * @param missed how many collectives are off by more than a third
   * @param measured how many were measured
   */
  public record Miss(CollectiveSample worst, double sheetMs, int missed, int measured) {}
}
