package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.client.Endpoint;
import io.shardtide.files.MalformedFileException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** The file of {@code --command-config}. */
class KafkaConfigTest {
  @Command
  private static final class Connecting {
    @Mixin private ClusterOption cluster;
  }

  @TempDir private Path folder;

  private static ClusterOption with(Path file) throws IOException {
    Connecting command = new Connecting();
    new CommandLine(command)
        .parseArgs("--bootstrap-server=h:1", "--registry=http://r", "--command-config=" + file);
    command.cluster.check();
    return command.cluster;
  }

  @Test
  void passwords_are_utf8() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("client.properties"),
            """
            registry.basic.auth.credentials.source=USER_INFO
            registry.basic.auth.user.info=pub:secret-\u00fc
            ssl.key.password=\u8868\\u00e9
            """);
    Endpoint endpoint = with(file).endpoint();
    assertThat(endpoint.registry()).containsEntry("basic.auth.user.info", "pub:secret-\u00fc");
    assertThat(endpoint.clients(Map.of(), Map.of()))
        .containsEntry("ssl.key.password", "\u8868\u00e9");
  }

  @Test
  void another_encoding_is_named_with_its_line() throws IOException {
    Path file =
        Files.write(
            folder.resolve("client.properties"),
            "a=b\nc=\u00fc\n".getBytes(StandardCharsets.ISO_8859_1));
    assertThatThrownBy(() -> with(file))
        .isInstanceOf(MalformedFileException.class)
        .hasMessage(file + " line 2: text must be UTF-8, got byte 0xfc");
  }

  /** As {@code --command-config <(pass show kafka)} can be. */
  @Test
  void it_is_read_once() throws IOException {
    Path file = Files.writeString(folder.resolve("client.properties"), "security.protocol=SSL\n");
    ClusterOption cluster = with(file);
    Endpoint first = cluster.endpoint();
    Files.delete(file);
    assertThat(cluster.endpoint().clients(Map.of(), Map.of()))
        .containsEntry("security.protocol", "SSL")
        .isEqualTo(first.clients(Map.of(), Map.of()));
  }
}
