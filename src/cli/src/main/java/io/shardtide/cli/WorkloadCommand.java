package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.replay.RefusedException;
import io.shardtide.samples.RecordText;
import io.shardtide.samples.WorkloadSpec;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Names;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.Workload;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Changes workloads, and shows them. */
@Command(
    name = "workload",
    description = "Changes workloads, and shows them.",
    footer = {"", "Example:", "  shardtide workload apply -f workloads.jsonl"})
final class WorkloadCommand {
  @Command(
      name = "apply",
      description = {
        "Sets the cluster and the tables of workloads, and prints the planner's decision on each"
            + " event. Tables that the call does not name stay. The exit status is 0 if all were"
            + " accepted.",
        "A PATH is cluster.batchSize, say, or tables[user].rows; the fields are those of a file."
      },
      footer = {
        "",
        "Examples:",
        "  shardtide workload apply -f workloads.jsonl",
        "  shardtide workload apply ads \\",
        "    --cluster devices=8,memoryGib=141,batchSize=65536,hardware=h200 \\",
        "    --upsert name=user,rows=1000000,columns=64,poolingFactor=5 \\",
        "    --set tables[user].constraints.kinds=row_wise+grid_shard"
      })
  int apply(
      @Mixin EventOption on,
      @Parameters(
              paramLabel = "WORKLOAD",
              arity = "0..1",
              description = "The workload, unless the file says it.")
          String workload,
      @Option(
              names = {"-f", "--file"},
              paramLabel = "FILE",
              description =
                  "Workloads, one JSON object a line: task, cluster, tables. Or events, as log export"
                      + " and demo write them.")
          Path file,
      @Option(
              names = "--set",
              paramLabel = "PATH=VALUE",
              description = "A value of the workload. May be repeated.")
          Map<String, String> values,
      @Option(
              names = "--drop",
              paramLabel = "TABLE",
              description = "A table to drop. May be repeated.")
          List<String> drops,
      @Option(
              names = "--upsert",
              paramLabel = "name=TABLE,KEY=VALUE,..",
              description =
                  "Values of a table: short for --set tables[TABLE].KEY=VALUE. May be repeated.")
          List<String> upserts,
      @Option(
              names = "--cluster",
              paramLabel = "KEY=VALUE,..",
              description = "Values of the cluster: short for --set cluster.KEY=VALUE.")
          String cluster)
      throws Exception {
    if (file == null && workload == null) {
      throw on.wrong("workload apply needs -f FILE, or WORKLOAD with --set or --drop");
    }
    Map<String, String> set = new LinkedHashMap<>();
    if (workload != null) {
      set.put("task", workload);
    }
    PathValues.of(cluster).forEach((key, value) -> set.put("cluster." + key, value));
    for (String upsert : all(upserts)) {
      Map<String, String> table = PathValues.of(upsert);
      table.forEach(
          (key, value) -> set.put("tables[%s].%s".formatted(table.get("name"), key), value));
    }
    set.putAll(values == null ? Map.of() : values);
    List<WorkloadChange> events = new ArrayList<>();
    if (file == null) {
      events.add(event(on, "{}", set, all(drops)));
    } else {
      TextFiles.readLines(
          file,
          line -> {
            if (!line.isBlank()) {
              events.add(event(on, line, set, all(drops)));
            }
          });
      if (events.isEmpty()) {
        throw new MalformedFileException(file, 0, "it must hold an event a line, and holds none");
      }
    }
    if (events.size() > 1 && (!set.isEmpty() || drops != null)) {
      throw on.wrong("a file of one workload is needed beside values, got " + events.size());
    }
    return on.publish(events);
  }

  private static List<String> all(List<String> given) {
    return given == null ? List.of() : given;
  }

  /** Returns the event of a line, which is one or a workload. */
  private static WorkloadChange event(
      EventOption on, String line, Map<String, String> values, List<String> drops) {
    ObjectNode json = RecordText.parse(line);
    if (json.has("changes")) {
      WorkloadChange event = new JsonLines<>(Codec.WORKLOAD_CHANGE).read(line);
      event.checkDistinct();
      return event;
    }
    values.forEach((path, text) -> RecordText.set(WorkloadSpec.class, json, path, text));
    WorkloadSpec workload = RecordText.read(WorkloadSpec.class, json);
    List<Change> changes = new ArrayList<>();
    workload.cluster().ifPresent(cluster -> changes.add(new Change.ClusterSet(cluster)));
    workload.tables().forEach(table -> changes.add(new Change.TableUpserted(table)));
    drops.forEach(name -> changes.add(new Change.TableDropped(name)));
    return on.event(workload.task(), changes);
  }

  @Command(
      name = "get",
      description =
          "Shows the cluster and the tables of a workload, as the accepted events make them. As JSON"
              + " it is a line for workload apply -f.",
      footer = {"", "Example:", "  shardtide workload get ads -o jsonl"})
  int get(
      @Mixin ClusterOption on,
      @Parameters(paramLabel = "WORKLOAD", description = "Id of the workload.") String id)
      throws IOException {
    Workload workload = read(on, Optional.of(id)).get(id);
    if (workload == null) {
      throw new RefusedException("There is no workload %s".formatted(Names.quote(id)));
    }
    on.print(
        RecordText.write(
            new WorkloadSpec(id, workload.cluster(), List.copyOf(workload.tables().values()))),
        () -> {
          Printed out = new Printed();
          out.table(table(List.of(workload)));
          out.line("");
          out.table(
              new Table<>(workload.tables().values())
                  .left("table", TableSpec::name)
                  .right("rows", "%,d", TableSpec::rows)
                  .right("columns", "%,d", TableSpec::columns)
                  .right("lookups", TableSpec::poolingFactor));
          return out;
        });
    return 0;
  }

  @Command(
      name = "list",
      description = "Lists the workloads, as the accepted events make them.",
      footer = {"", "Example:", "  shardtide workload list"})
  int list(@Mixin ClusterOption on) throws IOException {
    on.print(table(read(on, Optional.empty()).values()));
    return 0;
  }

  private static SortedMap<String, Workload> read(ClusterOption on, Optional<String> workload)
      throws IOException {
    try (KafkaLogRecords log = KafkaLogRecords.open(on.endpoint(), workload, () -> {})) {
      return log.workloads();
    }
  }

  /** A workload of a list. */
  private record Listed(
      String task,
      long generation,
      Optional<Integer> devices,
      Optional<String> hardware,
      int tables) {
    static Listed of(Workload workload) {
      return new Listed(
          workload.id(),
          workload.generation(),
          workload.cluster().map(ClusterSpec::devices),
          workload.cluster().map(ClusterSpec::hardware),
          workload.tables().size());
    }
  }

  private static Table<Listed> table(Collection<Workload> workloads) {
    return new Table<>(workloads.stream().map(Listed::of).toList())
        .left("workload", Listed::task)
        .right("generation", Listed::generation)
        .right("devices", "%,d", Listed::devices)
        .left("hardware", Listed::hardware)
        .right("tables", "%,d", Listed::tables);
  }

  @Command(
      name = "delete",
      description = "Deletes a workload: its tables, its cluster and its plans.",
      footer = {"", "Example:", "  shardtide workload delete ads --reason over"})
  int delete(
      @Mixin EventOption on,
      @Parameters(paramLabel = "WORKLOAD", description = "Id of the workload.") String workload,
      @Option(
              names = "--reason",
              paramLabel = "TEXT",
              defaultValue = "",
              description = "Why, for people.")
          String reason)
      throws Exception {
    return on.publish(List.of(on.event(workload, List.of(new Change.WorkloadDeleted(reason)))));
  }
}
