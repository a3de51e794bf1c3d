package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** Calls of version 0.2 mean what they meant. */
class OldNamesTest {
  private static final String HOST = " --bootstrap kafka:9092 --registry http://registry:8081";

  private static String now(String call) {
    return String.join(" ", OldNames.replace(call.split(" ", -1)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          acls --role viewer --principal User:x --pools | rights --role viewer --principal User:x --pools
          publish --events e.jsonl --source me | workload apply -f e.jsonl --source me
          publish --drop a --workload w --expecting 3 | workload apply w --drop a --if-generation 3
          publish --upsert name=a,rows=1 --cluster devices=2 --workload=w | workload apply w --upsert name=a,rows=1 --cluster devices=2
          publish --resize a=5 --workload w --resize b=6 --resize-reason full | table resize w a=5 b=6 --reason full
          publish --workload w --delete=over --json | workload delete w --reason=over -o=json
          watch --workload w --once --format json | plan watch w --once --format json
          plan --workloads w --out o --json | plan make -f w --out o -o=json
          plan --workloads w --hardware h200 --json | plan make -f w --hardware h200 -o=jsonl
          plan --workloads w --predict p --out o | plan evaluate -f w --plans p --out o
          pretrain --samples s --hardware h --out m | model train --samples s --hardware h --out m
          evaluate --samples s --model m | model evaluate -o=json --samples s --model m
          export --workload w --out dir | log export --workload w dir
          replay --events e --out o --workload w --what-if --cluster devices=3 | log replay e --out o --workload w --what-if --cluster devices=3
          why --workload w --generation 2 | plan why w --generation 2
          why --plan 4f --events e.jsonl --json | plan why --plan 4f --log e.jsonl -o=json
          why --pool p --events e.jsonl | pool why p --log e.jsonl
          models list --json | model list -o=json
          models compare a b --samples 9 | model compare a b --samples 9
          models promote a | model promote a
          models rollback --hardware h100 | model rollback h100
          pools set p --file f --links l | pool apply p -f f --links l
          pools set p --devices-per-node 8 --memory-gib 80 --hardware h --rack r=n | pool apply p --set=devicesPerNode=8 --set=memoryGib=80 --set=hardware=h --rack r=n
          pools claim p w --least 8 --most 16 | pool claim p w --min-devices 8 --max-devices 16
          pools withdraw p w | pool delete p w
          pools lose p n | pool node rm p n
          pools add p n --rack r | pool node add p n --rack r
          pools list --json | pool list -o=jsonl
          pools show p --json | pool get p -o=jsonl
          pools watch p --once | pool watch p --once
          forecasts --workload w --growth 2 --json | table forecast w --horizon-factor 2 -o=jsonl
          """)
  void a_call_of_today_is_parsed(String call, String expected) {
    assertThat(now(call)).isEqualTo(expected);
    CommandLine all = Shardtide.withAllCommands();
    all.parseArgs(expected.split(" ", -1));
    if (all.getParseResult().asCommandLineList().stream()
        .anyMatch(command -> command.getCommandSpec().findOption("--timeout") != null)) {
      all.parseArgs(now(call + HOST + " --kafka-config f --prefix p.").split(" ", -1));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "plan make -f w --out o --hardware h",
    "plan why w",
    "workload apply w --drop a",
    "pool list",
    "plan",
    "--help",
    "version",
    "bench latency"
  })
  void names_of_today_stay(String call) {
    assertThat(now(call)).isEqualTo(call);
  }

  @Test
  void json_was_an_option_of_commands_whose_names_stay() {
    assertThat(now("doctor --config f --json")).isEqualTo("doctor --config f -o=json");
  }

  @Test
  void an_option_at_the_end_is_no_error_here() {
    assertThat(now("watch --workload")).isEqualTo("plan watch --workload");
  }
}
