package io.shardtide.embedded;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The program of a development registry in a process of its own. Several on one folder have the
 * same schemas, so that one can take the address of another one that died.
 */
public final class RegistryProcess {
  private static final String READY = "registry at ";

  private RegistryProcess() {}

  /**
   * Prepares the process of a registry.
   *
   * @param directory folder of its schemas
   * @param port port on loopback
   */
  public static JavaProcess prepare(Path directory, int port) throws IOException {
    Files.createDirectories(directory);
    return JavaProcess.prepare(
        directory.resolve("registry-%d.out".formatted(port)),
        READY,
        List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        Map.of(),
        List.of(
            RegistryProcess.class.getName(),
            directory.toString(),
            Integer.toString(port),
            Long.toString(ProcessHandle.current().pid())));
  }

  /** Runs in the process; arguments: the folder, the port, the process without which it ends. */
  public static void main(String[] args) throws Exception {
    JavaProcess.endWith(Long.parseLong(args[2]));
    DevelopmentRegistry registry =
        DevelopmentRegistry.start(Integer.parseInt(args[1]), Optional.of(Path.of(args[0])));
    System.out.println(READY + registry.url());
    Thread.currentThread().join();
  }
}
