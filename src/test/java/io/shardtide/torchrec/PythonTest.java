package io.shardtide.torchrec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.testing.Python;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tests of what is written in Python; without torch, those that need it are skipped. */
class PythonTest {
  @TempDir private Path folder;

  @Test
  void the_rules_hold_in_python_too() throws Exception {
    assumeTrue(Python.has("json"), "Python is not installed");
    Python.Ended tests =
        Python.run(folder, "-m", "unittest", "-v", "src/test/python/test_torchrec.py");
    assertThat(tests.status()).as(tests.err()).isZero();
    // A run of no tests would end well too.
    assertThat(tests.err()).contains("Ran 17 tests").contains("\nOK");
    // A report says which could not be tried here.
    System.out.print(tests.err());
  }
}
