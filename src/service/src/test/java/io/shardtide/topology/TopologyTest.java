package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.wire.Topics;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The topologies are as their golden descriptions say. */
class TopologyTest {
  /**
   * The descriptions are golden files: a change of a name or of a store changes the names of
   * changelogs, which a running system must be moved to. Write them again with {@code
   * -Dtopologies.write=true}.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {"workload", "planning", "feedback", "training", "curves", "pool", "growth"})
  void the_description_equals_the_golden_file(String name) throws Exception {
    Topics named = Topics.withPrefix(Topics.DEFAULT_PREFIX);
    String described = Topologies.describe(named).get(name);
    Path file = Path.of("topologies", name + ".txt");
    if (Boolean.getBoolean("topologies.write")) {
      Files.writeString(file, described);
    }
    assertThat(file).content().isEqualTo(described);
  }
}
