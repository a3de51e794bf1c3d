package io.shardtide.topology;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.KafkaCluster;
import io.shardtide.testing.Python;
import io.shardtide.wire.Registry;
import io.shardtide.wire.Topics;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Training in Python goes on while a broker is killed and started again. */
@Tag("nightly")
class PythonOutageIT {
  private static final String PREFIX = "python-outage.";

  @TempDir private Path folder;

  @BeforeAll
  static void python() throws Exception {
    Python.assumeHas("confluent_kafka", "avro", "torch");
  }

  @Test
  void two_ranks_of_torch_never_wait_for_kafka() throws Exception {
    KafkaCluster kafka = KafkaCluster.of(folder.resolve("kafka"), 1).prepare();
    String broker = new ObjectMapper().writeValueAsString(kafka.brokers().get(0).command());
    try (DevelopmentRegistry server = DevelopmentRegistry.start(0, Optional.empty());
        Registry registry = Registry.connect(server.url(), Map.of())) {
      registry.register(Topics.withPrefix(PREFIX));
      System.out.print(
          Python.test(
              folder,
              Map.of("REGISTRY", server.url(), "PREFIX", PREFIX, "BROKER", broker),
              "test_outage.py"));
    }
  }
}
