package io.shardtide.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/**
 * The version and commit that this was built from; the build writes both to version.properties. The
 * commit is empty if the sources were not in a Git checkout.
 */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    Properties built = new Properties();
    try (InputStream in = Version.class.getResourceAsStream("version.properties")) {
      built.load(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    String commit = built.getProperty("commit");
    return new String[] {
      "shardtide "
          + built.getProperty("version")
          + (commit.isEmpty() ? "" : " (commit " + commit + ")"),
      "Java " + Runtime.version() + ", " + System.getProperty("os.arch")
    };
  }
}
