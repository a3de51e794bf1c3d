package io.shardtide.wire;

import io.shardtide.growth.CapacityPolicy;
import io.shardtide.growth.Fill;
import io.shardtide.growth.FillHistory;
import io.shardtide.growth.FillReport;
import io.shardtide.growth.GrowthInputs;
import io.shardtide.growth.GrowthState;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.Resize;
import io.shardtide.growth.ShardFill;
import io.shardtide.growth.TableFill;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableGrowth;
import io.shardtide.growth.TableInputs;
import io.shardtide.testing.Samples;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Records of tables that grow, in which no two numbers are equal. */
final class GrowthSamples {
  private static final Instant TIME = Instant.ofEpochMilli(1_790_000_000_123L);

  private GrowthSamples() {}

  static FillReport report() {
    return new FillReport(
        "r",
        "w",
        "p",
        "run",
        "s",
        TIME,
        List.of(
            new TableFill("a", List.of(new ShardFill(1, 2, 30, 4, 5, 6, 7))),
            new TableFill("b", List.of(new ShardFill(8, 9, 10, 11, 12, 13, 14)))));
  }

  static TableForecasts forecasts(Optional<Range> days) {
    return new TableForecasts(
        "w",
        "r",
        TIME,
        17,
        List.of(
            new TableForecast(
                "a",
                1,
                2,
                3,
                4,
                5,
                6,
                new Range(7, 8, 9),
                new Range(10, 11, 12),
                new Range(13, 14, 15),
                days,
                days.map(of -> new TableInputs(growth(), 19, true, 20.5)))),
        List.of(new Resize("a", 16, "why")),
        days.map(of -> new MemoryEnd(of, 18)),
        days.map(of -> new GrowthInputs(21, 22.5, new CapacityPolicy(2.5, 23, 24, 0.25))));
  }

  static GrowthState header() {
    return new GrowthState(
        1,
        3,
        Optional.of(Samples.cluster()),
        2.5,
        Optional.of(TIME),
        List.of("r1", "r2"),
        List.of("run1", "run2"));
  }

  static TableGrowth growth() {
    FillHistory history = FillHistory.of(new Fill(1_000, 5));
    for (int hour = 1; hour < 60; hour++) {
      history = history.with(new Fill(1_000 + hour * 3_600_000L, 5 + hour * hour));
    }
    return new TableGrowth(history, 100, 200, 300);
  }
}
