package io.shardtide.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.ModelBundle;
import io.shardtide.testing.RandomEvents;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.TopicType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Exported files that are missing, truncated or malformed. */
class ExportFolderTest {
  @TempDir private Path directory;

  @BeforeEach
  void export() throws IOException {
    Export.write(new RandomEvents(7, RandomEvents.BURSTS, "feed").go(12).records(), directory);
  }

  private <V> List<V> read(TopicType<V> kind) throws IOException {
    List<V> values = new ArrayList<>();
    ExportFolder.of(directory).read(kind, values::add);
    return values;
  }

  @Test
  void a_truncated_file_is_named_with_its_line() throws IOException {
    for (TopicType<?> kind : LogRecords.NAMES.keySet()) {
      Path file = directory.resolve(LogRecords.file(kind));
      // The log has no optional parts.
      int lines = kind.extension().isPresent() ? 0 : read(kind).size();
      if (lines == 0) {
        continue;
      }
      String text = Files.readString(file);
      Files.writeString(file, text.substring(0, text.length() - 10));
      assertThatThrownBy(() -> read(kind))
          .isInstanceOf(MalformedRecordException.class)
          .hasMessageStartingWith("%s, line %d: Not a ", file, lines)
          .hasMessageNotContaining("\n");
      Files.writeString(file, text);
    }
  }

