package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.files.MalformedFileException;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.workload.Change;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Any constraints are read as they are, or rejected with a message: in events and in files. */
class ConstraintsFuzzTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final List<ShardKind> KINDS = List.of(ShardKind.values());

  private static String text(Object value) throws JsonProcessingException {
    return JSON.writeValueAsString(value);
  }

  private static List<String> kinds(Random random) {
    List<String> kinds = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      String kind = KINDS.get(random.nextInt(KINDS.size())).label();
      kinds.add(random.nextInt(6) > 0 ? kind : random.nextBoolean() ? name(random) : kind + " ");
    }
    return kinds;
  }

  private static int least(Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> 0;
      case 1 -> random.nextInt();
      default -> random.nextInt(TableSpec.MAX_COLUMNS + 1);
    };
  }

  private static String name(Random random) {
    String letters = "ab\u0000\n\"\\表 \u007f";
    StringBuilder name = new StringBuilder();
    for (int i = random.nextInt(4); i > 0; i--) {
      name.append(letters.charAt(random.nextInt(letters.length())));
    }
    return random.nextInt(9) == 0 ? name.toString().repeat(200) : name.toString();
  }

  private static int columns(Random random) {
    return 4 * (1 + random.nextInt(20));
  }

  @Property(tries = 500)
  void an_event_is_read_or_rejected(@ForAll long seed) throws JsonProcessingException {
    Random random = new Random(seed);
    List<String> kinds = kinds(random);
    int least = least(random);
    String same = random.nextBoolean() ? null : name(random);
    String line =
        """
        {"eventId":"00000000-0000-0001-0000-000000000002","workloadId":"w","occurredAt":0,"source":"s",\
        "expectedGeneration":null,"changes":[{"io.shardtide.avro.TableUpserted":{"table":{"name":"t","rows":9,\
        "columns":%d,"poolingFactor":1.0,"constraints":{"kinds":%s,"leastColumns":%d,"sameDevicesAs":%s}}}}]}
        """
            .formatted(
                columns(random),
                text(kinds),
                least,
                same == null ? "null" : "{\"string\":%s}".formatted(text(same)));
    WorkloadChange change;
    try {
      change = new JsonLines<>(Codec.WORKLOAD_CHANGE).read(line);
    } catch (RejectedException e) {
      assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CONSTRAINTS);
      assertThat(e).hasMessageContaining("constraints");
      return;
    }
    TableConstraints read = ((Change.TableUpserted) change.changes().get(0)).table().constraints();
    assertThat(read.kinds().stream().map(ShardKind::label).toList())
        .containsExactlyInAnyOrderElementsOf(List.copyOf(new TreeSet<>(kinds)));
    assertThat(read.leastColumns()).isEqualTo(least);
    assertThat(read.sameDevicesAs().orElse(null)).isEqualTo(same);
  }

  /** Values of any type, too. */
  @Property(tries = 500)
  void a_file_is_read_or_an_error_names_the_constraints(@ForAll long seed) throws IOException {
    Random random = new Random(seed);
    List<String> wrong =
        List.of("null", "7", "-0.5", "{}", "[[]]", "[null]", "true", "1e99", text(name(random)));
    String[] values = {text(kinds(random)), Integer.toString(least(random)), text(name(random))};
    if (random.nextBoolean()) {
      values[random.nextInt(3)] = wrong.get(random.nextInt(wrong.size()));
    }
    String constraints =
        """
        {"kinds":%s,"leastColumns":%s,"sameDevicesAs":%s}"""
            .formatted((Object[]) values);
    Path file = Files.createTempFile("constraints", ".jsonl");
    try {
      Files.writeString(
          file,
          """
          {"task":"x","cluster":{"devices":2,"memoryBytesPerDevice":9,"batchSize":8,"hardware":"h"},"tables":[\
          {"name":"a","rows":9,"columns":8,"poolingFactor":1},\
          {"name":"t","rows":9,"columns":%d,"poolingFactor":1,"constraints":%s}]}
          """
              .formatted(columns(random), random.nextInt(20) == 0 ? values[1] : constraints));
      List<WorkloadTask> tasks = WorkloadTask.read(file);
      assertThat(tasks.get(0).tables().get(1).constraints().sameDevicesAs().orElse("a"))
          .isEqualTo("a");
    } catch (MalformedFileException e) {
      assertThat(e).hasMessageContaining("tables[1]").hasMessageContaining("constraints");
    } finally {
      Files.delete(file);
    }
  }
}
