package io.shardtide.cli;

import io.shardtide.cost.SampleSet;
import io.shardtide.neuroshard.SampleFiles;
import java.io.IOException;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The options that name labelled samples. */
final class SamplesOption {
  @Option(
      names = "--samples",
      required = true,
      paramLabel = "DIR",
      description = "Folder with compute/data.txt and comm_D/data.txt, plain or .gz.")
  private Path folder;

  @Option(
      names = "--tables",
      paramLabel = "FILE",
      description = "table_configs.json. Default: the one in the samples' folder or next to it.")
  private Path tables;

  /**
   * Returns the samples.
   *
   * @throws io.shardtide.neuroshard.MalformedFileException if a file is not of the layout
   */
  SampleSet load() throws IOException {
    return SampleFiles.read(folder, tables == null ? SampleFiles.findTables(folder) : tables);
  }

  /** Returns their name in a model's card: the folder's name, without the path on this machine. */
  String source() {
    return folder.toAbsolutePath().normalize().getFileName().toString();
  }
}
