package io.shardtide.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs scripts of the repository with the system's Python. */
public final class Python {
  private static final Path PYTHON = Path.of("/usr/bin/python3");

  private Python() {}

  /**
   * How a script ended.
   *
   * @param status its exit status
   * @param out what it printed
   * @param err what it said on standard error
   */
  public record Ended(int status, String out, String err) {}

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
    return new ProcessBuilder(all);
  }

  /** Runs a script to its end, which has to come within two minutes. */
  public static Ended run(Path folder, String... command) throws IOException, InterruptedException {
    Path out = Files.createTempFile(folder, "out", "");
    Path err = Files.createTempFile(folder, "err", "");
    Process process =
        script(command).redirectOutput(out.toFile()).redirectError(err.toFile()).start();
    assertThat(process.waitFor(120, TimeUnit.SECONDS)).as(Files.readString(err)).isTrue();
    return new Ended(process.exitValue(), Files.readString(out), Files.readString(err));
  }
}
