package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_PLANS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.shardtide.testing.LocalPlanner;
import io.shardtide.testing.LogClient;
import io.shardtide.wire.Extension;
import io.shardtide.wire.Topics;
import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Programs as a user has them: compiled and run with the client's artifact and the few libraries
 * that the documentation names, and nothing else of ours.
 */
class ExamplesIT {
  private static final Path SOURCES = Path.of("src/client/src/main/java/io/shardtide/client");
  private static final Pattern EXAMPLE =
      Pattern.compile("<pre>\\{@code\n(.*?)\n \\* }</pre>", Pattern.DOTALL);

  private static final Path PAGE = Path.of("examples/java/README.md");

  /** Kafka's clients and Avro, with what these bring. */
  private static final List<String> LIBRARIES =
      List.of(
          "kafka-clients-",
          "lz4-java-",
          "snappy-java-",
          "zstd-jni-",
          "avro-1",
          "commons-compress-",
          "jackson-core-",
          "jackson-databind-",
          "jackson-annotations-",
          "slf4j-api-");

  @TempDir private Path folder;

  private static String example(String type) throws IOException {
    Matcher matcher = EXAMPLE.matcher(Files.readString(SOURCES.resolve(type + ".java")));
    assertThat(matcher.find()).as("an example in %s", type).isTrue();
    return matcher
        .group(1)
        .lines()
        .map(line -> line.substring(3))
        .collect(Collectors.joining("\n"));
  }

  private static String classPath() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("target"))) {
      List<String> own =
          files
              .map(Path::toString)
              .filter(name -> name.matches("target/shardtide-.*-client\\.jar"))
              .toList();
      assertThat(own).as("the client's artifact; Maven's package phase makes it").hasSize(1);
      String all = System.getProperty("java.class.path");
      return Stream.concat(
              own.stream(),
              Arrays.stream(all.split(File.pathSeparator))
                  .filter(
                      jar ->
                          LIBRARIES.stream()
                              .anyMatch(Path.of(jar).getFileName().toString()::startsWith)))
          .collect(Collectors.joining(File.pathSeparator));
    }
  }

  /** Confluent's serializers under their own names, as a user may have them beside the client. */
  private static String confluent() {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
        .filter(
            entry -> entry.matches(".*/(shardtide-registry-[^/]*\\.jar|registry/target/classes)"))
        .findFirst()
        .orElseThrow();
  }

  private Path compile(String name, String classPath, String source) throws IOException {
    Path file = folder.resolve(name + ".java");
    Files.writeString(file, source);
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter said = new StringWriter();
    try (StandardJavaFileManager manager =
        compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8)) {
      boolean compiled =
          compiler
              .getTask(
                  said,
                  manager,
                  null,
                  List.of("-cp", classPath, "-d", folder.toString()),
                  null,
                  manager.getJavaFileObjects(file))
              .call();
      assertThat(compiled).as("%s: %s", name, said).isTrue();
    }
    return folder;
  }

  private String runExample(String type, String... args) throws Exception {
    return run(
        type + "Example",
        classPath(),
        """
        import io.shardtide.client.*;
        import io.shardtide.plan.*;
        import io.shardtide.pool.*;
        import io.shardtide.workload.*;
        import java.util.*;
        import java.util.concurrent.*;

        public class %sExample {
          public static void main(String[] args) throws Exception {
            String bootstrapServers = args[0];
            String registryUrl = args[1];
        %s
          }
        }
        """
            .formatted(type, example(type)),
        args);
  }

  private String run(String program, String classPath, String source, String... args)
      throws Exception {
    compile(program, classPath, source);
    List<String> command =
        Stream.concat(
                Stream.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp",
                    folder + File.pathSeparator + classPath,
                    program),
                Arrays.stream(args))
            .toList();
    Path out = folder.resolve(program + ".out");
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile()).start();
    assertThat(process.waitFor(90, TimeUnit.SECONDS)).isTrue();
    String said = Files.readString(out);
    assertThat(process.exitValue()).as(said).isZero();
    return said;
  }

  @Test
  void the_examples_compile_and_run() throws Exception {
    try (LocalPlanner planner =
            LocalPlanner.start(folder, Topics.DEFAULT_PREFIX, Set.of(Extension.POOLS));
        LogClient log = planner.log()) {
      assertThat(runExample("WorkloadPublisher", planner.bootstrapServers(), planner.registryUrl()))
          .contains("generation 1");
      await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> !log.committed(log.topics().of(CURRENT_PLANS)).isEmpty());
      assertThat(runExample("PlanSubscriber", planner.bootstrapServers(), planner.registryUrl()))
          .contains("plan " + log.committed(log.topics().of(CURRENT_PLANS)).get(0).planId())
          .containsPattern("user_id columns \\d+\\+\\d+ on device \\d");
      assertThat(runExample("PoolPublisher", planner.bootstrapServers(), planner.registryUrl()))
          .contains("allocated at generation 1");
      assertThat(
              runExample("AllocationSubscriber", planner.bootstrapServers(), planner.registryUrl()))
          .contains("waits: has no predicted throughput yet");
    }
  }

  /** A user's own serializers, of whichever version, and the client's do not meet. */
  @Test
  void a_program_may_have_confluents_serializers_of_its_own() throws Exception {
    try (LocalPlanner planner = LocalPlanner.start(folder, Topics.DEFAULT_PREFIX, 1)) {
      assertThat(
              run(
                  "BothSerializers",
                  confluent() + File.pathSeparator + classPath(),
                  Files.readString(
                      Path.of("src/service/src/test/resources/client/BothSerializers.java")),
                  planner.bootstrapServers(),
                  planner.registryUrl()))
          .contains(
              "order read: {\"id\": 7}",
              "published: Accepted[generation=OptionalLong[1], proxyHardware=Optional.empty, allocation=Optional.empty]",
              "the client's: io.shardtide.client.shaded.");
    }
    try (JarFile jar = new JarFile(classPath().split(File.pathSeparator, -1)[0])) {
      assertThat(jar.stream().map(JarEntry::getName))
          .as("of others, only under names of its own")
          .filteredOn(name -> name.endsWith(".class"))
          .allMatch(name -> name.startsWith("io/shardtide/"))
          .noneMatch(name -> name.matches("io/shardtide/(cli|embedded|bench|topology)/.*"));
    }
  }

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
    shell(
        "mvn --batch-mode --quiet org.apache.maven.plugins:maven-install-plugin:3.1.4:install-file -N"
            + " -Dfile=%s -DpomFile=%s".formatted(file, pom));
  }

  private String shell(String command) throws Exception {
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

  /**
   * The Maven project in {@code examples/java}, built and run with the command of its page. The
   * page's first command, which builds this project, is replaced: its jars are there.
   */
  @Tag("nightly")
  @Test
  void the_project_builds_and_prints_its_plan() throws Exception {
    assertThat(documented("mvn --batch-mode install")).endsWith("-DskipTests");
    for (String module : List.of("", "core", "models", "registry", "wire", "client")) {
      install(module);
    }
    try (LocalPlanner planner = LocalPlanner.start(folder, Topics.DEFAULT_PREFIX, 1);
        LogClient log = planner.log()) {
      String said =
          shell(
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
