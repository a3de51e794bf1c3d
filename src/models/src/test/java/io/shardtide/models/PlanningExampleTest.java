package io.shardtide.models;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The program in {@code examples/planning}, with the class path of this module: {@code core} and
 * {@code models} and the libraries that they need.
 */
class PlanningExampleTest {
  private static final Path EXAMPLE = Path.of("examples/planning");
  private static final Path PROGRAM = EXAMPLE.resolve("src/main/java/example/PlanOffline.java");

  @TempDir private Path folder;

  @Test
  void it_plans_with_two_modules_and_no_kafka() throws Exception {
    assertThatThrownBy(() -> Class.forName("org.apache.kafka.common.KafkaException"))
        .isInstanceOf(ClassNotFoundException.class);
    assertThat(Files.readAllLines(PROGRAM)).hasSizeLessThanOrEqualTo(40);
    assertThat(
            ToolProvider.getSystemJavaCompiler()
                .run(
                    null,
                    null,
                    null,
                    "-cp",
                    System.getProperty("java.class.path"),
                    "-d",
                    folder.toString(),
                    PROGRAM.toString()))
        .isZero();
    String said = output();
    assertThat(Files.readString(EXAMPLE.resolve("README.md")))
        .as("its page shows what it prints")
        .contains(said.lines().limit(3).map(line -> "    " + line + "\n").toList());
    assertThat(said).containsPattern("user .*on device").containsPattern("item .*on device");
  }

  private String output() throws Exception {
    PrintStream out = System.out;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    try (URLClassLoader loader =
        new URLClassLoader(new URL[] {folder.toUri().toURL()}, getClass().getClassLoader())) {
      System.setOut(new PrintStream(said, true, StandardCharsets.UTF_8));
      loader
          .loadClass("example.PlanOffline")
          .getMethod("main", String[].class)
          .invoke(null, (Object) new String[0]);
    } finally {
      System.setOut(out);
    }
    return said.toString(StandardCharsets.UTF_8);
  }

  @Test
  void its_project_depends_on_two_modules() throws Exception {
    assertThat(Files.readString(EXAMPLE.resolve("pom.xml")).split("<dependency>", -1)).hasSize(3);
    for (String module : List.of("core", "models")) {
      assertThat(Files.readString(EXAMPLE.resolve("pom.xml")))
          .contains("<artifactId>shardtide-" + module + "</artifactId>");
    }
  }
}
