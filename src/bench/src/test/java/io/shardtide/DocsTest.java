package io.shardtide;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks every Markdown page: line length, links, and the tests that pages name. */
class DocsTest {
  private static final int MAX_COLUMNS = 120;
  private static final Pattern LINK = Pattern.compile("]\\((?!https?:)([^)#\\s]*)(#[^)\\s]*)?\\)");
  private static final Pattern VERSION =
      Pattern.compile(
          "<artifactId>shardtide(?:-[a-z]+)?</artifactId>\\s*<version>([^<]*)</version>");
  private static final Pattern TEST = Pattern.compile("`([A-Z]\\w*(?:Test|IT))(?:\\.\\w+)?`");

  private static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>(List.of(Path.of("README.md")));
    for (String folder :
        List.of("docs", "src", "avro", "docker", "examples", "models", "topologies")) {
      try (Stream<Path> files = Files.walk(Path.of(folder))) {
        files
            .filter(f -> f.toString().endsWith(".md") && !f.toString().contains("node_modules"))
            .forEach(pages::add);
      }
    }
    return pages;
  }

  @Test
  void prose_wraps_at_120_columns() throws IOException {
    List<String> tooLong = new ArrayList<>();
    for (Path page : pages()) {
      List<String> lines = Files.readAllLines(page);
      boolean isCode = false;
      for (int i = 0; i < lines.size(); i++) {
        String line = lines.get(i);
        isCode ^= line.startsWith("```");
        boolean isExempt = isCode || line.startsWith("|") || line.startsWith("    ");
        if (!isExempt && line.codePointCount(0, line.length()) > MAX_COLUMNS) {
          tooLong.add("%s:%d".formatted(page, i + 1));
        }
      }
    }
    assertThat(tooLong).isEmpty();
  }

  @Test
  void relative_links_lead_to_files_and_headings() throws IOException {
    List<String> broken = new ArrayList<>();
    for (Path page : pages()) {
      Matcher link = LINK.matcher(Files.readString(page));
      while (link.find()) {
        Path target =
            link.group(1).isEmpty() ? page : page.resolveSibling(link.group(1)).normalize();
        if (!Files.exists(target)
            || (link.group(2) != null && !anchors(target).contains(link.group(2)))) {
          broken.add("%s: %s".formatted(page, link.group()));
        }
      }
    }
    assertThat(broken).isEmpty();
  }

  @Test
  void the_readme_has_at_most_700_words() throws IOException {
    String readme = Files.readString(Path.of("README.md")).strip();
    assertThat(readme.split("\\s+")).hasSizeBetween(500, 700);
  }

  @Test
  void the_index_links_every_page_of_docs() throws IOException {
    String index = Files.readString(Path.of("docs/README.md"));
    try (Stream<Path> files = Files.list(Path.of("docs"))) {
      assertThat(files.map(f -> f.getFileName().toString()).filter(f -> f.endsWith(".md")))
          .filteredOn(f -> !f.equals("README.md"))
          .allSatisfy(f -> assertThat(index).contains("](" + f + ")"));
    }
  }

  @Test
  void pictures_have_less_than_300_kilobytes() throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("docs"))) {
      assertThat(files.filter(f -> f.toString().matches(".*\\.(png|svg|gif)")))
          .isNotEmpty()
          .allSatisfy(f -> assertThat(Files.size(f)).as("%s", f).isLessThan(300_000));
    }
  }

  @Test
  void programs_depend_on_the_version_of_the_build() throws IOException {
    String build = Files.readString(Path.of("pom.xml"));
    for (String page :
        List.of("examples/java/pom.xml", "examples/planning/pom.xml", "docs/CLIENTS.md")) {
      assertThat(version(Files.readString(Path.of(page))))
          .as("version of Shardtide in %s", page)
          .isEqualTo(version(build));
    }
  }

  private static String version(String text) {
    Matcher version = VERSION.matcher(text);
    assertThat(version.find()).isTrue();
    return version.group(1);
  }

  @Test
  void every_alert_has_its_section_of_the_run_book() throws IOException {
    String alerts = Files.readString(Path.of("docker/alerts.yaml"));
    List<String> sections =
        Pattern.compile("runbook_url: docs/RUNBOOK\\.md(#\\S+)")
            .matcher(alerts)
            .results()
            .map(r -> r.group(1))
            .toList();
    assertThat(sections).hasSize(alerts.split("- alert: ", -1).length - 1);
    assertThat(anchors(Path.of("docs/RUNBOOK.md"))).containsAll(sections);
  }

  /** The anchors that GitHub gives a page's headings. */
  private static Set<String> anchors(Path page) throws IOException {
    Set<String> anchors = new TreeSet<>();
    for (String line : Files.readAllLines(page)) {
      if (line.startsWith("#")) {
        String heading = line.replaceFirst("#+ ", "").toLowerCase(java.util.Locale.ROOT);
        anchors.add("#" + heading.replaceAll("[^\\w\\- ]", "").replace(' ', '-'));
      }
    }
    return anchors;
  }

  @Test
  void named_tests_exist() throws IOException {
    Set<String> tests = new TreeSet<>();
    try (Stream<Path> files = Files.walk(Path.of("src"))) {
      files
          .filter(f -> f.toString().contains("/src/test/"))
          .map(f -> f.getFileName().toString().replace(".java", ""))
          .forEach(tests::add);
    }
    Set<String> missing = new TreeSet<>();
    for (Path page : pages()) {
      Matcher test = TEST.matcher(Files.readString(page));
      while (test.find()) {
        if (!tests.contains(test.group(1))) {
          missing.add("%s: %s".formatted(page, test.group(1)));
        }
      }
    }
    assertThat(missing).isEmpty();
  }
}
