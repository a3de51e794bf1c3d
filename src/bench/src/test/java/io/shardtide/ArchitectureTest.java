package io.shardtide;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.shardtide.wire.ForUpgradeFrom;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The tree is the architecture, and data flows one way. */
@AnalyzeClasses(
    packages = "io.shardtide",
    importOptions = {ImportOption.DoNotIncludeTests.class, ArchitectureTest.NoTestJars.class})
class ArchitectureTest {
  private static final String BASE = "io.shardtide.";

  private static final String[] VALUES = {
    BASE + "workload", BASE + "plan", BASE + "state", BASE + "pool"
  };

  /** The ledger of what can go when 0.2.0 may no longer be upgraded in one step. */
  @ArchTest
  static void serves_upgrades(JavaClasses classes) {
    assertThat(
            classes.stream()
                .flatMap(
                    type ->
                        Stream.concat(
                            type.isAnnotatedWith(ForUpgradeFrom.class)
                                ? Stream.of(type.getSimpleName())
                                : Stream.of(),
                            type.getMembers().stream()
                                .filter(member -> member.isAnnotatedWith(ForUpgradeFrom.class))
                                .map(member -> type.getSimpleName() + "." + member.getName())))
                .distinct())
        .containsExactlyInAnyOrder(
            "DemoCommand.retrain",
            "Lossless",
            "PlanningHeaders",
            "PlanningTopology.tellAgain",
            "SettingsFile.earlierKeys",
            "StateCheck.createNew",
            "StoreName.isNew",
            "StoreSerdes.RELEASES",
            "TopicType.leastMessageBytes",
            "Topics.limitedTo");
  }

