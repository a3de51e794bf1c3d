package io.shardtide;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.testing.Python;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The Python package with PyTorch: processes of torch.distributed over gloo. */
class PythonTorchIT {
  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"test_ranks.py", "test_collect.py"})
  void it_works_with_pytorch(String tests) throws Exception {
    assumeTrue(Python.has("torch"), "PyTorch is not installed; .ci/run installs it into .venv");
    // The report names the tests that were skipped for want of another package.
    System.out.print(Python.test(folder, Map.of(), tests));
  }
}
