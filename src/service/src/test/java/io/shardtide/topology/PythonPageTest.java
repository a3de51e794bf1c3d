package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Pages show Python and Java that is in the files that CI runs, and name modules that there are.
 */
class PythonPageTest {
  static final Path PAGE = Path.of("docs/CLIENTS.md");

  private static List<String> all(String pattern) throws IOException {
    List<String> found = new ArrayList<>();
    List<Path> pages = new ArrayList<>(List.of(Path.of("README.md")));
    try (Stream<Path> docs = Files.list(Path.of("docs"))) {
      docs.filter(page -> page.toString().endsWith(".md")).sorted().forEach(pages::add);
    }
    for (Path page : pages) {
      Pattern.compile(pattern)
          .matcher(Files.readString(page))
          .results()
          .map((MatchResult match) -> match.group(1))
          .forEach(found::add);
    }
    return found;
  }

  @Test
  void shown_code_is_in_the_files() throws IOException {
    List<String> files = new ArrayList<>();
    for (String folder : List.of("src/python", "examples")) {
      try (Stream<Path> programs = Files.walk(Path.of(folder))) {
        for (Path program : programs.filter(p -> p.toString().matches(".*\\.(py|java)")).toList()) {
          files.add(Files.readString(program));
        }
      }
    }
    List<String> shown = all("```(?:python|java)\n([^`]*)```");
    assertThat(shown).hasSizeGreaterThan(8);
    assertThat(shown).allSatisfy(code -> assertThat(files).anyMatch(file -> file.contains(code)));
  }

  @Test
  void the_package_has_the_version_of_the_jar() throws IOException {
    Matcher jar =
        Pattern.compile("<version>([0-9.]+)(-SNAPSHOT)?</version>")
            .matcher(Files.readString(Path.of("pom.xml")));
    assertThat(jar.find()).isTrue();
    assertThat(Files.readString(Path.of("src/python/shardtide/__init__.py")))
        .contains(
            "__version__ = \"%s%s\"".formatted(jar.group(1), jar.group(2) == null ? "" : ".dev0"));
  }

  @Test
  void named_commands_exist() throws IOException {
    String commands = Files.readString(Path.of("src/python/shardtide/command.py"));
    assertThat(all("shardtide-py (\\w+)"))
        .hasSizeGreaterThan(4)
        .allSatisfy(command -> assertThat(commands).contains("    \"%s\": (".formatted(command)));
  }

  @Test
  void named_modules_exist() throws IOException {
    List<String> modules = all("(?:python |nproc-per-node \\d+ )-m (shardtide[\\w.]*)");
    assertThat(modules).isNotEmpty();
    assertThat(modules)
        .allSatisfy(
            module -> {
              Path file = Path.of("src/python", module.replace('.', '/'));
              assertThat(List.of(file.resolve("__main__.py"), Path.of(file + ".py")))
                  .anyMatch(Files::exists);
            });
  }
}
