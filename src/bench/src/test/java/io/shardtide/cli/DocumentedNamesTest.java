package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The commands and options that pages name are there; {@code DocumentedCommandsIT} types some. */
class DocumentedNamesTest {
  private static final Pattern CALL = Pattern.compile("(?:\\./|[`$] ?)shardtide ([^`|;&>\n)]*)");
  private static final Pattern OPTION = Pattern.compile("(?<=^|[ \\[(])--[a-z][a-z-]*");

  /** The header of a table whose rows begin with subcommands. */
  private static final Pattern TABLE =
      Pattern.compile("\\| `\\./shardtide (\\w+) \\.\\.\\.`.*\n.*\n((?:\\|.*\n)+)");

  private final CommandLine all = Shardtide.withAllCommands();
  private final List<String> missing = new ArrayList<>();
  private int checked;

  private void check(Path page, String call) {
    CommandLine command = all;
    String[] typed = call.strip().split("\\s+");
    List<String> words = List.of(OldNames.replace(typed));
    for (String word : words) {
      if (command.getSubcommands().isEmpty() || !word.matches("[a-z]+")) {
        break;
      }
      if (!command.getSubcommands().containsKey(word)) {
        missing.add("%s: %s of %s".formatted(page, word, call));
        return;
      }
      command = command.getSubcommands().get(word);
    }
    Matcher option = OPTION.matcher(String.join(" ", words));
    while (option.find()) {
      if (!command.getCommandSpec().optionsMap().containsKey(option.group())) {
        missing.add("%s: %s of %s".formatted(page, option.group(), call));
      }
    }
    checked++;
  }

  private static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>(List.of(Path.of("README.md")));
    for (String folder : List.of("docs", "src", "docker", "examples", "models", "topologies")) {
      try (Stream<Path> files = Files.walk(Path.of(folder))) {
        files
            .filter(f -> f.toString().endsWith(".md") && !f.toString().contains("node_modules"))
            .forEach(pages::add);
      }
    }
    return pages;
  }

  @Test
  void pages_name_commands_and_options_that_exist() throws IOException {
    for (Path page : pages()) {
      String text = Files.readString(page).replaceAll(" *\\\\\n *", " ");
      CALL.matcher(text).results().forEach(call -> check(page, call.group(1)));
      TABLE
          .matcher(text)
          .results()
          .forEach(
              table ->
                  table
                      .group(2)
                      .lines()
                      .flatMap(row -> Stream.of(row.split("\\|", -1)[1].split("`, `", -1)))
                      .map(cell -> cell.replace("`", "").strip())
                      .forEach(cell -> check(page, table.group(1) + " " + cell)));
    }
    assertThat(missing).isEmpty();
    assertThat(checked).as("calls").isGreaterThan(60);
  }
}
