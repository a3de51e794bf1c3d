package io.shardtide.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Names that commands and options had up to version 0.2, which are read for one release. */
final class OldNames {
  /**
   * Old words, among them options that tell commands apart, the new command, and its options that
   * had other names: none if it was one of a parameter, an equals sign at the end if the value
   * follows. The first line with all its words counts.
   */
  private static final String TABLE =
      """
      acls               > rights
      publish --delete   > workload delete : --delete=--reason
      publish --resize   > table resize    : --resize= --resize-reason=--reason
      publish            > workload apply  : --events=-f
      watch              > plan watch
      plan --predict     > plan evaluate   : --workloads=-f --predict=--plans
      plan --workloads --hardware > plan make : --workloads=-f --json=-o=jsonl
      plan --workloads   > plan make       : --workloads=-f
      pretrain           > model train
      evaluate           > model evaluate -o=json
      export             > log export      : --workload=--workload --out=
      replay             > log replay      : --workload=--workload --events=
      why --pool         > pool why        : --pool= --events=--log
      why                > plan why        : --events=--log
      models list        > model list
      models compare     > model compare
      models promote     > model promote
      models rollback    > model rollback  : --hardware=
      models             > model
      pools set          > pool apply      : --file=-f --devices-per-node=--set=devicesPerNode= \
      --memory-gib=--set=memoryGib= --host-memory-gib=--set=hostMemoryGib= --hardware=--set=hardware=
      pools show         > pool get        : --json=-o=jsonl
      pools claim        > pool claim      : --least=--min-devices --most=--max-devices
      pools withdraw     > pool delete
      pools lose         > pool node rm
      pools add          > pool node add
      pools list         > pool list       : --json=-o=jsonl
      pools watch        > pool watch
      pools              > pool
      forecasts          > table forecast  : --growth=--horizon-factor --json=-o=jsonl
      """;

  /** Options of many commands that have other names now. */
  private static final Map<String, String> OPTIONS =
      Map.of("--expecting", "--if-generation", "--workload", "");

  /** Options that no command has any more. */
  private static final Map<String, String> EVERYWHERE =
      Map.of(
          "--bootstrap",
          "--bootstrap-server",
          "--kafka-config",
          "--command-config",
          "--json",
          "-o=json");

  private OldNames() {}

  /** Returns arguments with the names of today. */
  static String[] replace(String... args) {
    for (String line : TABLE.lines().toList()) {
      String[] row = line.split("[>:]", -1);
      List<String> old = List.of(row[0].strip().split(" +", -1));
      int words = (int) old.stream().filter(word -> !word.startsWith("-")).count();
      List<String> given = Arrays.asList(args);
      if (args.length >= words
          && given.subList(0, words).equals(old.subList(0, words))
          && old.subList(words, old.size()).stream()
              .allMatch(option -> given.stream().anyMatch(arg -> isOption(arg, option)))) {
        Map<String, String> options = new HashMap<>(OPTIONS);
        options.putAll(EVERYWHERE);
        if (row.length > 2) {
          for (String option : row[2].strip().split(" +", -1)) {
            String[] names = option.split("=", 2);
            options.put(names[0], names[1]);
          }
        }
        return replace(row[1].strip(), given.subList(words, args.length), options);
      }
    }
    return replace("", Arrays.asList(args), EVERYWHERE);
  }

  private static boolean isOption(String arg, String option) {
    return arg.equals(option) || arg.startsWith(option + "=");
  }

  private static String[] replace(String command, List<String> args, Map<String, String> options) {
    List<String> all = new ArrayList<>();
    if (!command.isEmpty()) {
      all.addAll(List.of(command.split(" ", -1)));
    }
    int front = all.size();
    for (int i = 0; i < args.size(); i++) {
      String[] parts = args.get(i).split("=", 2);
      String name = options.get(parts[0]);
      if (name == null) {
        all.add(args.get(i));
      } else if (!name.isEmpty() && !name.endsWith("=")) {
        all.add(parts.length > 1 ? name + "=" + parts[1] : name);
      } else {
        String value =
            parts.length > 1 || i + 1 == args.size() ? parts[parts.length - 1] : args.get(++i);
        // A workload is the first parameter, wherever its option stood.
        all.add(parts[0].equals("--workload") ? front : all.size(), name + value);
      }
    }
    return all.toArray(String[]::new);
  }
}
