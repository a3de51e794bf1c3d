package io.shardtide.growth;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class FillHistoryTest {
  private static final long HOUR = FillHistory.HOUR_MS;
  private static final long DAY = FillHistory.DAY_MS;

  private static FillHistory of(long... hoursAndIds) {
    FillHistory history = FillHistory.of(new Fill(hoursAndIds[0] * HOUR, hoursAndIds[1]));
    for (int i = 2; i < hoursAndIds.length; i += 2) {
      history = history.with(new Fill(hoursAndIds[i] * HOUR, hoursAndIds[i + 1]));
    }
    return history;
  }

  @Test
  void growth_is_split_at_the_ends_of_hours_and_days() {
    // From 22:00 to 02:00, then to 03:00.
    FillHistory history = of(22, 100, 26, 500, 27, 530);
    assertThat(history.hours()).containsExactly(100.0, 100.0, 100.0, 100.0, 30.0);
    assertThat(history.days()).as("the first day was not whole").isEmpty();
    assertThat(history.today()).isEqualTo(230);
    assertThat(of(22, 100, 48, 126).days()).containsExactly(24.0);
  }

  @Test
  void a_long_gap_begins_the_history_again() {
    FillHistory history = of(0, 100, 48, 200).with(new Fill(2 * DAY + 28 * DAY, 3_000));
    assertThat(history.days()).hasSize(30);
    FillHistory again = history.with(new Fill(history.last().atMs() + 28 * DAY + 1, 4_000));
    assertThat(again).isEqualTo(FillHistory.of(again.last()));
  }

  @Test
  void times_and_numbers_that_cannot_be_are_refused() {
    FillHistory history = of(5, 100);
    assertThatThrownBy(() -> history.with(new Fill(5 * HOUR, 100)))
        .hasMessage("a fill must be later than the latest one, at 18000000 ms, got 18000000 ms");
    assertThatThrownBy(() -> new Fill(0, -1))
        .hasMessage("ids of a fill must be at least 0, got -1.0");
    assertThatThrownBy(() -> new Fill(0, Double.NaN)).hasMessageContaining("got NaN");
  }

  @Test
  void the_past_has_reports_then_hours_then_days() {
    FillHistory history =
        FillHistory.of(new Fill(HOUR / 2, 10)).with(new Fill(HOUR + HOUR / 4, 40));
    assertThat(history.past()).isEqualTo(history.recent());
    history = history.with(new Fill(2 * HOUR + HOUR / 2, 90));
    assertThat(history.past())
        .containsExactly(
            new Fill(HOUR / 2, 10),
            new Fill(HOUR, 30),
            new Fill(2 * HOUR, 70),
            new Fill(2 * HOUR + HOUR / 2, 90));
    assertThat(of(12, 0, 36, 240, 48, 300, 72, 420, 84, 540).past())
        .as("the first half day, two whole days, and half a day")
        .containsExactly(
            new Fill(12 * HOUR, 0),
            new Fill(DAY, 120),
            new Fill(2 * DAY, 300),
            new Fill(3 * DAY, 420),
            new Fill(84 * HOUR, 540));
    assertThat(of(0, 100, 24, 124, 72, 220).past())
        .as("first and latest reports at midnight")
        .containsExactly(
            new Fill(0, 100), new Fill(DAY, 124), new Fill(2 * DAY, 172), new Fill(3 * DAY, 220));
  }

  /** Its ids are on straight lines between the reports, and times ascend to the latest one. */
  @Property(tries = 100)
  void the_past_is_what_was_reported(@ForAll long seed) {
    Random random = new Random(seed);
    long at = DAY * random.nextInt(10_000) + random.nextInt((int) DAY);
    TreeMap<Long, Double> reports = new TreeMap<>(Map.of(at, (double) random.nextInt(1_000_000)));
    FillHistory history = FillHistory.of(new Fill(at, reports.get(at)));
    for (int report = 0; report < 200; report++) {
      at += 1 + (long) (random.nextDouble() * random.nextDouble() * 2 * DAY);
      reports.put(at, (double) random.nextInt(1_000_000));
      history = history.with(new Fill(at, reports.get(at)));
      List<Fill> past = history.past();
      assertThat(past)
          .isSortedAccordingTo(Comparator.comparingLong(Fill::atMs))
          .doesNotHaveDuplicates()
          .hasSizeBetween(2, FillHistory.MOST_DAYS + 3)
          .endsWith(history.last());
      for (Fill fill : past) {
        Map.Entry<Long, Double> before = reports.floorEntry(fill.atMs());
        Map.Entry<Long, Double> after = reports.ceilingEntry(fill.atMs());
        double share =
            (double) (fill.atMs() - before.getKey())
                / Math.max(1, after.getKey() - before.getKey());
        assertThat(fill.ids())
            .isCloseTo(
                before.getValue() + share * (after.getValue() - before.getValue()), within(1e-3));
      }
      if (history.days().size() > 1 && history.days().size() < FillHistory.MOST_DAYS) {
        assertThat(past).startsWith(history.since());
      }
    }
  }

  /** Days and hours add up to what was reported, and the size is bounded. */
  @Property(tries = 100)
  void nothing_is_lost(@ForAll long seed) {
    Random random = new Random(seed);
    long at = DAY * random.nextInt(10_000);
    FillHistory history = FillHistory.of(new Fill(at, random.nextInt(1_000_000)));
    double first = history.last().ids();
    for (int report = 0; report < 200; report++) {
      at += 1 + (long) (random.nextDouble() * random.nextDouble() * 2 * DAY);
      history = history.with(new Fill(at, random.nextInt(1_000_000)));
      List<Double> days = history.days();
      if (days.size() < FillHistory.MOST_DAYS) {
        double sum = first + days.stream().mapToDouble(d -> d).sum() + history.today();
        assertThat(sum).isCloseTo(history.last().ids(), within(1e-3));
      }
      assertThat(days.size()).isLessThanOrEqualTo(FillHistory.MOST_DAYS);
      assertThat(history.hours().size()).isLessThanOrEqualTo(FillHistory.MOST_HOURS);
      assertThat(history.recent().size()).isLessThanOrEqualTo(FillHistory.MOST_RECENT);
    }
  }
}
