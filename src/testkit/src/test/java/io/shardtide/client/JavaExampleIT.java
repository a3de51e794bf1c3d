package io.shardtide.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.LogClient;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The Maven project in {@code examples/java}, built and run with the command of its page. The
 * page's first command, which builds this project, is replaced: its client jar is there.
 */
@Tag("nightly")
class JavaExampleIT {
  private static final Path PAGE = Path.of("examples/java/README.md");

  @TempDir private Path folder;

  private static String documented(String start) throws IOException {
    return Files.readAllLines(PAGE).stream()
        .filter(line -> line.startsWith("    " + start))
        .findFirst()
        .orElseThrow(() -> new AssertionError(PAGE + " has no command " + start))
        .strip();
  }

  private static Path clientJar() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("target"))) {
      return files
          .filter(file -> file.toString().matches("target/shardtide-.*-client\\.jar"))
          .findFirst()
          .orElseThrow(() -> new AssertionError("Maven's package phase makes the client jar"));
    }
  }

  private String run(String command) throws Exception {
    Path out = Files.createTempFile(folder, "output", ".txt");
    Process process =
        new ProcessBuilder("bash", "-c", command)
            .redirectErrorStream(true)
            .redirectOutput(out.toFile())
            .start();
    assertThat(process.waitFor(5, TimeUnit.MINUTES)).as(command).isTrue();
    String said = Files.readString(out);
    assertThat(process.exitValue()).as("%s%n%s", command, said).isZero();
    return said;
  }

  @Test
  void the_project_builds_and_prints_its_plan() throws Exception {
    assertThat(documented("mvn --batch-mode install")).endsWith("-DskipTests");
    run(
        "mvn --batch-mode --quiet org.apache.maven.plugins:maven-install-plugin:3.1.4:install-file"
            + " -Dfile=%s -DpomFile=pom.xml -Dclassifier=client".formatted(clientJar()));
    try (LocalPlanner planner = LocalPlanner.start(folder, Topics.DEFAULT_PREFIX, 1);
        LogClient log = planner.log()) {
      String said =
          run(
              documented("mvn --batch-mode --quiet -f examples/java")
                  .replace("HOST:PORT", planner.bootstrapServers())
                  .replace("URL", planner.registryUrl()));
      List<String> plans =
          log.committed(log.topics().currentPlans()).stream().map(plan -> plan.planId()).toList();
      assertThat(plans).hasSize(1);
      assertThat(said)
          .contains("plan " + plans.get(0))
          .containsPattern("user \\w+: columns \\d+ to \\d+, rows \\d+ to \\d+ on device \\d")
          .containsPattern("item \\w+: columns \\d+ to \\d+, rows \\d+ to \\d+ on device \\d");
    }
  }
}
