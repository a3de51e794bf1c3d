package io.shardtide.bench.soak;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * Three brokers and three planners with faults, and the check of everything on the log. {@code
 * -Dbench.minutes=60 -Dbench.seed=2 -Dbench.workloads=20 -Dbench.per.second=3
 * -Dbench.faults=BROKER_KILLED,CLOCK_STEPPED} make another one.
 */
@Tag("nightly")
class SoakIT {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  private Path folder;

  @Test
  void all_guarantees_hold() throws Exception {
    // They log each attempt to reach a broker that was killed.
    ((Logger) LoggerFactory.getLogger("org.apache.kafka.clients")).setLevel(Level.ERROR);
    Set<FaultKind> faults =
        Arrays.stream(System.getProperty("bench.faults", "").split(",", -1))
            .filter(name -> !name.isEmpty())
            .map(FaultKind::valueOf)
            .collect(Collectors.toSet());
    Soak soak =
        new Soak(
            new Soak.SoakOptions(
                Duration.ofSeconds(
                    (long) (60 * Double.parseDouble(System.getProperty("bench.minutes", "1.5")))),
                Long.getLong("bench.seed", 2),
                Integer.getInteger("bench.workloads", 20),
                Double.parseDouble(System.getProperty("bench.per.second", "3")),
                faults),
            System.out::println);
    assertThat(soak.run(folder)).as("all guarantees held").isTrue();
  }
}
