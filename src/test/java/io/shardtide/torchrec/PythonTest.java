package io.shardtide.torchrec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.testing.Python;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the Python tests of the same rules; without torch, those that need it are skipped. */
class PythonTest {
  @TempDir private Path folder;

  @Test
  void the_python_client_follows_the_same_rules() throws Exception {
    assumeTrue(Python.has("json"), "Python is not installed");
    Python.Ended tests =
        Python.run(folder, "-m", "unittest", "-v", "src/test/python/test_torchrec.py");
    assertThat(tests.status()).as(tests.err()).isZero();
    // A run without tests would succeed, too.
    assertThat(tests.err()).contains("Ran 28 tests").contains("\nOK");
    // The report names the skipped tests.
    System.out.print(tests.err());
  }
}
