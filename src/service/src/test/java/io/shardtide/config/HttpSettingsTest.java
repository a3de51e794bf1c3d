package io.shardtide.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where the dashboard is served, and its token. */
class HttpSettingsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "0.0.0.0",
        "::",
        "planner-1",
        "10.0.0.7",
        "127.0.0.1.example.org",
        "localhost.",
        "fe80::1"
      })
  void an_address_other_than_loopback_needs_a_token(String host) {
    assertThat(SettingsFileTest.problems(SettingsFileTest.LEAST + "http.host=" + host))
        .containsExactly(
            "http.host and http.token.file: host must be a loopback address unless there is a token, got %s and no token."
                .formatted(host));
    assertThatThrownBy(() -> new HttpSettings(host, 0, Optional.empty()))
        .hasMessageContaining("host must be a loopback address unless there is a token");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"localhost", "127.0.0.1", "127.8.9.10", "::1", "[::1]", "0:0:0:0:0:0:0:1"})
  void loopback_needs_no_token(String host) {
    assertThat(SettingsFileTest.parse("http.host=" + host).http().host()).isEqualTo(host);
  }

  @Test
  void an_invalid_token_is_reported_without_its_content(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("token");
    for (String bad : List.of("", "hunter2", "hunter2 hunter2 hunter2", "hunter2-hunter2-\u00e9")) {
      Files.writeString(file, bad);
      assertThat(
              SettingsFileTest.problems(
                  SettingsFileTest.LEAST + "http.host=0.0.0.0\nhttp.token.file=" + file))
          .singleElement()
          .asString()
          .startsWith("http.token.file must be a file that holds a token")
          .doesNotContain("hunter2");
    }
    assertThat(
            SettingsFileTest.problems(
                SettingsFileTest.LEAST + "http.token.file=" + folder.resolve("missing")))
        .singleElement()
        .asString()
        .contains("it is not a readable file");
    Files.writeString(file, "hunter2-hunter2-hunter2\n");
    ServiceSettings settings = SettingsFileTest.parse("http.token.file=" + file);
    assertThat(settings.toString()).doesNotContain("hunter2");
    Token token = settings.http().token().orElseThrow();
    assertThat(token.is("hunter2-hunter2-hunter2")).isTrue();
    assertThat(token.is("hunter2-hunter2-hunter")).isFalse();
    assertThat(token.is("")).isFalse();
  }
}
