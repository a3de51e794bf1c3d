package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The help of every command, and the completion of the shell. */
class HelpTest {
  private static final int WIDTH = 100;

  /** Returns all commands with a class of ours, subcommands included. */
  private static List<CommandLine> commands() {
    List<CommandLine> found = new ArrayList<>();
    collect(Shardtide.withAllCommands(), found);
    return found;
  }

  private static void collect(CommandLine command, List<CommandLine> found) {
    if (command.getCommand() instanceof CommandLine.HelpCommand) {
      return;
    }
    found.add(command);
    command.getSubcommands().values().forEach(sub -> collect(sub, found));
  }

  /** Returns the commands that the help shows as examples, each on one line. */
  private static List<String> examples(CommandLine command) {
    String footer = String.join("\n", command.getCommandSpec().usageMessage().footer());
    return footer
        .replaceAll(" *\\\\\n *", " ")
        .lines()
        .filter(line -> line.contains("shardtide "))
        .map(line -> line.replaceAll("^.*?shardtide |\\)$| > .*$", ""))
        .toList();
  }

  @Test
  void every_command_has_an_example_that_parses() {
    assertThat(commands()).hasSizeGreaterThan(30);
    // To make all commands takes a tenth of a second.
    CommandLine all = Shardtide.withAllCommands();
    for (CommandLine command : commands()) {
      String name = command.getCommandSpec().qualifiedName().replaceFirst("^shardtide ?", "");
      List<String> examples = examples(command);
      assertThat(examples).as(name).isNotEmpty();
      for (String example : examples) {
        assertThat(example).as("its own command").startsWith(name);
        // Throws a ParameterException that names what is wrong.
        all.parseArgs(example.split(" +", -1));
      }
    }
  }

  /** Values are checked before a cluster is asked: of one that does not answer, examples say so. */
  @Test
  void every_example_with_a_cluster_has_values_that_are_accepted() {
    int run = 0;
    for (CommandLine command : commands()) {
      for (String example : examples(command)) {
        boolean isOfFiles = example.matches(".*(--log|replay|-f) .*");
        if (command.getCommandSpec().findOption("--registry") != null && !isOfFiles) {
          String typed =
              example.replace(" --links links.json", "")
                  + " -b 127.0.0.1:9 --registry http://127.0.0.1:9 --timeout 1";
          StringWriter err = new StringWriter();
          int status =
              Shardtide.run(
                  new PrintWriter(new StringWriter()), new PrintWriter(err), typed.split(" +", -1));
          assertThat(err.toString()).as(typed).contains("127.0.0.1:9 did not answer");
          assertThat(status).as(typed).isEqualTo(1);
          run++;
        }
      }
    }
    assertThat(run).as("examples").isGreaterThan(15);
  }

  @Test
  void the_examples_of_plan_plan(@TempDir Path folder) throws IOException {
    Path workloads =
        Files.writeString(
            folder.resolve("workloads.jsonl"),
            "{\"task\":\"t\",\"cluster\":{\"devices\":2,\"memoryBytesPerDevice\":1000000000,\"batchSize\":65536,\"hardware\":\"h200\"},\"tables\":[{\"name\":\"a\",\"rows\":1000,\"columns\":64,\"poolingFactor\":1}]}");
    CommandLine plan = Shardtide.withAllCommands().getSubcommands().get("plan");
    for (String example : examples(plan.getSubcommands().get("make"))) {
      StringWriter err = new StringWriter();
      assertThat(
              Shardtide.run(
                  new PrintWriter(new StringWriter()),
                  new PrintWriter(err),
                  example
                      .replace("workloads.jsonl", workloads.toString())
                      .replace("plans.jsonl", folder.resolve("plans.jsonl").toString())
                      .split(" +", -1)))
          .as("%s: %s", example, err)
          .isZero();
    }
    assertThat(folder.resolve("plans.jsonl")).isNotEmptyFile();
  }

  @Test
  void help_fits_100_columns_and_examples_are_on_lines_of_their_own() {
    for (CommandLine command : commands()) {
      String help = command.getUsageMessage(CommandLine.Help.Ansi.OFF);
      assertThat(help.lines())
          .as(command.getCommandSpec().qualifiedName())
          .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(WIDTH));
      for (String line : command.getCommandSpec().usageMessage().footer()) {
        assertThat(help.lines().map(String::stripTrailing))
            .as("an unbroken line")
            .contains(line.stripTrailing());
      }
    }
  }

  /** The script in a real bash: what the TAB key would offer. */
  @Test
  void bash_completes_commands_and_options(@TempDir Path folder) throws Exception {
    assumeThat(Path.of("/bin/bash")).exists();
    StringWriter out = new StringWriter();
    assertThat(
            Shardtide.run(new PrintWriter(out), new PrintWriter(new StringWriter()), "completion"))
        .isZero();
    Path script = Files.writeString(folder.resolve("completion.bash"), out.toString());
    assertThat(offered(script, "doc")).containsExactly("doctor");
    assertThat(offered(script, "model", "ro")).containsExactly("rollback");
    assertThat(offered(script, "doctor", "--c")).containsExactly("--config");
    assertThat(offered(script, "rights", "--role", "v")).containsExactly("viewer");
  }

  private static List<String> offered(Path script, String... words)
      throws IOException, InterruptedException {
    Process bash =
        new ProcessBuilder(
                "/bin/bash",
                "-c",
                "source '%s'; COMP_WORDS=(shardtide %s); COMP_CWORD=%d; _complete_shardtide; printf '%%s\\n' \"${COMPREPLY[@]}\""
                    .formatted(script, String.join(" ", words), words.length))
            // The function warns that no TAB key was pressed.
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    String printed = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(bash.waitFor(30, TimeUnit.SECONDS)).isTrue();
    return printed.lines().map(String::strip).filter(line -> !line.isEmpty()).toList();
  }
}
