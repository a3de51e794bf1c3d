package io.shardtide.docker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.shardtide.config.ServiceSettings;
import io.shardtide.config.SettingsFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The chart as Helm renders it, read by a planner's own parser. {@code .ci/lint} unpacks Helm. */
class HelmChartTest {
  private static final Path HELM = Path.of("docker/lint/node_modules/.shardtide/helm/helm");

  @TempDir private Path folder;

  private static String run(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    return printed;
  }

  private static String helm(String... arguments) throws IOException, InterruptedException {
    assumeThat(HELM).as(".ci/lint unpacks it").exists();
    List<String> command = new ArrayList<>(List.of(HELM.toString(), "template", "t"));
    command.add("docker/helm");
    command.addAll(List.of(arguments));
    return run(command);
  }

  private static String one(String regex, String text) {
    Matcher matcher = Pattern.compile(regex, Pattern.MULTILINE).matcher(text);
    assertThat(matcher.find()).as(regex).isTrue();
    return matcher.group(1);
  }

  /** The lines of the ConfigMap and of a Secret, joined by the init container's own command. */
  @Test
  void the_settings_are_those_that_a_planner_reads() throws Exception {
    String rendered = helm("--values", "docker/helm/ci/everything.yaml");
    String properties =
        one("shardtide\\.properties: \\|\\n((?: {4}.*\\n)+)", rendered)
            .replaceAll("(?m)^ {4}", "")
            .replace("/etc/shardtide/http/token", folder.resolve("token").toString());
    Files.writeString(folder.resolve("token"), "0123456789abcdef\n");
    Path parts = Files.createDirectory(folder.resolve("settings"));
    Files.writeString(parts.resolve("shardtide.properties"), properties);
    // Without a line's end, as somebody's Secret may be.
    Files.writeString(parts.resolve("secret.properties"), "kafka.ssl.truststore.password=p");
    String join =
        one("- (umask 077; .*)$", rendered)
            .replace("/etc/shardtide/settings", parts.toString())
            .replace("/run/shardtide", folder.toString());
    assertThat(run(List.of("bash", "-c", join))).isEmpty();
    ServiceSettings settings =
        SettingsFile.read(
            folder.resolve("shardtide.properties"), warning -> {}, (key, value) -> {});
    assertThat(settings.endpoint().kafka())
        .containsEntry("security.protocol", "SASL_SSL")
        .containsEntry("ssl.truststore.password", "p");
    assertThat(settings.endpoint().prefix()).isEqualTo("recommender.");
    assertThat(settings.planning().deep().orElseThrow().repairEvaluations()).isEqualTo(2_000_000);
    assertThat(settings.http().port()).isEqualTo(9000);
    assertThat(settings.http().token()).isPresent();
  }

  /** A planner whose broker is away must not be restarted. */
  @Test
  void a_planner_is_restarted_for_its_process_only() throws Exception {
    String rendered = helm("--values", "docker/helm/ci/smallest.yaml");
    assertThat(one("livenessProbe:\\n *httpGet:\\n *path: (\\S+)", rendered)).isEqualTo("/live");
    assertThat(one("readinessProbe:\\n *httpGet:\\n *path: (\\S+)", rendered)).isEqualTo("/health");
    assertThat(rendered).contains("runAsNonRoot: true", "readOnlyRootFilesystem: true");
  }

  @Test
  void values_that_would_not_start_are_refused() throws Exception {
    assertThat(helm()).contains("bootstrapServers");
    assertThat(helm("--values", "docker/helm/ci/smallest.yaml", "--set", "replica=3"))
        .contains("additional properties 'replica' not allowed");
    assertThat(helm("--values", "docker/helm/ci/smallest.yaml", "--set", "secrets.token="))
        .contains("/secrets/token");
  }
}
