package io.shardtide;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.shardtide.testing.Python;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The Python package: with PyTorch, processes of torch.distributed over gloo, and as pip installs
 * it. {@code .ci/run} installs what it needs into {@code .venv}.
 */
class PythonPackageIT {
  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "test_collect.py",
        "test_collect_plans.py",
        "test_dense_memory.py",
        "test_dlrm.py",
        "test_dlrm_groups.py",
        "test_links.py",
        "test_package.py",
        "test_profile.py",
        "test_profile_input.py",
        "test_profile_order.py",
        "test_ranks.py",
        "test_schemas.py",
        "test_torchrec_source.py"
      })
  void python_tests_succeed(String file) throws Exception {
    assumeTrue(Python.has("torch"), "PyTorch is not installed");
    // The report names the tests that were skipped for want of another package.
    System.out.print(Python.test(folder, Map.of(), file));
  }
}
