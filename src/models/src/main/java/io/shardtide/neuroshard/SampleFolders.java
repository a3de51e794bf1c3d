package io.shardtide.neuroshard;

import io.shardtide.cost.SampleSet;
import io.shardtide.files.MalformedFileException;
import io.shardtide.samples.SampleFolderReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Reads folders of samples in either format, which it tells by their files. */
public final class SampleFolders {
  private SampleFolders() {}

  /**
   * Reads all samples, with {@link SampleFolderReader} if the folder has a file of its format,
   * otherwise with {@link SampleFiles}.
   *
   * @param folder the folder
   * @param tables the file of tables in the same format; empty for the one in the folder or its
   *     parent
   * @throws MalformedFileException if a file does not have its format, or there are no samples
   * @throws IOException if a file cannot be read
   */
  public static SampleSet read(Path folder, Optional<Path> tables) throws IOException {
    if (!Files.isDirectory(folder)) {
      throw new MalformedFileException(folder, 0, "not a folder");
    }
    if (SampleFolderReader.isPresent(folder)) {
      return SampleFolderReader.read(folder, tables);
    }
    if (SampleFiles.isPresent(folder)) {
      return SampleFiles.read(
          folder, tables.isPresent() ? tables.get() : SampleFiles.findTables(folder));
    }
    throw new MalformedFileException(
        folder,
        0,
        "no samples; expected compute.jsonl or collectives.jsonl, or NeuroShard's compute/data.txt"
            + " or comm_D/data.txt, plain or .gz");
  }
}
