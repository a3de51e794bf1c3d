package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.MoveWaves;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.WaveSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.Python;
import io.shardtide.testing.RandomMoves;
import io.shardtide.testing.SimulatedTrainer;
import io.shardtide.workload.UsableMemory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Python package divides the same moves into the same waves, to the last bit. */
class MoveWavesPythonTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int RANDOM_PLANS = 300;

  private final JsonLines<ShardingPlan, ?> plans = new JsonLines<>(Codec.SHARDING_PLAN);

  @TempDir private Path folder;

  /** Plans of the real planner that have moves: devices are lost and added. */
  private static List<ShardingPlan> planned() {
    SimulatedTrainer trainer = new SimulatedTrainer();
    List<ShardingPlan> found = new ArrayList<>(List.of(trainer.plan()));
    for (int devices : new int[] {3, 2, 6, 4}) {
      found.add(trainer.plan(Fixtures.set(devices, 8 * Fixtures.GIB)));
    }
    assertThat(found.stream().filter(plan -> !plan.transition().moves().isEmpty()))
        .hasSizeGreaterThan(1);
    return found;
  }

  private static UsableMemory fullest(ShardingPlan plan) {
    return new UsableMemory(
        plan.prediction().deviceCosts().stream()
            .mapToLong(c -> c.memoryBytes())
            .max()
            .orElseThrow(),
        Collections.emptySortedMap());
  }

  /** Returns one number, or one for each rank. */
  private static JsonNode usable(UsableMemory memory, int ranks) {
    return memory.byDevice().isEmpty()
        ? MAPPER.valueToTree(memory.bytesPerDevice())
        : MAPPER.valueToTree(IntStream.range(0, ranks).mapToLong(memory::bytes).toArray());
  }

  @Test
  void python_returns_the_same_waves() throws Exception {
    Python.assumeHas("json");
    List<String> expected = new ArrayList<>();
    List<String> cases = new ArrayList<>();
    List<ShardingPlan> all = new ArrayList<>(planned());
    List<UsableMemory> memories =
        new ArrayList<>(all.stream().map(MoveWavesPythonTest::fullest).toList());
    for (int seed = 0; seed < RANDOM_PLANS; seed++) {
      RandomMoves moves = RandomMoves.of(1 + seed % 12, seed);
      all.add(moves.plan());
      memories.add(moves.memory(seed % 3));
    }
    Random random = new Random(1);
    int several = 0;
    int stopped = 0;
    for (int i = 0; i < all.size(); i++) {
      ShardingPlan plan = all.get(i);
      Optional<UsableMemory> memory =
          random.nextInt(3) == 0 ? Optional.empty() : Optional.of(memories.get(i));
      double longestMs =
          random.nextBoolean() ? Double.POSITIVE_INFINITY : 1e-4 * random.nextDouble();
      double linkShare = 0.01 + 0.8 * random.nextDouble();
      MoveWaves waves = MoveWaves.of(plan, new WaveSettings(linkShare, memory, longestMs));
      several += waves.waves().size() > 1 ? 1 : 0;
      stopped += (int) waves.waves().stream().filter(wave -> wave.stopsTraining()).count();
      expected.add(MAPPER.writeValueAsString(waves));
      ObjectNode line = MAPPER.createObjectNode();
      line.set("plan", MAPPER.readTree(plans.write(plan)));
      line.put("linkShare", linkShare);
      line.set("usableBytesPerDevice", memory.map(m -> usable(m, plan.ranks())).orElse(null));
      line.put("longestMs", Double.isInfinite(longestMs) ? null : (Double) longestMs);
      cases.add(line.toString());
    }
    assertThat(several).isGreaterThan(20);
    assertThat(stopped).isGreaterThan(20);

    Path in = Files.write(folder.resolve("cases"), cases);
    Path out = folder.resolve("out");
    Path err = folder.resolve("err");
    int status =
        Python.script("src/python/tests/print_waves.py")
            .redirectInput(in.toFile())
            .redirectOutput(out.toFile())
            .redirectError(err.toFile())
            .start()
            .waitFor();
    assertThat(status).as(Files.readString(err)).isZero();
    List<String> found = Files.readAllLines(out);
    assertThat(found).hasSize(expected.size());
    for (int i = 0; i < expected.size(); i++) {
      JsonNode ours = MAPPER.readTree(expected.get(i));
      assertThat(MAPPER.readTree(found.get(i))).as(cases.get(i)).isEqualTo(ours);
    }
  }
}
