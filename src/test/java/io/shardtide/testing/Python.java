package io.shardtide.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Runs scripts of the repository, which find the package {@code shardtide}. */
public final class Python {
  /** The project's virtual environment, where there is one, which .ci/run makes. */
  private static final Path PYTHON =
      Optional.of(Path.of(".venv/bin/python").toAbsolutePath())
          .filter(Files::isExecutable)
          .orElse(Path.of("/usr/bin/python3"));

  private static final Path PACKAGE = Path.of("src/main/python").toAbsolutePath();
  private static final int PATIENCE_MINUTES = 15;

  private Python() {}

  /**
   * How a script ended.
   *
   * @param status its exit status
   * @param out what it printed
   * @param err what it said on standard error
   */
  public record Ended(int status, String out, String err) {}

  /** The folder with {@code python} and {@code pip}. */
  public static Path folder() {
    return PYTHON.getParent();
  }

  /** Returns whether there is a Python that can import modules. */
  public static boolean has(String... modules) throws IOException, InterruptedException {
    return Files.isExecutable(PYTHON)
        && new ProcessBuilder(PYTHON.toString(), "-c", "import " + String.join(", ", modules))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor()
            == 0;
  }

  /** Returns a process of a script that has not started; it writes no compiled files. */
  public static ProcessBuilder script(String... command) {
    List<String> all = new ArrayList<>(List.of(PYTHON.toString(), "-B", "-u"));
    all.addAll(List.of(command));
    ProcessBuilder builder = new ProcessBuilder(all);
    builder.environment().put("PYTHONPATH", PACKAGE.toString());
    return builder;
  }

  /** Runs a script to its end; one that has none after a quarter of an hour is ended. */
  public static Ended run(Path folder, String... command) throws IOException, InterruptedException {
    return run(folder, Map.of(), command);
  }

  /** Runs a script as above, with more variables in its environment. */
  public static Ended run(Path folder, Map<String, String> environment, String... command)
      throws IOException, InterruptedException {
    Path out = Files.createTempFile(folder, "out", "");
    Path err = Files.createTempFile(folder, "err", "");
    ProcessBuilder builder =
        script(command).redirectOutput(out.toFile()).redirectError(err.toFile());
    builder.environment().putAll(environment);
    Process process = builder.start();
    if (!process.waitFor(PATIENCE_MINUTES, TimeUnit.MINUTES)) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
      throw new AssertionError("No end of %s:\n%s".formatted(command[0], Files.readString(err)));
    }
    return new Ended(process.exitValue(), Files.readString(out), Files.readString(err));
  }

  /**
   * Runs unit tests, which must succeed.
   *
   * @param file their file in {@code src/test/python}
   * @param names some of them; all unless given
   * @return what they printed
   */
  public static String test(
      Path folder, Map<String, String> environment, String file, String... names)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("src/test/python/" + file, "-v"));
    command.addAll(List.of(names));
    Ended tests = run(folder, environment, command.toArray(new String[0]));
    assertThat(tests.status()).as(tests.err()).isZero();
    // A run of no tests would end well too.
    assertThat(tests.err()).containsPattern("\nRan [1-9]\\d* tests?").contains("\nOK");
    return tests.err();
  }
}
