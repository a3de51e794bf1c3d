package io.shardtide.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A key with a certificate for this machine, and a trust store for its clients, made with the
 * commands that {@code docs/DEPLOY.md} shows.
 *
 * @param keyStore the server's key and certificates, PKCS12
 * @param trustStore what clients trust, PKCS12
 * @param password of both
 */
public record Certificates(Path keyStore, Path trustStore, String password) {
  /** The page with the commands. */
  static final Path PAGE = Path.of("docs/DEPLOY.md");

  /** Every password begins with this, so that a search of what a program printed finds any. */
  public static final String SECRET = "hunter2";

  private static final String ADDRESSES = "dns:kafka-1,ip:10.0.0.7";

  /** Makes them in a folder. */
  public static Certificates make(Path folder) throws IOException, InterruptedException {
    Files.createDirectories(folder);
    String commands = Docs.block(PAGE, "#### Keys and certificates");
    if (!commands.contains(ADDRESSES)) {
      throw new AssertionError("The commands of %s do not name %s".formatted(PAGE, ADDRESSES));
    }
    run(folder, commands.replace(ADDRESSES, "dns:localhost,ip:127.0.0.1"));
    return new Certificates(
        folder.resolve("kafka-1.p12"), folder.resolve("truststore.p12"), storePassword());
  }

  /**
   * Makes a planner's key store, or replaces it, with the page's commands and the authority that
   * {@link #make} left in the folder.
   *
   * @param validity options of keytool that say when the certificate is valid
   */
  public static Path makePlanner(Path folder, String validity)
      throws IOException, InterruptedException {
    String commands = Docs.block(PAGE, "#### Certificates of planners");
    String page = "-gencert -alias ca -validity 365";
    if (!commands.contains(page)) {
      throw new AssertionError("The commands of %s do not contain %s".formatted(PAGE, page));
    }
    run(
        folder,
        commands
            .replace(page, "-gencert -alias ca " + validity)
            .replace("/etc/shardtide/", folder + "/"));
    return folder.resolve("planner.p12");
  }

  /** Returns the password of all stores. */
  public static String storePassword() {
    return SECRET + "-store";
  }

  private static void run(Path folder, String commands) throws IOException, InterruptedException {
    Path log = folder.resolve("keytool.log");
    ProcessBuilder builder =
        new ProcessBuilder("bash", "-euo", "pipefail", "-c", commands)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile());
    builder.environment().put("STORE_PASSWORD", storePassword());
    builder.environment().put("CA_PASSWORD", SECRET + "-ca");
    String java = Path.of(System.getProperty("java.home"), "bin").toString();
    builder.environment().merge("PATH", java, (path, bin) -> bin + ":" + path);
    Process process = builder.start();
    if (!process.waitFor(2, TimeUnit.MINUTES) || process.exitValue() != 0) {
      throw new AssertionError("The page's commands fail:\n" + Files.readString(log));
    }
  }
}
