package io.shardtide.cli;

import io.shardtide.config.BuildVersion;
import picocli.CommandLine.IVersionProvider;

/** The version and commit that this was built from. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    return new String[] {
      "shardtide " + BuildVersion.text(),
      "Java " + Runtime.version() + ", " + System.getProperty("os.arch")
    };
  }
}
