package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_PLANS;
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
 * page's first command, which builds this project, is replaced: its jars are there.
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

  /** Installs a module as Maven's package phase made it. */
  private void install(String module) throws Exception {
    String file = "pom.xml";
    String pom = "pom.xml";
    if (!module.isEmpty()) {
      pom = "src/%s/pom.xml".formatted(module);
      try (Stream<Path> files = Files.list(Path.of("src", module, "target"))) {
        file =
            files
                .map(Path::toString)
                .filter(name -> name.matches(".*/shardtide-%s-[0-9.]+\\.jar".formatted(module)))
                .findFirst()
                .orElseThrow(() -> new AssertionError("Maven's package phase makes the jars"));
      }
    }
    run(
        "mvn --batch-mode --quiet org.apache.maven.plugins:maven-install-plugin:3.1.4:install-file -N"
            + " -Dfile=%s -DpomFile=%s".formatted(file, pom));
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
    for (String module : List.of("", "core", "models", "registry", "wire", "client")) {
      install(module);
    }
    try (LocalPlanner planner = LocalPlanner.start(folder, Topics.DEFAULT_PREFIX, 1);
        LogClient log = planner.log()) {
      String said =
          run(
              documented("mvn --batch-mode --quiet -f examples/java")
                  .replace("HOST:PORT", planner.bootstrapServers())
                  .replace("URL", planner.registryUrl()));
      List<String> plans =
          log.committed(log.topics().of(CURRENT_PLANS)).stream()
              .map(plan -> plan.planId())
              .toList();
      assertThat(plans).hasSize(1);
      assertThat(said)
          .contains("plan " + plans.get(0))
          .containsPattern("user \\w+: columns \\d+ to \\d+, rows \\d+ to \\d+ on device \\d")
          .containsPattern("item \\w+: columns \\d+ to \\d+, rows \\d+ to \\d+ on device \\d");
    }
  }
}
