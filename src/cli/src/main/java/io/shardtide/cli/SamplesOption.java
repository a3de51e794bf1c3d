package io.shardtide.cli;

import io.shardtide.cost.SampleSet;
import io.shardtide.samples.RunInfo;
import io.shardtide.samples.SampleFolderReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that name labelled samples. */
final class SamplesOption {
  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = "--samples",
      paramLabel = "DIR",
      description = "Folder with compute.jsonl and collectives.jsonl, plain or .gz.")
  private Path folder;

  @Option(
      names = "--tables",
      paramLabel = "FILE",
      description = "tables.jsonl. Default: the one in the samples' folder or next to it.")
  private Path tables;

  boolean isGiven() {
    return folder != null;
  }

  /**
   * Returns the samples; a usage error if the option was not given.
   *
   * @throws io.shardtide.files.MalformedFileException if a file does not have its format
   */
  SampleSet load() throws IOException {
    if (!isGiven()) {
      throw new ParameterException(
          command.commandLine(), "Missing required option: '--samples=DIR'");
    }
    return SampleFolderReader.read(folder, Optional.ofNullable(tables));
  }

  /**
   * Returns what is wrong with the samples for a model of this hardware, by their run-info.json.
   *
   * @throws io.shardtide.files.MalformedFileException if that file does not have its format
   */
  Optional<String> problem(String hardware) throws IOException {
    return RunInfo.find(folder).flatMap(info -> info.problem(hardware));
  }

  /** Returns their name in a model's card: the folder's name, without the path on this machine. */
  String source() {
    return folder.toAbsolutePath().normalize().getFileName().toString();
  }
}
