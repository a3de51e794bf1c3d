package io.shardtide.samples;

import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * What {@code run-info.json} says of the machines that samples were measured on. The collector in
 * Python writes it beside the samples, or in their parent folder; other samples have none.
 *
 * @param file the file
 * @param hardware name of the hardware; empty if the collector was not told it
 * @param devices models of the devices of all runs: NVIDIA H200
 */
public record RunInfo(Path file, Optional<String> hardware, SortedSet<String> devices) {
  private static final String NAME = "run-info.json";

  /** Copies what may change. */
  public RunInfo {
    devices = Collections.unmodifiableSortedSet(new TreeSet<>(devices));
  }

  /**
   * Returns that of a folder of samples, or of its parent; empty if neither has one.
   *
   * @throws MalformedFileException if the file is no JSON object, or a field has another type
   */
  public static Optional<RunInfo> find(Path folder) throws IOException {
    Optional<Path> file = SampleFolderReader.inFolderOrParent(folder, NAME);
    return file.isPresent() ? Optional.of(read(file.get())) : Optional.empty();
  }

  private static RunInfo read(Path file) throws IOException {
    try {
      Content read = JsonRecords.read(Content.class, JsonRecords.parse(TextFiles.read(file)));
      List<String> devices = new ArrayList<>();
      read.device.ifPresent(devices::add);
      read.runs.orElse(List.of()).forEach(run -> run.device.ifPresent(devices::add));
      return new RunInfo(file, read.hardware, new TreeSet<>(devices));
    } catch (IllegalArgumentException e) {
      throw new MalformedFileException(file, 0, e.getMessage());
    }
  }

  private record Content(
      Optional<String> hardware, Optional<String> device, Optional<List<Run>> runs) {}

  private record Run(Optional<String> device) {}

  /**
   * Returns what is wrong with the samples for a model of one kind of hardware; empty if nothing
   * is. Samples of two kinds of devices make a model of neither.
   *
   * @param modelHardware the model's hardware
   */
  public Optional<String> problem(String modelHardware) {
    if (devices.size() > 1) {
      return Optional.of(
          "%s: samples must be of one kind of device, got runs on %s"
              .formatted(file, String.join(", ", devices)));
    }
    return hardware
        .filter(name -> !name.equals(modelHardware))
        .map(
            name ->
                "%s: samples must be of the model's hardware, \"%s\", got \"%s\""
                    .formatted(file, modelHardware, name));
  }
}
