package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The commands that pages show on lines of their own, and how a test types them. */
final class DocumentedCommands {
  static final Path HERE = Path.of("").toAbsolutePath();

  private static final Pattern COMMAND =
      Pattern.compile("^ {4}((?:\\./shardtide|mvn|pip|python|printf) .*)$");

  private DocumentedCommands() {}

  /**
   * A command of a page.
   *
   * @param document the page
   * @param text the command, lines that end with a backslash joined
   */
  record Command(String document, String text) {}

  /** Returns the commands of pages, in their order. */
  static List<Command> of(List<String> documents) throws IOException {
    List<Command> commands = new ArrayList<>();
    for (String document : documents) {
      String open = null;
      for (String line : Files.readAllLines(HERE.resolve(document))) {
        Matcher matcher = COMMAND.matcher(line);
        String text =
            open != null ? open + line.strip() : matcher.matches() ? matcher.group(1) : null;
        open = text != null && text.endsWith("\\") ? text.substring(0, text.length() - 1) : null;
        if (text != null && open == null) {
          commands.add(new Command(document, text));
        }
      }
    }
    return commands;
  }

  /** Starts a {@link CommandServer} whose script is {@code shardtide} in a folder. */
  static Process startServer(Path home) throws IOException {
    Path program = home.resolve("shardtide");
    Process server =
        new ProcessBuilder(java(CommandServer.class, program.toString()))
            .directory(home.toFile())
            .redirectErrorStream(true)
            .redirectOutput(home.resolve("server.out").toFile())
            .start();
    await()
        .atMost(Duration.ofSeconds(60))
        .failFast(
            () ->
                assertThat(server.isAlive())
                    .as(Files.readString(home.resolve("server.out")))
                    .isTrue())
        .until(() -> Files.isExecutable(program));
    return server;
  }

  /** The class path of this process, valid in any folder. */
  private static String classPath() {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(entry -> Path.of(entry).toAbsolutePath().toString())
        .collect(Collectors.joining(File.pathSeparator));
  }

  /** Returns the command line of a Java program with this process' class path. */
  static List<String> java(Class<?> main, String... args) {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx2g",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
                "-cp",
                classPath(),
                main.getName()));
    command.addAll(List.of(args));
    return command;
  }

  /** Types a command in a shell; returns its exit status. */
  static int run(Path home, String text, Map<String, String> environment, Path out)
      throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder("bash", "-c", text)
            .directory(home.toFile())
            .redirectErrorStream(true)
            .redirectOutput(out.toFile());
    builder.environment().putAll(environment);
    Process process = builder.start();
    assertThat(process.waitFor(10, TimeUnit.MINUTES)).as(text).isTrue();
    return process.exitValue();
  }
}
