package io.shardtide.neuroshard;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Writes samples in the format that {@link SampleFiles} reads. */
public final class SampleWriter {
  private SampleWriter() {}

  /**
   * Writes all samples.
   *
   * @param samples samples of shards with 128, 64, 32, 16, 8 or 4 columns
   * @param about entries of {@value SampleFiles#ABOUT} in addition to the batch size
   * @param folder an empty folder, or one that does not exist
   * @throws IOException if a file cannot be written
   */
  public static void write(SampleSet samples, SortedMap<String, String> about, Path folder)
      throws IOException {
    Files.createDirectories(folder.resolve("compute"));
    ObjectMapper json = new ObjectMapper();
    ObjectNode description = json.createObjectNode().put("batch_size", samples.batchSize());
    about.forEach(description::put);
    Files.writeString(
        folder.resolve(SampleFiles.ABOUT),
        json.writerWithDefaultPrettyPrinter().writeValueAsString(description) + "\n");
    Files.writeString(folder.resolve(SampleFiles.TABLES), tables(json, samples.tables()) + "\n");
    List<String> lines = new ArrayList<>();
    for (ComputeSample sample : samples.compute()) {
      lines.add(
          sample.shards().stream()
                  .map(s -> Integer.toString(SampleFiles.index(s, samples.tables().size())))
                  .collect(Collectors.joining(","))
              + " "
              + text(sample.computeMs()));
    }
    Files.write(folder.resolve("compute/data.txt"), lines);
    for (Map.Entry<Integer, List<CommunicationSample>> entry : samples.communication().entrySet()) {
      Path target = Files.createDirectories(folder.resolve("comm_" + entry.getKey()));
      Files.write(
          target.resolve("data.txt"), entry.getValue().stream().map(SampleWriter::line).toList());
    }
  }

  private static String line(CommunicationSample sample) {
    return IntStream.of(sample.columns())
            .mapToObj(Integer::toString)
            .collect(Collectors.joining(","))
        + " "
        + texts(sample.startMs())
        + " "
        + texts(sample.forwardMs())
        + " "
        + texts(sample.backwardMs());
  }

  private static String texts(double[] numbers) {
    return Arrays.stream(numbers).mapToObj(SampleWriter::text).collect(Collectors.joining(","));
  }

  /** Formats milliseconds with a resolution of nanoseconds. */
  private static String text(double ms) {
    return String.format(Locale.ROOT, "%.6f", ms);
  }

  private static String tables(ObjectMapper json, List<TableSpec> tables) throws IOException {
    ArrayNode list = json.createArrayNode();
    for (TableSpec table : tables) {
      ObjectNode node =
          list.addObject().put("row", table.rows()).put("pooling_factor", table.poolingFactor());
      for (int k = 0; k < table.reuseHistogram().shares().size(); k++) {
        node.put("bin_" + k, table.reuseHistogram().shares().get(k));
      }
    }
    return json.writeValueAsString(list);
  }
}
