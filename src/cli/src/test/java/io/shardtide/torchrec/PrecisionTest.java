package io.shardtide.torchrec;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.torchrec.Target.Processor;
import io.shardtide.workload.ShardKind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** What TorchRec sends, by the cells that Python's test_torchrec_limits.py runs on TorchRec. */
class PrecisionTest {
  private static final Path CELLS = Path.of("src/cli/src/test/resources/torchrec/codecs.json");

  @Test
  void each_cell_is_that_of_the_file() throws IOException {
    JsonNode rows = new ObjectMapper().readTree(CELLS.toFile());
    assertThat(rows).hasSize(Precision.values().length * Processor.values().length);
    for (JsonNode row : rows) {
      Precision precision = Precision.valueOf(upper(row.get("codec")));
      Processor processor = Processor.valueOf(upper(row.get("processor")));
      for (ShardKind kind : ShardKind.values()) {
        if (kind == ShardKind.DATA_PARALLEL || kind == ShardKind.PARTIAL_ROW_WISE) {
          continue;
        }
        assertThat(precision.serves(kind.scope(), processor))
            .as("%s of %s on %s", kind, precision, processor)
            .isEqualTo(row.get("kinds").toString().contains("\"" + kind.label() + "\""));
      }
    }
  }

  private static String upper(JsonNode text) {
    return text.textValue().toUpperCase(Locale.ROOT);
  }
}
