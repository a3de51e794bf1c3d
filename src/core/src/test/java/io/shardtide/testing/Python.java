package io.shardtide.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Runs scripts of the repository, which find the package {@code shardtide}. */
public final class Python {
  /** The project's virtual environment; src/python/tests/requirements.txt says how it is made. */
  private static final Path PYTHON = Path.of(".venv/bin/python").toAbsolutePath();

  private static final Path PACKAGE = Path.of("src/python").toAbsolutePath();
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

  /** Skips the test where the virtual environment cannot import modules. */
  public static void assumeHas(String... modules) throws IOException, InterruptedException {
    assumeTrue(
        has(modules), () -> "There is no .venv with the modules " + String.join(", ", modules));
  }

  private static boolean has(String... modules) throws IOException, InterruptedException {
    return Files.isExecutable(PYTHON)
        && new ProcessBuilder(PYTHON.toString(), "-c", "import " + String.join(", ", modules))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor()
            == 0;
  }

  /** Returns a process of a script that has not started; it writes no compiled files. */
  public static ProcessBuilder script(String... command) {
    return script(PYTHON, command);
  }

  private static ProcessBuilder script(Path python, String... command) {
    List<String> all = new ArrayList<>(List.of(python.toString(), "-B", "-u"));
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
    return run(PYTHON, folder, environment, command);
  }

  /** Runs a script with another Python than that of the virtual environment. */
  public static Ended run(
      Path python, Path folder, Map<String, String> environment, String... command)
      throws IOException, InterruptedException {
    Path out = Files.createTempFile(folder, "out", "");
    Path err = Files.createTempFile(folder, "err", "");
    ProcessBuilder builder =
        script(python, command).redirectOutput(out.toFile()).redirectError(err.toFile());
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
   * @param file their file in {@code src/python/tests}
   * @return what they printed
   */
  public static String test(Path folder, Map<String, String> environment, String file)
      throws IOException, InterruptedException {
    return test(PYTHON, folder, environment, file);
  }

  /** Runs unit tests as above with another Python. */
  public static String test(Path python, Path folder, Map<String, String> environment, String file)
      throws IOException, InterruptedException {
    Ended tests = run(python, folder, environment, "src/python/tests/" + file, "-v");
    assertThat(tests.status()).as(tests.err()).isZero();
    // A run of no tests would end well too.
    assertThat(tests.err()).containsPattern("\nRan [1-9]\\d* tests?").contains("\nOK");
    return tests.err();
  }
}
