package io.shardtide;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What names the version names the same one; {@code PythonPageTest} has the Python package. */
class ReleaseTest {
  private static String found(String file, String regex) throws IOException {
    Matcher matcher =
        Pattern.compile(regex, Pattern.MULTILINE).matcher(Files.readString(Path.of(file)));
    assertThat(matcher.find()).as("%s in %s", regex, file).isTrue();
    return matcher.group(1);
  }

  @Test
  void all_files_name_the_version_of_the_pom() throws IOException {
    String version = found("pom.xml", "^  <version>([^<]+)</version>");
    assertThat(found("docker/helm/Chart.yaml", "^version: (.+)$")).isEqualTo(version);
    assertThat(found("docker/helm/Chart.yaml", "^appVersion: (.+)$")).isEqualTo(version);
    assertThat(found("docs/CLIENTS.md", "^ *<version>([^<]+)</version>")).isEqualTo(version);
    String released = version.replace("-SNAPSHOT", "");
    assertThat(found("avro/asyncapi.yaml", "^  version: (.+)$")).isEqualTo(released);
    // A version in development is not in the changelog yet.
    if (version.equals(released)) {
      assertThat(found("CHANGELOG.md", "^## \\[(\\d[^]]*)] - \\d{4}-\\d{2}-\\d{2}$"))
          .isEqualTo(version);
      assertThat(found("docs/OPERATING.md", "^### To (.+)$")).isEqualTo(version);
    }
  }

  @Test
  void the_changelog_has_the_sections_of_keep_a_changelog() throws IOException {
    String log = Files.readString(Path.of("CHANGELOG.md"));
    assertThat(log).startsWith("# Changelog\n").contains("\n## [Unreleased]\n");
    assertThat(Pattern.compile("^### (.+)$", Pattern.MULTILINE).matcher(log).results())
        .extracting(result -> result.group(1))
        .isSubsetOf("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security");
  }
}
