package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * The page of commands is what their help says. Rewritten with {@code -Dcommands.write=true}; what
 * stands above the mark is written by hand.
 */
class CommandsPageTest {
  private static final Path PAGE = Path.of("docs/COMMANDS.md");
  private static final String MARK =
      "<!-- The rest is written by CommandsPageTest, from the help of the commands. -->\n";
  private static final int COLUMNS = 120;

  /** As many commands with the same option make it a common one. */
  private static final int COMMON = 3;

  /** The pages that say more of a command. */
  private static final Map<String, String> PAGES =
      Map.ofEntries(
          Map.entry("run", "[OPERATING](OPERATING.md)"),
          Map.entry("doctor", "[OPERATING](OPERATING.md#before-the-first-start)"),
          Map.entry("rights", "[DEPLOY](DEPLOY.md#rights)"),
          Map.entry("workload", "[CLIENTS](CLIENTS.md#from-a-shell)"),
          Map.entry("plan watch", "[CLIENTS](CLIENTS.md#from-a-shell)"),
          Map.entry("plan make", "[FILES](FILES.md)"),
          Map.entry("plan evaluate", "[TORCHREC](TORCHREC.md#predict-a-plan-of-torchrecs-planner)"),
          Map.entry("plan why", "[REPLAY](REPLAY.md#why-a-plan-is-as-it-is)"),
          Map.entry("model", "[MODELS](MODELS.md#fine-tuning-from-measured-steps)"),
          Map.entry("model train", "[MODELS](MODELS.md#train)"),
          Map.entry("model evaluate", "[MODELS](MODELS.md#check-before-you-trust-it)"),
          Map.entry("log export", "[OPERATING](OPERATING.md#when-something-is-lost)"),
          Map.entry("log replay", "[REPLAY](REPLAY.md)"),
          Map.entry("pool", "[POOLS](POOLS.md#the-command)"),
          Map.entry("pool why", "[POOLS](POOLS.md#reproducible)"),
          Map.entry("table forecast", "[GROWTH](GROWTH.md)"),
          Map.entry("bench", "[BENCHMARKS](BENCHMARKS.md)"));

  private static void collect(CommandLine command, List<CommandLine> found) {
    for (CommandLine sub : command.getSubcommands().values()) {
      if (!(sub.getCommand() instanceof CommandLine.HelpCommand)) {
        found.add(sub);
        collect(sub, found);
      }
    }
  }

  private static String name(CommandLine command) {
    return command.getCommandSpec().qualifiedName().replaceFirst("^shardtide ", "");
  }

  private static String join(String... lines) {
    return String.join(" ", lines).strip();
  }

  private static String firstSentence(CommandLine command) {
    return join(command.getCommandSpec().usageMessage().description())
        .replaceFirst("(?<=[\\w)])\\. .*$", ".");
  }

  /** A row for an option or a parameter. */
  private static String row(ArgSpec arg) {
    String label =
        arg instanceof OptionSpec option
            ? String.join("`, `", option.names())
                + (option.arity().max() == 0 ? "" : "=" + option.paramLabel())
            : arg.paramLabel();
    return "| `%s` | %s |\n"
        .formatted(label.replace("|", "\\|"), join(arg.description()).replace("|", "\\|"));
  }

  private static List<OptionSpec> options(CommandSpec spec) {
    return spec.options().stream()
        .filter(option -> !option.hidden())
        .sorted(
            Comparator.comparing(
                (OptionSpec option) ->
                    option.longestName().replace("-", "").toLowerCase(Locale.ROOT)))
        .toList();
  }

  private static String table(String header, List<String> rows) {
    return rows.isEmpty()
        ? ""
        : "\n| %s | meaning |\n|---|---|\n%s".formatted(header, String.join("", rows));
  }

  private static String code(String text) {
    return "\n```\n%s\n```\n".formatted(text.stripTrailing().stripIndent());
  }

  private static String wrapped(String text) {
    StringBuilder page = new StringBuilder();
    int column = 0;
    for (String word : text.split(" ", -1)) {
      if (column > 0 && column + 1 + word.length() > COLUMNS) {
        page.append('\n');
        column = 0;
      } else if (column > 0) {
        page.append(' ');
        column++;
      }
      page.append(word);
      column += word.length();
    }
    return page.append('\n').toString();
  }

  private static String section(CommandLine command, Map<String, Integer> uses) {
    CommandSpec spec = command.getCommandSpec();
    String name = name(command);
    List<String> rows = new ArrayList<>();
    for (PositionalParamSpec parameter : spec.positionalParameters()) {
      rows.add(row(parameter));
    }
    options(spec).stream()
        .map(CommandsPageTest::row)
        .filter(row -> uses.get(row) < COMMON)
        .forEach(rows::add);
    String more = PAGES.containsKey(name) ? " More: " + PAGES.get(name) + "." : "";
    String example =
        String.join("\n", spec.usageMessage().footer()).strip().replaceFirst("^Examples?:\n", "");
    Help help = new Help(spec, Help.defaultColorScheme(Help.Ansi.OFF));
    return "\n%s %s\n\n".formatted(name.contains(" ") ? "###" : "##", name)
        + wrapped(join(spec.usageMessage().description()) + more)
        + code(help.synopsis(0))
        + table("option", rows)
        + "\nExample:\n"
        + code(example);
  }

  private static String rendered() {
    List<CommandLine> commands = new ArrayList<>();
    collect(Shardtide.withAllCommands(), commands);
    Map<String, Integer> uses = new LinkedHashMap<>();
    for (CommandLine command : commands) {
      options(command.getCommandSpec()).forEach(option -> uses.merge(row(option), 1, Integer::sum));
    }
    StringBuilder page = new StringBuilder("\n| command | does |\n|---|---|\n");
    for (CommandLine command : commands) {
      String name = name(command);
      page.append(
          "| [`%s`](#%s) | %s |\n"
              .formatted(name, name.replace(' ', '-'), firstSentence(command).replace("|", "\\|")));
    }
    page.append(
        "\n## Options of many commands\n\nThe usage of a command says which of them it has.\n");
    page.append(
        table(
            "option",
            uses.entrySet().stream()
                .filter(entry -> entry.getValue() >= COMMON)
                .map(Map.Entry::getKey)
                .toList()));
    commands.forEach(command -> page.append(section(command, uses)));
    return page.toString();
  }

  @Test
  void the_page_is_what_the_help_says() throws IOException {
    String page = Files.readString(PAGE);
    int end = page.indexOf(MARK) + MARK.length();
    assertThat(end).as("the mark in %s", PAGE).isGreaterThanOrEqualTo(MARK.length());
    if (Boolean.getBoolean("commands.write")) {
      Files.writeString(PAGE, page.substring(0, end) + rendered());
    } else {
      assertThat(page.substring(end)).isEqualTo(rendered());
    }
  }
}
