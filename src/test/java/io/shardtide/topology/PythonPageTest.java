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

/** The page for Python shows what is in the files that CI runs, and names files that there are. */
class PythonPageTest {
  static final Path PAGE = Path.of("docs/PYTHON.md");

  private static List<String> all(String pattern) throws IOException {
    return Pattern.compile(pattern)
        .matcher(Files.readString(PAGE))
        .results()
        .map((MatchResult match) -> match.group(1))
        .toList();
  }

  @Test
  void its_code_is_in_the_files() throws IOException {
    List<String> files = new ArrayList<>();
    try (Stream<Path> scripts = Files.walk(Path.of("src/main/python"))) {
      for (Path script : scripts.filter(s -> s.toString().endsWith(".py")).toList()) {
        files.add(Files.readString(script));
      }
    }
    List<String> shown = all("```python\n([^`]*)```");
    assertThat(shown).hasSizeGreaterThan(5);
    assertThat(shown).allSatisfy(code -> assertThat(files).anyMatch(file -> file.contains(code)));
  }

  @Test
  void the_package_has_the_version_of_the_jar() throws IOException {
    Matcher jar =
        Pattern.compile("<version>([0-9.]+)(-SNAPSHOT)?</version>")
            .matcher(Files.readString(Path.of("pom.xml")));
    assertThat(jar.find()).isTrue();
    assertThat(Files.readString(Path.of("src/main/python/shardtide/__init__.py")))
        .contains(
            "__version__ = \"%s%s\"".formatted(jar.group(1), jar.group(2) == null ? "" : ".dev0"));
  }

  @Test
  void what_it_names_exists() throws IOException {
    List<String> links = all("\\]\\((\\.\\./[^)#]+)");
    List<String> modules = all("python -m (shardtide\\S*)");
    assertThat(links).hasSizeGreaterThan(5);
    assertThat(modules).hasSizeGreaterThan(2);
    assertThat(links).allSatisfy(link -> assertThat(PAGE.resolveSibling(link)).exists());
    assertThat(modules)
        .allSatisfy(
            module -> {
              Path file = Path.of("src/main/python", module.replace('.', '/'));
              assertThat(List.of(file.resolve("__main__.py"), Path.of(file + ".py")))
                  .anyMatch(Files::exists);
            });
  }
}
