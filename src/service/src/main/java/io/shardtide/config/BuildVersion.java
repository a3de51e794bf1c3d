package io.shardtide.config;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The version and commit that this was built from; the build writes both to a resource. */
public final class BuildVersion {
  private BuildVersion() {}

  /** Returns the version, with the commit if the build knew it: {@code 0.3.0 (commit 1a2b3c4)}. */
  public static String text() {
    Properties built = new Properties();
    try (InputStream in = BuildVersion.class.getResourceAsStream("version.properties")) {
      built.load(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    String commit = built.getProperty("commit");
    return built.getProperty("version") + (commit.isEmpty() ? "" : " (commit " + commit + ")");
  }
}
