package io.shardtide.bench;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.OutputFile;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.SpecHash;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The shortest predicted steps that any search has found, by workload: what {@link RegretBenchmark}
 * measures others against. A file of them is an object with "workloads", an object from the name of
 * a workload to {@link BestKnown}.
 */
public final class BestKnownSteps {
  private static final String SHIPPED = "/bench/regret.json";

  private static final ObjectMapper JSON =
      JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES).build();

  private final SortedMap<String, BestKnown> byWorkload = new TreeMap<>();

  /**
   * The shortest step of a workload.
   *
   * @param problem {@link #problem} of the workload that was searched: the step of any other one
   *     says nothing
   * @param ms the step in milliseconds, above 0
   * @param evaluationsPerTable budget of the search that found it
   * @param command what was run
   */
  public record BestKnown(
      @JsonProperty(value = "problem", required = true) String problem,
      @JsonProperty(value = "ms", required = true) double ms,
      @JsonProperty(value = "evaluations_per_table", required = true) long evaluationsPerTable,
      @JsonProperty(value = "command", required = true) String command) {
    /**
     * @throws IllegalArgumentException if the step is not above 0
     */
    public BestKnown {
      if (!(ms > 0 && ms < Double.POSITIVE_INFINITY)) {
        throw new IllegalArgumentException("ms must be above 0, got " + ms);
      }
    }
  }

  /** What a file has. */
  private record StepsFile(
      @JsonProperty(value = "workloads", required = true) SortedMap<String, BestKnown> workloads) {}

  /** Returns a collection without steps. */
  public static BestKnownSteps none() {
    return new BestKnownSteps();
  }

  /** Returns the shipped steps, of {@link RegretWorkloads}. */
  public static BestKnownSteps shipped() {
    try (InputStream in = BestKnownSteps.class.getResourceAsStream(SHIPPED)) {
      return parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Reads a file.
   *
   * @throws MalformedFileException if it is no such file
   * @throws IOException if it cannot be read
   */
  public static BestKnownSteps read(Path file) throws IOException {
    try {
      return parse(Files.readString(file));
    } catch (JsonProcessingException e) {
      throw new MalformedFileException(file, 0, "no best known steps: " + e.getOriginalMessage());
    }
  }

  private static BestKnownSteps parse(String text) throws JsonProcessingException {
    BestKnownSteps steps = new BestKnownSteps();
    steps.byWorkload.putAll(JSON.readValue(text, StepsFile.class).workloads());
    return steps;
  }

  /**
   * Returns what identifies a problem: tables, cluster and cost model.
   *
   * @param modelId id of the model that predicts
   */
  public static String problem(WorkloadTask task, String modelId) {
    ClusterSpec cluster = task.cluster();
    CanonicalHash hash = SpecHash.put(new CanonicalHash("RegretProblem"), cluster);
    for (TableSpec table : task.tables()) {
      SpecHash.put(hash, table);
    }
    return CanonicalHash.shown(hash.put(modelId).hex());
  }

  /** Returns the shortest step of a workload, if one of this problem is known. */
  public Optional<BestKnown> of(String workload, String problem) {
    return Optional.ofNullable(byWorkload.get(workload))
        .filter(known -> known.problem().equals(problem));
  }

  /** Adds a step; of two of the same problem, the shorter one stays. */
  public void add(String workload, BestKnown step) {
    if (of(workload, step.problem()).filter(known -> known.ms() <= step.ms()).isEmpty()) {
      byWorkload.put(workload, step);
    }
  }

  /** Returns all steps by the names of their workloads. */
  public SortedMap<String, BestKnown> byWorkload() {
    return new TreeMap<>(byWorkload);
  }

  /** Writes a file, which {@link #read} reads. */
  public void write(Path file) throws IOException {
    DefaultPrettyPrinter printer =
        new DefaultPrettyPrinter().withObjectIndenter(new DefaultIndenter("  ", "\n"));
    OutputFile.write(
        file, JSON.writer(printer).writeValueAsString(new StepsFile(byWorkload)) + "\n");
  }
}