  @Test
  void a_foreign_file_is_named() throws IOException {
    Path plans = directory.resolve("plans.jsonl");
    Files.copy(
        directory.resolve("events.jsonl"),
        plans,
        java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    assertThatThrownBy(() -> read(TopicType.SHARDING_PLANS))
        .hasMessageStartingWith(plans + ", line 1: Not a ShardingPlan in Avro's JSON encoding: ");
    Files.write(plans, new byte[] {(byte) 0xff, (byte) 0xfe, 0, 1});
    assertThatThrownBy(() -> read(TopicType.SHARDING_PLANS))
        .hasMessage(plans + ", line 1: text must be UTF-8, got byte 0xff");
    Files.writeString(plans, "[".repeat(100_000));
    assertThatThrownBy(() -> read(TopicType.SHARDING_PLANS))
        .hasMessageStartingWith(plans + ", line 1: Not a ");
  }

  @Test
  void an_invalid_value_is_named() throws IOException {
    Path events = directory.resolve("events.jsonl");
    String text = Files.readString(events);
    Files.writeString(events, text.replaceFirst("\"devices\":\\d+", "\"devices\":0"));
    assertThatThrownBy(() -> read(TopicType.WORKLOAD_CHANGES))
        .hasMessageContaining("line ")
        .hasMessageContaining("devices of a cluster must be between 1 and 16384, got 0");
  }

  @Test
  void empty_lines_and_a_missing_last_line_end_are_accepted() throws IOException {
    Path events = directory.resolve("events.jsonl");
    int before = read(TopicType.WORKLOAD_CHANGES).size();
    Files.writeString(events, "\n" + Files.readString(events).strip());
    assertThat(read(TopicType.WORKLOAD_CHANGES)).hasSize(before);
  }

  @Test
  void missing_files_are_not_listed() throws IOException {
    Path alone = Files.createDirectories(directory.resolve("alone")).resolve("some.jsonl");
    assertThatThrownBy(() -> ExportFolder.of(alone)).isInstanceOf(NoSuchFileException.class);
    Files.copy(directory.resolve("events.jsonl"), alone);
    ExportFolder folder = ExportFolder.of(alone);
    assertThat(folder.kinds()).containsExactly("events");
    assertThat(folder.has(TopicType.SHARDING_PLANS)).isFalse();
    assertThat(folder.models()).isEmpty();
    assertThat(ExportFolder.of(directory).kinds())
        .containsExactly(
            "plans", "infeasible", "statuses", "speeds", "predictions", "events", "models");
  }

  @Test
  void a_failed_export_leaves_no_files() throws IOException {
    Files.writeString(directory.resolve("plans.jsonl"), "{}\n");
    Path other = directory.resolve("other");
    assertThatThrownBy(() -> Export.write(ExportFolder.of(directory), other))
        .isInstanceOf(MalformedRecordException.class);
    try (var files = Files.list(other)) {
      assertThat(files).isEmpty();
    }
  }

  /** Returns the texts of files; of models, whose files differ each time, that they are there. */
  private static Map<Path, String> contents(Path folder) throws IOException {
    Map<Path, String> contents = new TreeMap<>();
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        boolean isText = file.toString().endsWith(".jsonl");
        contents.put(file, isText ? Files.readString(file) : "");
      }
    }
    return contents;
  }

  /** The log of another prefix, or of a workload that there is not; it has models as any other. */
  private record WithoutEvents(LogRecords records) implements LogRecords {
    @Override
    public boolean has(TopicType<?> kind) {
      return true;
    }

    @Override
    public <V> void read(TopicType<V> kind, Consumer<? super V> each) {}

    @Override
    public Map<String, ModelBundle> models() throws IOException {
      return records.models();
    }
  }

  @Test
  void a_log_without_events_leaves_an_earlier_export_as_it_is() throws IOException {
    Map<Path, String> before = contents(directory);
    assertThat(before).hasSizeGreaterThanOrEqualTo(7);
    assertThat(Export.write(new WithoutEvents(ExportFolder.of(directory)), directory)).isEmpty();
    assertThat(contents(directory)).isEqualTo(before);
  }

  @Test
  void an_export_that_fails_leaves_an_earlier_one_as_it_is() throws IOException {
    Path other = directory.resolve("other");
    Export.write(new RandomEvents(8, RandomEvents.BURSTS, "feed").go(3).records(), other);
    Map<Path, String> before = contents(other);
    // The events come last.
    Path events = directory.resolve("events.jsonl");
    Files.writeString(events, Files.readString(events) + "{");
    assertThatThrownBy(() -> Export.write(ExportFolder.of(directory), other))
        .isInstanceOf(MalformedRecordException.class);
    assertThat(contents(other)).isEqualTo(before);
  }

  @Test
  void an_export_may_replace_the_folder_that_it_reads() throws IOException {
    Map<Path, String> before = contents(directory);
    Export.write(ExportFolder.of(directory), directory);
    assertThat(contents(directory)).isEqualTo(before);
  }

  @Test
  void models_of_an_earlier_export_do_not_stay() throws IOException {
    Path models = directory.resolve(ExportFolder.MODELS);
    Map<Path, String> before = contents(models);
    Path earlier = Files.writeString(models.resolve("0a".repeat(32) + ".avro"), "");
    Path own = Files.writeString(models.resolve("notes.txt"), "");
    Export.write(new RandomEvents(7, RandomEvents.BURSTS, "feed").go(12).records(), directory);
    assertThat(earlier).doesNotExist();
    assertThat(own).exists();
    Files.delete(own);
    assertThat(contents(models).keySet()).isEqualTo(before.keySet());
  }

  /** Every line is read as a record, or gives an error with a message. */
  @Property(tries = 100)
  void no_line_breaks_the_reader(@ForAll long seed) {
    Random random = new Random(seed);
    var records =
        new RandomEvents(Math.floorMod(seed, 5), RandomEvents.BURSTS, "feed").go(4).records();
    for (TopicType<?> kind : LogRecords.NAMES.keySet()) {
      if (!records.all(kind).isEmpty()) {
        fuzz(kind, records.all(kind).get(0), random);
      }
    }
  }

  private static <V> void fuzz(TopicType<V> kind, Object value, Random random) {
    JsonLines<V, ?> lines = new JsonLines<>(kind.codec());
    @SuppressWarnings("unchecked") // it is a record of this kind
    byte[] bytes = lines.write((V) value).getBytes(StandardCharsets.UTF_8);
    for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
      int at = random.nextInt(bytes.length);
      bytes[at] =
          switch (random.nextInt(4)) {
            case 0 -> (byte) random.nextInt();
            case 1 -> (byte) "0123456789-.e{}[]\",:nulltrue".charAt(random.nextInt(28));
            case 2 -> bytes[random.nextInt(bytes.length)];
            default -> (byte) ' ';
          };
    }
    String line = new String(bytes, StandardCharsets.UTF_8);
    if (random.nextInt(4) == 0) {
      line = line.substring(0, random.nextInt(line.length()));
    }
    try {
      assertThat(lines.read(line)).isNotNull();
    } catch (IllegalArgumentException e) {
      assertThat(e.getMessage()).isNotBlank();
    }
  }
}
