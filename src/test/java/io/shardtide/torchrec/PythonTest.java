package io.shardtide.torchrec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.testing.Python;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Python's own unit tests; those that need torch are skipped where it is not installed. */
class PythonTest {
  @TempDir private Path folder;

  @Test
  void plans_become_torchrec_plans_by_the_same_rules() throws Exception {
    assumeTrue(Python.has("json"), "Python is not installed");
    String printed = Python.test(folder, Map.of(), "test_torchrec.py");
    assertThat(printed).contains("Ran 17 tests");
    // A report says which could not be tried here.
    System.out.print(printed);
  }

  @Test
  void a_trainer_follows_plans_and_reports_in_the_background() throws Exception {
    assumeTrue(Python.has("json"), "Python is not installed");
    Python.test(folder, Map.of(), "test_trainer.py");
  }

  @Test
  void records_are_encoded_and_decoded() throws Exception {
    assumeTrue(Python.has("avro"), "Debian's python3-avro is not installed");
    Python.test(folder, Map.of(), "test_schemas.py");
  }
}