  /** Leaves out what tests begin with. */
  static final class NoTestJars implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("-tests.jar");
    }
  }

  /**
   * What each package of a module imports of the others of its module. Between modules, Maven's
   * graph says it.
   */
  private static final Map<String, String> IMPORTS =
      Map.ofEntries(
          entry("workload", ""),
          entry("plan", "workload"),
          entry("state", "plan workload"),
          entry("pool", "plan workload"),
          entry("files", ""),
          entry("option", "state plan workload"),
          entry("cost", "option state plan workload"),
          entry("cost.retraining", "cost state plan workload"),
          entry("search.problem", "cost option state plan workload"),
          entry("search.bound", "search.problem cost option state plan workload"),
          entry("search", "search.bound search.problem cost option state plan workload"),
          entry("allocation.choice", ""),
          entry(
              "allocation", "step allocation.choice search search.problem cost pool plan workload"),
          entry("step", "search search.problem cost option state plan workload"),
          entry("learn", "step cost option state plan workload"),
          entry("growth", "step cost state plan workload"),
          entry("cost.tensorflow", ""),
          entry("models", ""),
          entry("samples", ""),
          entry("tls", ""),
          entry("wire", "tls"),
          entry("log", ""),
          entry("client", "log"),
          entry("config", ""),
          entry("topology", "config"),
          entry("views", ""),
          entry("web", "views"),
          entry("replay", ""));

  private static final List<Set<String>> MODULES =
      List.of(
          Set.of("cost.tensorflow", "models", "samples"),
          Set.of("tls", "wire"),
          Set.of("log", "client"),
          Set.of("config", "topology", "views", "web"),
          Set.of("replay", "cli"));

  @ArchTest
  static void packages_of_a_module_import_in_one_direction(JavaClasses classes) {
    Set<String> wrong = new TreeSet<>();
    for (JavaClass type : classes) {
      String from = type.getPackageName().replace(BASE, "");
      if (IMPORTS.containsKey(from)) {
        Set<String> allowed = Set.of(IMPORTS.get(from).split(" ", -1));
        for (Dependency to : type.getDirectDependenciesFromSelf()) {
          String imported = to.getTargetClass().getPackageName().replace(BASE, "");
          if (!imported.equals(from)
              && module(imported).equals(module(from))
              && !allowed.contains(imported)) {
            wrong.add(from + " imports " + imported + ": " + to.getDescription());
          }
        }
      }
    }
    assertThat(wrong).isEmpty();
  }

  /** Returns the packages of a package's module; all of {@code core} that are not of another. */
  private static Set<String> module(String name) {
    return MODULES.stream()
        .filter(module -> module.contains(name))
        .findFirst()
        .orElse(IMPORTS.containsKey(name) ? IMPORTS.keySet() : Set.of(name));
  }

  @ArchTest
  static final ArchRule packages_have_no_cycles =
      slices().matching("io.shardtide.(**)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule values_are_plain_java =
      noClasses()
          .that()
          .resideInAnyPackage(VALUES)
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages(
              Stream.concat(Stream.of("java.."), Stream.of(VALUES)).toArray(String[]::new));

  @ArchTest
  static final ArchRule avro_stays_in_its_room =
      onlyIn("org.apache.avro..", BASE + "wire", BASE + "models", BASE + "avro");

  @ArchTest
  static final ArchRule the_registry_client_stays_in_its_rooms =
      onlyIn("io.confluent..", BASE + "wire", BASE + "embedded");

  @ArchTest
  static final ArchRule kafka_stays_in_its_rooms =
      onlyIn(
          "org.apache.kafka..",
          BASE + "topology",
          BASE + "log",
          BASE + "client",
          BASE + "views",
          BASE + "wire",
          BASE + "tls",
          BASE + "embedded",
          BASE + "bench.service",
          BASE + "bench.soak",
          BASE + "cli");

  @ArchTest
  static final ArchRule the_solver_stays_in_its_room =
      onlyIn("org.ojalgo..", BASE + "allocation.choice");

  /** Generated mappings ask it for others that have no constant {@code INSTANCE}. */
  @ArchTest
  static final ArchRule mapstruct_is_not_needed_at_run_time =
      noClasses().should().dependOnClassesThat().resideInAPackage("org.mapstruct.factory..");

  @ArchTest
  static final ArchRule metrics_stay_in_their_rooms =
      onlyIn("io.micrometer..", BASE + "topology", BASE + "cli");

  /** What decides about plans knows no time and no chance: both are given to it. */
  @ArchTest
  static final ArchRule plans_do_not_depend_on_clocks_or_chance =
      noClasses()
          .that()
          .resideInAnyPackage(
              BASE + "workload",
              BASE + "plan",
              BASE + "state",
              BASE + "option",
              BASE + "cost",
              BASE + "pool",
              BASE + "search..",
              BASE + "allocation..",
              BASE + "step",
              BASE + "learn",
              BASE + "replay")
          .should()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(java.time.Instant.class, "now")
          .orShould()
          .callMethod(Math.class, "random")
          .orShould()
          .callMethod(Math.class, "exp", double.class)
          .orShould()
          .callMethod(Math.class, "log", double.class)
          .orShould()
          .callMethod(Math.class, "pow", double.class, double.class)
          .orShould()
          .callMethod(Math.class, "fma", double.class, double.class, double.class)
          .orShould()
          .callMethod(Math.class, "fma", float.class, float.class, float.class)
          .orShould()
          .callMethod(java.util.Collection.class, "parallelStream");

  @ArchTest
  static void every_package_says_what_it_is_for(JavaClasses classes) {
    Set<String> packages = new TreeSet<>();
    for (JavaClass type : classes) {
      packages.add(type.getPackageName());
    }
    packages.remove(BASE + "avro");
    packages.removeIf(name -> name.endsWith(".jmh_generated"));
    assertThat(packages)
        .isNotEmpty()
        .allSatisfy(name -> assertThat(packageInfos(name)).as(name).isNotEmpty());
  }

  private static List<Path> packageInfos(String name) {
    try (Stream<Path> modules = Files.list(Path.of("src"))) {
      return modules
          .map(
              module ->
                  module
                      .resolve("src/main/java")
                      .resolve(name.replace('.', '/'))
                      .resolve("package-info.java"))
          .filter(Files::exists)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ArchTest
  static void no_room_is_a_cupboard(JavaClasses classes) {
    List<String> cupboards =
        List.of("util", "utils", "common", "internal", "impl", "manager", "helper", "helpers");
    for (JavaClass type : classes) {
      assertThat(type.getPackageName().split("\\.", -1)).doesNotContainAnyElementsOf(cupboards);
    }
  }

  private static ArchRule onlyIn(String library, String... rooms) {
    return noClasses()
        .that()
        .resideOutsideOfPackages(rooms)
        .should()
        .dependOnClassesThat()
        .resideInAPackage(library);
  }
}
