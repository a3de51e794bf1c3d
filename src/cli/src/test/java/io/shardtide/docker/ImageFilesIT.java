package io.shardtide.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.web.Health;
import io.shardtide.web.WebServer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The scripts of the image, run as the image runs them. */
class ImageFilesIT {
  private static final Path DOCKER = Path.of("docker").toAbsolutePath();

  @TempDir private Path folder;

  /** Runs a program, and returns its exit status; what it says goes to {@code folder/out}. */
  private int run(Map<String, String> environment, String... command) throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("out").toFile());
    builder.environment().putAll(environment);
    builder
        .environment()
        .merge(
            "PATH",
            Path.of(System.getProperty("java.home"), "bin").toString(),
            (a, b) -> b + ":" + a);
    Process process = builder.start();
    assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
    return process.exitValue();
  }

  private String out() throws IOException {
    return Files.readString(folder.resolve("out"));
  }

  @Test
  void the_health_check_is_that_of_the_service() throws Exception {
    AtomicReference<Health> health =
        new AtomicReference<>(new Health(List.of(Health.Component.up("kafka"))));
    String port;
    try (WebServer server =
        WebServer.start(
            "127.0.0.1",
            0,
            health::get,
            () -> true,
            () -> "",
            Optional.of("secret"::equals),
            Optional.empty())) {
      port = Integer.toString(URI.create(server.url()).getPort());
      Map<String, String> environment = Map.of("SHARDTIDE_HTTP_PORT", port);
      String check = DOCKER.resolve("healthcheck").toString();
      assertThat(run(environment, check)).as(out()).isZero();
      health.set(new Health(List.of(Health.Component.down("kafka", "It is away."))));
      assertThat(run(environment, check)).isEqualTo(1);
    }
    assertThat(run(Map.of("SHARDTIDE_HTTP_PORT", port), DOCKER.resolve("healthcheck").toString()))
        .as("nobody listens")
        .isEqualTo(1);
  }

  /**
   * The image's folders made here: the distribution, its natives out of their jars, and the entry
   * point with no folder that it could unpack anything into. TensorFlow predicts, so its libraries
   * are found.
   */
  @Test
  void the_entry_point_needs_no_folder_to_unpack_into() throws Exception {
    assumeTrue(System.getProperty("os.name").equals("Linux"), "the image's scripts are for Linux");
    Path home = folder.resolve("image");
    Path lib = home.resolve("lib");
    Path bin = home.resolve("bin");
    Files.createDirectory(home);
    assertThat(
            run(
                Map.of(),
                "sh",
                "-c",
                "tar -xzf target/shardtide-*.tar.gz -C '%s' --strip-components 1".formatted(home)))
        .as(out())
        .isZero();
    assertThat(
            run(
                Map.of(),
                DOCKER.resolve("natives").toString(),
                lib.toString(),
                home.resolve("natives").toString()))
        .as(out())
        .isZero();
    try (Stream<Path> jars = Files.list(lib)) {
      assertThat(jars.map(jar -> jar.getFileName().toString()))
          .noneMatch(name -> name.matches("tensorflow-core-native-.*-linux-.*"))
          .isNotEmpty();
    }
    Files.copy(DOCKER.resolve("entrypoint"), bin.resolve("entrypoint"));
    assertThat(bin.resolve("entrypoint").toFile().setExecutable(true)).isTrue();
    String nowhere = folder.resolve("file").toString();
    Files.writeString(Path.of(nowhere), "no folder can be made below a file");
    assertThat(
            run(
                Map.of(
                    "SHARDTIDE_JAVA_OPTS",
                    "-Djava.io.tmpdir=%s/tmp -Duser.home=%s/home -Dorg.bytedeco.javacpp.cachedir=%s/cache"
                        .formatted(nowhere, nowhere, nowhere)),
                bin.resolve("entrypoint").toString(),
                "plan",
                "--workloads",
                "src/models/src/test/resources/reference/tasks/4gpu_dim16.jsonl.gz",
                "--out",
                folder.resolve("plans.jsonl").toString()))
        .as(out())
        .isZero();
    assertThat(Files.readAllLines(folder.resolve("plans.jsonl"))).hasSize(6);
  }

  /** RocksDB's library is found in the same way. */
  @Test
  void the_state_stores_library_has_the_name_that_is_looked_for() throws Exception {
    Path lib = Files.createDirectories(folder.resolve("lib"));
    for (String entry : System.getProperty("java.class.path").split(":", -1)) {
      Path path = Path.of(entry);
      if (path.getFileName().toString().matches("(rocksdbjni|tensorflow-core-native)-.*\\.jar")) {
        Files.copy(path, lib.resolve(path.getFileName()));
      }
    }
    assertThat(
            run(
                Map.of(),
                DOCKER.resolve("natives").toString(),
                lib.toString(),
                folder.resolve("natives").toString()))
        .as(out())
        .isZero();
    String nowhere = folder.resolve("file").toString();
    Files.writeString(Path.of(nowhere), "");
    assertThat(
            run(
                Map.of("ROCKSDB_SHAREDLIB_DIR", nowhere + "/rocksdb"),
                "java",
                "-Djava.io.tmpdir=" + nowhere + "/tmp",
                "-Djava.library.path=" + folder.resolve("natives"),
                "-cp",
                System.getProperty("java.class.path"),
                RocksProgram.class.getName(),
                folder.resolve("store").toString()))
        .as(out())
        .isZero();
    assertThat(out()).contains("value");
  }

  /** Writes to a store and reads it back. */
  static final class RocksProgram {
    private RocksProgram() {}

    public static void main(String[] args) throws Exception {
      org.rocksdb.RocksDB.loadLibrary();
      try (var db = org.rocksdb.RocksDB.open(args[0])) {
        db.put(new byte[] {1}, "value".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        System.out.println(
            new String(db.get(new byte[] {1}), java.nio.charset.StandardCharsets.UTF_8));
      }
    }
  }
}
