package io.shardtide.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.testing.RandomMoves;
import io.shardtide.testing.Samples;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.UsableMemory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class MoveWavesTest {
  private static final double INFINITY = Double.POSITIVE_INFINITY;

  /** What each device holds while waves are made, as a trainer makes them. */
  private static final class HeldParts {
    private final RandomMoves random;
    private final UsableMemory memory;
    private final PlanShards next;
    private final List<List<Overlap>> held;

    HeldParts(RandomMoves random, UsableMemory memory) {
      this.random = random;
      this.memory = memory;
      next = random.plan().placed();
      held = Stream.<List<Overlap>>generate(ArrayList::new).limit(next.ranks()).toList();
      for (Overlap part : Overlap.between(random.before(), next)) {
        int from = part.fromDevice();
        if (from >= 0 && from < next.ranks()) {
          held.get(from).add(part);
        } else if (from < 0 && part.toDevice() < 0) {
          int holders = Math.min(next.ranks(), random.before().ranks());
          held.subList(0, holders).forEach(parts -> parts.add(part));
        }
      }
    }

    void make(MoveWave wave) {
      if (wave.stopsTraining()) {
        for (MoveStep step : wave.steps()) {
          if (step.stage() == MoveStep.Stage.FROM_HOST) {
            arrive(move(step));
          } else if (step.stage() == MoveStep.Stage.TO_HOST) {
            leave(move(step));
          } else {
            arrive(move(step));
            leave(move(step));
          }
        }
      } else {
        wave.steps().forEach(step -> arrive(move(step)));
        wave.steps().forEach(step -> leave(move(step)));
      }
    }

    private Transfer move(MoveStep step) {
      return random.plan().transition().moves().get(step.move());
    }

    private void arrive(Transfer move) {
      forReceivers(
          move,
          d -> {
            held.get(d).add(move.overlap());
            assertThat(RandomMoves.bytes(held.get(d), random.tables()))
                .isLessThanOrEqualTo(memory.bytes(d));
          });
    }

    private void leave(Transfer move) {
      if (!move.overlap().isCopied() && move.fromDevice() < next.ranks()) {
        assertThat(held.get(move.fromDevice()).remove(move.overlap())).isTrue();
      }
    }

    void forReceivers(Transfer move, IntConsumer receive) {
      if (move.toDevice() >= 0) {
        receive.accept(move.toDevice());
        return;
      }
      IntStream.range(0, next.ranks())
          .filter(d -> d != move.fromDevice())
          .filter(
              d ->
                  move.fromDevice() >= next.ranks()
                      || next.groupOf(d) == next.groupOf(move.fromDevice()))
          .forEach(receive);
    }
  }

  private static Optional<UsableMemory> usable(long bytesPerDevice) {
    return Optional.of(new UsableMemory(bytesPerDevice, Collections.emptySortedMap()));
  }

  /**
   * Whatever the plan: each move is made once, each table in one wave, no device is ever above its
   * memory, and none sends or receives more than its share of the link.
   */
  @Property(tries = 3_000)
  void waves_keep_to_memory_and_links(
      @ForAll @IntRange(min = 1, max = 12) int tables, @ForAll long seed) {
    RandomMoves random = RandomMoves.of(tables, seed);
    Random settings = new Random(seed);
    UsableMemory memory = random.memory(settings.nextInt(3));
    double longestMs = settings.nextBoolean() ? INFINITY : 1e-4 * settings.nextDouble();
    WaveSettings waveSettings =
        new WaveSettings(0.01 + 0.8 * settings.nextDouble(), Optional.of(memory), longestMs);
    ShardingPlan plan = random.plan();
    MoveWaves waves = MoveWaves.of(plan, waveSettings);

    HeldParts held = new HeldParts(random, memory);
    Set<String> moved = new HashSet<>();
    int[] arrivals = new int[plan.transition().moves().size()];
    for (MoveWave wave : waves.waves()) {
      held.make(wave);
      wave.tables().forEach(table -> assertThat(moved.add(table)).isTrue());
      for (MoveStep step : wave.steps()) {
        assertThat(wave.tables()).contains(plan.transition().moves().get(step.move()).table());
        arrivals[step.move()] += step.stage() == MoveStep.Stage.TO_HOST ? 0 : 1;
      }
      if (!wave.stopsTraining()) {
        checkLinks(plan, wave, waveSettings, held);
        assertThat(wave.tables().size() == 1 || wave.durationMs() <= longestMs).isTrue();
      }
      assertThat(wave.lostMs()).isGreaterThanOrEqualTo(plan.origin().settings().reshardMs());
    }
    assertThat(arrivals).isEqualTo(IntStream.range(0, arrivals.length).map(m -> 1).toArray());
    assertThat(MoveWaves.of(plan, waveSettings)).isEqualTo(waves);
  }

  private static void checkLinks(
      ShardingPlan plan, MoveWave wave, WaveSettings settings, HeldParts held) {
    double[] sent = new double[plan.ranks()];
    double[] received = new double[plan.ranks()];
    for (MoveStep step : wave.steps()) {
      Transfer move = plan.transition().moves().get(step.move());
      if (move.bytes() == 0) {
        // A copy for all other devices of a group that has one.
        continue;
      }
      int[] receivers = new int[1];
      held.forReceivers(move, d -> receivers[0]++);
      sent[Math.max(0, move.fromDevice())] += move.bytes() / wave.durationMs();
      held.forReceivers(
          move, d -> received[d] += move.bytes() / (wave.durationMs() * receivers[0]));
    }
    double bytesPerMs =
        settings.linkShare() * plan.origin().settings().moveGigabytesPerSecond() * 1e6;
    for (int d = 0; d < sent.length; d++) {
      assertThat(Math.max(sent[d], received[d])).isLessThan(bytesPerMs * (1 + 1e-9));
    }
  }

  /** With room for everything twice, all that is not on a lost device moves in one wave. */
  @Property(tries = 500)
  void one_wave_is_enough_with_memory_to_spare(
      @ForAll @IntRange(min = 1, max = 12) int tables, @ForAll long seed) {
    RandomMoves random = RandomMoves.of(tables, seed);
    MoveWaves waves = MoveWaves.of(random.plan(), new WaveSettings(usable(1L << 40)));
    int ranks = random.plan().ranks();
    Set<String> all = new HashSet<>();
    Set<String> lost = new HashSet<>();
    for (Transfer move : random.plan().transition().moves()) {
      all.add(move.table());
      if (move.fromDevice() >= ranks) {
        lost.add(move.table());
      }
    }
    List<MoveWave> stopped = waves.waves().stream().filter(MoveWave::stopsTraining).toList();
    assertThat(waves.waves().size() - stopped.size()).isEqualTo(all.size() > lost.size() ? 1 : 0);
    assertThat(stopped).hasSize(lost.isEmpty() ? 0 : 1);
    stopped.forEach(wave -> assertThat(wave.tables()).containsExactlyInAnyOrderElementsOf(lost));
    assertThat(stopped.isEmpty() || waves.waves().indexOf(stopped.get(0)) == 0).isTrue();
  }

  /** Two tables of 160 B trade places. */
  private static ShardingPlan swap(List<MoveStep> order) {
    ShardingPlan sample = Samples.plan();
    Region region = new Region(0, 4, 0, 10);
    List<Transfer> moves =
        List.of(
            new Transfer(new Overlap("a", region, 0, 1), 160),
            new Transfer(new Overlap("b", region, 1, 0), 160));
    Explanation gain =
        new Explanation(
            Explanation.ExplainedAction.MOVE, "b", 1, 0, Explanation.Cause.COMPUTATION, 0.5);
    PlanPrediction prediction =
        new PlanPrediction(
            sample.prediction().deviceCosts(),
            sample.predictedMs(),
            new Insight(
                6.25, 0, sample.prediction().insight().bottleneck(), List.of(gain), List.of()),
            List.of(),
            0,
            List.of(),
            List.of());
    return new ShardingPlan(
            "",
            sample.origin(),
            "swap",
            List.of(
                new Shard("a", region, 1, ShardKind.TABLE_WISE),
                new Shard("b", region, 0, ShardKind.TABLE_WISE)),
            Replication.NONE,
            List.of(),
            List.of(),
            prediction,
            new PlanMoves(moves, order),
            sample.run())
        .identified();
  }

  private static final List<MoveStep> THROUGH_HOST =
      List.of(
          new MoveStep(0, MoveStep.Stage.TO_HOST),
          new MoveStep(1, MoveStep.Stage.DIRECT),
          new MoveStep(0, MoveStep.Stage.FROM_HOST));

  @Test
  void full_devices_trade_places_while_training_stops() {
    ShardingPlan plan = swap(THROUGH_HOST);
    MoveWaves waves = MoveWaves.of(plan, new WaveSettings(usable(319)));
    // 480 B in three transfers at 10 GB/s, then a reshard of 1 s and 2.5 ms for each move.
    assertThat(waves.waves())
        .containsExactly(
            new MoveWave(List.of("a", "b"), THROUGH_HOST, 480, true, 480 / 1e7, 480 / 1e7 + 1_005));
    assertThat(MoveWaves.of(plan, new WaveSettings(Optional.empty()))).isEqualTo(waves);
  }

  @Test
  void the_estimate_is_as_the_page_explains_it() {
    MoveWaves waves = MoveWaves.of(swap(THROUGH_HOST), new WaveSettings(usable(320)));
    MoveWave wave = waves.waves().get(0);
    assertThat(waves.waves()).hasSize(1);
    assertThat(wave.stopsTraining()).isFalse();
    // The table with the gain comes first.
    assertThat(wave.tables()).containsExactly("b", "a");
    assertThat(wave.durationMs()).isEqualTo(160 / 2.5e6);
    // Device 0: 1.5 + 3 ms, device 1: 1 + 3.25; then 2 ms forward. Collectives take 4/3 as long.
    assertThat(waves.stepMs()).isEqualTo(6.5);
    assertThat(waves.slowedStepMs()).isCloseTo(5.5 + 2 * 4 / 3.0, within(1e-9));
    assertThat(wave.lostMs())
        .isCloseTo(160 / 2.5e6 * (1 - 6.5 / waves.slowedStepMs()) + 1_005, within(1e-9));
    assertThat(waves.durationMs()).isEqualTo(wave.durationMs());
    assertThat(waves.lostMs()).isEqualTo(wave.lostMs());
  }

  @Test
  void shorter_waves_begin_with_what_gains_most_per_byte() {
    MoveWaves waves =
        MoveWaves.of(swap(THROUGH_HOST), new WaveSettings(0.25, usable(320), 160 / 2.5e6 - 1e-9));
    // Both directions of a link are used at once: together they take no longer than one.
    assertThat(waves.waves())
        .extracting(MoveWave::tables)
        .containsExactly(List.of("b"), List.of("a"));
    assertThat(
            MoveWaves.of(swap(THROUGH_HOST), new WaveSettings(0.25, usable(320), 160 / 2.5e6))
                .waves())
        .hasSize(1);
  }

  @Test
  void other_replica_groups_move_all_tables_while_training_stops() {
    MoveWaves waves = MoveWaves.of(swap(List.of()), new WaveSettings(usable(1_000)));
    assertThat(waves.waves()).hasSize(1);
    assertThat(waves.waves().get(0).stopsTraining()).isTrue();
    assertThat(waves.waves().get(0).steps()).hasSize(2);
  }

  @Test
  void settings_out_of_range_are_refused() {
    assertThatThrownBy(() -> new WaveSettings(0, Optional.empty(), 1))
        .hasMessage("linkShare must be above 0 to 0.9, got 0");
    assertThatThrownBy(() -> new WaveSettings(0.91, Optional.empty(), 1))
        .hasMessage("linkShare must be above 0 to 0.9, got 0.91");
    assertThatThrownBy(() -> new WaveSettings(0.5, usable(0), 1))
        .hasMessage("usable bytes of a device must be at least 1, got 0");
    assertThatThrownBy(() -> new WaveSettings(0.5, Optional.empty(), Double.NaN))
        .hasMessage("longestMs must be above 0, got NaN");
  }
}
