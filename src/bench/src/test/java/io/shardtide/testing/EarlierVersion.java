package io.shardtide.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A version of this project that was released earlier, compiled from the history of the checkout.
 */
public final class EarlierVersion {
  /**
   * The last commit before planners had standby replicas. Replace it at each release. {@code
   * -Dupgrade.from=COMMIT} names another released version.
   */
  private static final String RELEASED = System.getProperty("upgrade.from", "8c5011d");

  private static final long MINUTES = 10;

  private EarlierVersion() {}

  /** Returns the class path of the last release, as {@link #classPath} does. */
  public static String released() throws IOException, InterruptedException {
    return classPath(RELEASED);
  }

  /**
   * Returns the class path of an earlier version. Compiles it with Maven in {@code target/upgrade},
   * once until {@code mvn clean}. Skips the test where there is no git, no Maven, or no such
   * commit, as in a shallow clone.
   *
   * @param commit the version, a commit of this repository
   */
  private static String classPath(String commit) throws IOException, InterruptedException {
    Path folder = Path.of("target", "upgrade", commit).toAbsolutePath();
    Path built = folder.resolve("built");
    if (!Files.exists(built)) {
      Files.createDirectories(folder);
      if (run(Path.of(""), folder, "git", "cat-file", "-e", commit + "^{commit}") != 0) {
        abort(
            "The history has no commit %s to upgrade from: fetch it with git fetch --unshallow"
                .formatted(commit));
      }
      Path archive = folder.resolve("archive.tar");
      succeed(Path.of(""), folder, "git", "archive", "--output", archive.toString(), commit);
      succeed(folder, folder, "tar", "-xf", archive.toString());
      // The formatter and the tests have run when that version was released.
      succeed(folder, folder, "mvn", "--batch-mode", "compile", "-Dspotless.check.skip");
      Files.createFile(built);
    }
    // As ./shardtide has it in a checkout.
    return String.join(
        File.pathSeparator,
        folder.resolve("target/classes").toString(),
        Files.readString(folder.resolve("target/classpath.txt")),
        Files.readString(folder.resolve("target/classpath-checkout.txt")));
  }

  private static void succeed(Path directory, Path log, String... command)
      throws IOException, InterruptedException {
    assertThat(run(directory, log, command))
        .as("%s; see %s", String.join(" ", command), log.resolve("log"))
        .isZero();
  }

  /** Returns the status of a command; skips the test if the machine does not have it. */
  private static int run(Path directory, Path log, String... command)
      throws IOException, InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toAbsolutePath().toFile())
            .redirectErrorStream(true)
            .redirectOutput(
                ProcessBuilder.Redirect.appendTo(log.resolve("log").toAbsolutePath().toFile()));
    // Those of a test's own JVM.
    List.of("JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "MAVEN_ARGS").forEach(builder.environment()::remove);
    Process process;
    try {
      process = builder.start();
    } catch (IOException e) {
      abort("%s is not installed: %s".formatted(command[0], e.getMessage()));
      throw e;
    }
    if (!process.waitFor(MINUTES, TimeUnit.MINUTES)) {
      process.destroyForcibly();
      throw new AssertionError(
          "%s runs for %d minutes; see %s"
              .formatted(String.join(" ", command), MINUTES, log.resolve("log")));
    }
    return process.exitValue();
  }
}
