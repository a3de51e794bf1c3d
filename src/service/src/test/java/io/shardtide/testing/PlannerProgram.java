package io.shardtide.testing;

import io.shardtide.embedded.JavaProcess;
import io.shardtide.plan.SearchSettings;
import io.shardtide.state.PlanningSettings;
import io.shardtide.topology.PlannerParts;
import io.shardtide.topology.PlannerService;
import io.shardtide.wire.Extension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A planner as a process of its own, so that it can be killed. Arguments: the brokers, the
 * registry, the topics' prefix, the number of partitions, the folder for its state, how to plan
 * ({@link Planning}), and any settings of Kafka's clients as {@code name=value}, or {@link
 * #enabling}. Says that it runs on standard output.
 */
public final class PlannerProgram {
  /** What it says when both topologies have their partitions. */
  static final String READY = "planner runs";

  /** Returns the argument that enables an optional part of the planner. */
  public static String enabling(Extension extension) {
    return extension + ".enabled=true";
  }

  /** When plans are made. */
  public enum Planning {
    /** Every generation by itself, at once: the same plans in every run. */
    EACH,
    /** The defaults, but that the background search begins soon and is short. */
    BURSTS;

    private PlanningSettings settings() {
      return switch (this) {
        case EACH -> PlanningSettings.eachGeneration(SearchSettings.QUICK);
        case BURSTS ->
            new PlanningSettings(
                PlanningSettings.DEFAULTS.debounce(),
                PlanningSettings.DEFAULTS.longestWait(),
                SearchSettings.QUICK,
                Optional.of(Fixtures.settings(2_000, 50_000, 10, 0.1, 0, 100_000)),
                Duration.ofMillis(200),
                0,
                0);
      };
    }
  }

  private PlannerProgram() {}

  /**
   * Starts a planner in a process of its own.
   *
   * @param folder for what it prints
   * @param environment added to this process's own
   * @param arguments as described above
   */
  public static JavaProcess start(
      Path folder, Map<String, String> environment, List<String> arguments) throws IOException {
    Map<String, String> all = new HashMap<>(environment);
    all.put("TF_CPP_MIN_LOG_LEVEL", "2");
    List<String> command = new ArrayList<>(List.of(PlannerProgram.class.getName()));
    command.addAll(arguments);
    JavaProcess planner =
        JavaProcess.prepare(
            Files.createTempFile(Files.createDirectories(folder), "planner", ".out"),
            READY,
            List.of(
                "-Xmx512m",
                // These are started often and live for seconds.
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dorg.bytedeco.javacpp.maxphysicalbytes=0"),
            all,
            command);
    planner.start();
    return planner;
  }

  public static void main(String[] args) throws Exception {
    Map<String, String> kafka = new HashMap<>();
    List<String> more = new ArrayList<>(List.of(args).subList(6, args.length));
    Set<Extension> extensions = EnumSet.noneOf(Extension.class);
    for (Extension extension : Extension.values()) {
      if (more.remove(enabling(extension))) {
        extensions.add(extension);
      }
    }
    for (String setting : more) {
      int equals = setting.indexOf('=');
      kafka.put(setting.substring(0, equals), setting.substring(equals + 1));
    }
    TestSettings settings =
        TestSettings.of(args[0], args[1], args[2], Path.of(args[4]))
            .partitions(Integer.parseInt(args[3]))
            .planning(Planning.valueOf(args[5]).settings())
            .kafka(kafka);
    extensions.forEach(settings::with);
    PlannerService service =
        PlannerService.start(
            new PlannerParts(settings.build(), List.of(TestModels.bundle()), PlainTowers::new));
    Runtime.getRuntime().addShutdownHook(new Thread(service::close));
    while (!service.isRunning()) {
      Thread.sleep(10);
    }
    System.out.println(READY);
    Thread.currentThread().join();
  }
}
