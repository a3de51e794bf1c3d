package io.shardtide;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.Architectures;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The tree is the architecture, and data flows one way. */
@AnalyzeClasses(
    packages = "io.shardtide",
    importOptions = {ImportOption.DoNotIncludeTests.class, ArchitectureTest.NoTestJars.class})
class ArchitectureTest {
  private static final String BASE = "io.shardtide.";

  /** Leaves out what tests begin with. */
  static final class NoTestJars implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("-tests.jar") && !location.contains("/io/shardtide/testing/");
    }
  }

  /** Who may import whom; a package that is not named by another is imported by nobody. */
  @ArchTest
  static final ArchRule packages_import_in_one_direction =
      Architectures.layeredArchitecture()
          .consideringOnlyDependenciesInLayers()
          .layer("domain")
          .definedBy(BASE + "domain")
          .layer("domain.pool")
          .definedBy(BASE + "domain.pool")
          .layer("allocation")
          .definedBy(BASE + "allocation")
          .layer("allocation.choice")
          .definedBy(BASE + "allocation.choice")
          .layer("files")
          .definedBy(BASE + "files")
          .layer("config")
          .definedBy(BASE + "config")
          .layer("cost")
          .definedBy(BASE + "cost")
          .layer("retraining")
          .definedBy(BASE + "cost.retraining")
          .layer("tensorflow")
          .definedBy(BASE + "cost.tensorflow")
          .layer("samples")
          .definedBy(BASE + "samples")
          .layer("neuroshard")
          .definedBy(BASE + "neuroshard")
          .layer("search")
          .definedBy(BASE + "search")
          .layer("search.codecs")
          .definedBy(BASE + "search.codecs")
          .layer("search.reference")
          .definedBy(BASE + "search.reference")
          .layer("search.local")
          .definedBy(BASE + "search.local")
          .layer("planning")
          .definedBy(BASE + "planning")
          .layer("avro")
          .definedBy(BASE + "avro")
          .layer("tls")
          .definedBy(BASE + "tls")
          .layer("models")
          .definedBy(BASE + "models")
          .layer("wire")
          .definedBy(BASE + "wire")
          .layer("log")
          .definedBy(BASE + "log")
          .layer("client")
          .definedBy(BASE + "client")
          .layer("learning")
          .definedBy(BASE + "learning")
          .layer("torchrec")
          .definedBy(BASE + "torchrec")
          .layer("topology")
          .definedBy(BASE + "topology")
          .layer("replay")
          .definedBy(BASE + "replay")
          .layer("embedded")
          .definedBy(BASE + "embedded")
          .layer("views")
          .definedBy(BASE + "views")
          .layer("web")
          .definedBy(BASE + "web")
          .layer("bench")
          .definedBy(BASE + "bench")
          .layer("bench.learning")
          .definedBy(BASE + "bench.learning")
          .layer("bench.service")
          .definedBy(BASE + "bench.service")
          .layer("bench.soak")
          .definedBy(BASE + "bench.soak")
          .layer("cli")
          .definedBy(BASE + "cli")
          .whereLayer("domain")
          .mayNotAccessAnyLayer()
          .whereLayer("domain.pool")
          .mayOnlyAccessLayers("domain")
          .whereLayer("allocation")
          .mayOnlyAccessLayers("allocation.choice", "search", "cost", "domain.pool", "domain")
          .whereLayer("allocation.choice")
          .mayNotAccessAnyLayer()
          .whereLayer("files")
          .mayNotAccessAnyLayer()
          .whereLayer("config")
          .mayOnlyAccessLayers("domain.pool", "domain", "files")
          .whereLayer("cost")
          .mayOnlyAccessLayers("domain")
          .whereLayer("retraining")
          .mayOnlyAccessLayers("cost", "domain")
          .whereLayer("tensorflow")
          .mayOnlyAccessLayers("cost", "domain")
          .whereLayer("samples")
          .mayOnlyAccessLayers("cost", "domain", "files")
          .whereLayer("neuroshard")
          .mayOnlyAccessLayers("samples", "cost", "domain", "files")
          .whereLayer("search")
          .mayOnlyAccessLayers("cost", "domain")
          .whereLayer("search.reference")
          .mayOnlyAccessLayers("search", "cost", "domain")
          .whereLayer("search.local")
          .mayOnlyAccessLayers("search", "cost", "domain")
          .whereLayer("search.codecs")
          .mayOnlyAccessLayers("search.local", "search", "cost", "domain")
          .whereLayer("planning")
          .mayOnlyAccessLayers("search.local", "search", "cost", "domain")
          .whereLayer("learning")
          .mayOnlyAccessLayers("cost", "domain")
          .whereLayer("avro")
          .mayNotAccessAnyLayer()
          .whereLayer("wire")
          .mayOnlyAccessLayers("models", "avro", "tls", "cost", "domain.pool", "domain")
          .whereLayer("models")
          .mayOnlyAccessLayers("avro", "cost", "domain")
          .whereLayer("tls")
          .mayNotAccessAnyLayer()
          .whereLayer("log")
          .mayOnlyAccessLayers("wire", "domain")
          .whereLayer("client")
          .mayOnlyAccessLayers("log", "wire", "tls", "cost", "domain.pool", "domain")
          .whereLayer("torchrec")
          .mayOnlyAccessLayers("domain")
          .whereLayer("topology")
          .mayOnlyAccessLayers(
              "allocation",
              "planning",
              "learning",
              "log",
              "wire",
              "tls",
              "cost",
              "domain.pool",
              "domain",
              "config")
          .whereLayer("replay")
          .mayOnlyAccessLayers(
              "allocation", "planning", "models", "wire", "cost", "domain.pool", "domain", "files")
          .whereLayer("embedded")
          .mayNotAccessAnyLayer()
          .whereLayer("views")
          .mayOnlyAccessLayers("client", "learning", "log", "wire", "cost", "domain.pool", "domain")
          .whereLayer("web")
          .mayOnlyAccessLayers("views", "domain")
          .whereLayer("bench")
          .mayOnlyAccessLayers(
              "allocation",
              "domain.pool",
              "search.local",
              "search.reference",
              "search",
              "neuroshard",
              "learning",
              "models",
              "wire",
              "tensorflow",
              "cost",
              "domain")
          .whereLayer("bench.learning")
          .mayOnlyAccessLayers(
              "planning", "learning", "replay", "search.local", "search", "cost", "domain")
          .whereLayer("bench.service")
          .mayOnlyAccessLayers(
              "bench",
              "client",
              "log",
              "learning",
              "topology",
              "views",
              "web",
              "embedded",
              "models",
              "wire",
              "tensorflow",
              "planning",
              "search",
              "cost",
              "domain.pool",
              "domain",
              "config")
          .whereLayer("bench.soak")
          .mayOnlyAccessLayers(
              "bench",
              "client",
              "replay",
              "log",
              "embedded",
              "models",
              "wire",
              "tensorflow",
              "cost",
              "domain")
          .whereLayer("cli")
          .mayNotBeAccessedByAnyLayer();

  /** The distribution does not contain these; pom.xml excludes them from its jar. */
  @ArchTest
  static final ArchRule the_distribution_needs_nothing_that_only_a_checkout_has =
      noClasses()
          .that(not(onlyInACheckout()))
          .should()
          .dependOnClassesThat(onlyInACheckout())
          .orShould()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "org.openjdk.jmh..", "org.apache.kafka.server..", "kafka..", "scala..");

  @ArchTest
  static final ArchRule packages_have_no_cycles =
      slices().matching("io.shardtide.(**)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule the_domain_is_plain_java =
      noClasses()
          .that()
          .resideInAPackage(BASE + "domain..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages("java..", BASE + "domain..");

  @ArchTest
  static final ArchRule tensorflow_stays_in_its_room =
      onlyIn("org.tensorflow..", BASE + "cost.tensorflow");

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
          BASE + "trainer.live",
          BASE + "bench.service",
          BASE + "bench.soak",
          BASE + "cli");

  @ArchTest
  static final ArchRule the_solver_stays_in_its_room =
      onlyIn("org.ojalgo..", BASE + "allocation.choice");

  @ArchTest
  static final ArchRule http_servers_stay_in_their_rooms =
      onlyIn("org.eclipse.jetty..", BASE + "web", BASE + "embedded");

  @ArchTest
  static final ArchRule metrics_stay_in_their_rooms =
      onlyIn("io.micrometer..", BASE + "topology", BASE + "cli");

  @ArchTest
  static final ArchRule the_command_line_stays_in_its_room = onlyIn("picocli..", BASE + "cli");

  /** What decides about plans knows no time and no chance: both are given to it. */
  @ArchTest
  static final ArchRule plans_do_not_depend_on_clocks_or_chance =
      noClasses()
          .that()
          .resideInAnyPackage(
              BASE + "domain",
              BASE + "cost",
              BASE + "domain.pool",
              BASE + "search..",
              BASE + "allocation..",
              BASE + "planning",
              BASE + "learning",
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

  private static DescribedPredicate<JavaClass> onlyInACheckout() {
    return resideInAnyPackage(BASE + "embedded", BASE + "bench..")
        .or(nameMatching(BASE.replace(".", "\\.") + "cli\\.(Demo|Bench).*"))
        .as("are in a source checkout only");
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
