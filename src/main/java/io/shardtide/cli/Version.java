package io.shardtide.cli;

import picocli.CommandLine.IVersionProvider;

/** Tells which version runs. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    String version = Version.class.getPackage().getImplementationVersion();
    return new String[] {
      "shardtide " + (version == null ? "(development)" : version),
      "Java " + Runtime.version() + ", " + System.getProperty("os.arch")
    };
  }
}
