package io.shardtide.models;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.avro.CostModelBundle;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.InvalidModelException;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.specific.SpecificDatumWriter;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelFilesTest {
  private static final byte[] SHIPPED = read(Path.of("models/simulated.avro"));

  @TempDir private Path folder;
  private Path file;

  private static byte[] read(Path path) {
    try {
      return Files.readAllBytes(path);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @BeforeEach
  void file() {
    file = folder.resolve("model.avro");
  }

  @Test
  void a_bundle_survives_its_file() throws IOException {
    ModelFiles.write(ModelFiles.shipped(), folder.resolve("deep/model.avro"));
    ModelBundle read = ModelFiles.read(folder.resolve("deep/model.avro"));
    assertThat(read.modelId())
        .isEqualTo(ModelFiles.shipped().modelId())
        .isEqualTo(read.contentId());
    try (var files = Files.list(folder.resolve("deep"))) {
      assertThat(files).hasSize(1);
    }
  }

  @Test
  void the_same_bundle_gives_the_same_content_whatever_the_file() throws IOException {
    ModelFiles.write(ModelFiles.shipped(), file);
    ModelFiles.write(ModelFiles.shipped(), folder.resolve("again.avro"));
    assertThat(ModelFiles.read(folder.resolve("again.avro")).contentId())
        .isEqualTo(ModelFiles.read(file).contentId());
  }

  @Test
  void an_avro_file_of_another_record_is_refused() throws IOException {
    Files.writeString(file, "this is text");
    assertRefused("it is not a whole cost model bundle, an Avro file with one CostModelBundle");
    Files.write(file, new byte[0]);
    assertRefused("it is not a whole cost model bundle");
    try (DataFileWriter<Object> writer =
        new DataFileWriter<>(new org.apache.avro.generic.GenericDatumWriter<>())) {
      writer.create(
          org.apache.avro.Schema.create(org.apache.avro.Schema.Type.STRING), file.toFile());
      writer.append("hello");
    }
    assertRefused("it is an Avro file of something else");
  }

  @Test
  void another_format_is_refused_before_it_is_read() throws IOException {
    for (int format : new int[] {1, 3}) {
      Files.deleteIfExists(file);
      try (DataFileWriter<Object> writer =
          new DataFileWriter<>(new org.apache.avro.generic.GenericDatumWriter<>())) {
        writer.setMeta("shardtide.format.major", format);
        writer.create(
            org.apache.avro.Schema.create(org.apache.avro.Schema.Type.STRING), file.toFile());
        writer.append("a record that nobody here can read");
      }
      assertRefused(
          "it has bundle format %d, and this version reads 2. Train it again (pretrain), or use the version that made it"
              .formatted(format));
    }
  }

  /** Collectives with and without a direction, measured and not, and parts measured apart. */
  @Test
  void every_part_of_a_bundle_survives_its_file() throws IOException {
    CollectiveNet both = TestModels.collective(Collective.ALL_TO_ALL, Direction.FORWARD, 1);
    for (boolean measures : new boolean[] {false, true}) {
      ModelBundle bundle =
          ModelBundleBuilder.builder(TestModels.allCollectives())
              .measuresDirections(measures)
              .cachesFrom(measures ? Optional.of(new ModelOrigin("other", "1")) : Optional.empty())
              .hostLinkGbs(measures ? OptionalDouble.of(64) : OptionalDouble.empty())
              .collectives(
                  List.of(
                      new CollectiveNet(
                          both.collective(),
                          Optional.empty(),
                          both.features(),
                          both.coefficients(),
                          both.layers()),
                      TestModels.fromDataSheet(
                          TestModels.collective(Collective.ALL_GATHER, Direction.BACKWARD, 2))))
              .build()
              .identified();
      ModelFiles.write(bundle, file);
      assertThat(ModelFiles.read(file)).usingRecursiveComparison().isEqualTo(bundle);
    }
  }

  @Test
  void a_bundle_with_nan_is_refused() throws IOException {
    CostModelBundle avro = ModelBundleMapping.toAvro(ModelFiles.shipped());
    List<Float> weights = new ArrayList<>(avro.getHead().get(0).getWeights());
    weights.set(5, Float.NaN);
    avro.getHead().get(0).setWeights(weights);
    write(avro);
    assertRefused("weights of a layer must be finite, got NaN");
  }

  @Test
  void a_changed_number_is_detected() throws IOException {
    CostModelBundle avro = ModelBundleMapping.toAvro(ModelFiles.shipped());
    avro.getCard().setDescription("measured on a real machine");
    write(avro);
    assertRefused("it was changed after it was made");
  }

  @Test
  void an_inconsistent_bundle_is_refused() throws IOException {
    CostModelBundle avro = ModelBundleMapping.toAvro(ModelFiles.shipped());
    avro.setTower(avro.getHead());
    write(avro);
    assertRefused(
        "inputs of a layer of a model's tower must be %d, got %d"
            .formatted(
                ModelFiles.shipped().features().size(),
                ModelFiles.shipped().head().get(0).inputs()));
  }

  @Test
  void a_bundle_with_other_quantities_is_refused() throws IOException {
    CostModelBundle avro = ModelBundleMapping.toAvro(ModelFiles.shipped());
    avro.getRanges().get(0).setQuantity("phase_of_the_moon");
    write(avro);
    assertRefused("got [phase_of_the_moon, columns, ");
    avro = ModelBundleMapping.toAvro(ModelFiles.shipped());
    avro.setForwardCoefficients(List.of(1.0, -1.0));
    write(avro);
    assertRefused("got [1.0, -1.0]");
    avro = ModelBundleMapping.toAvro(ModelFiles.shipped());
    avro.getCollectives().get(0).setCollective("all_to_some");
    write(avro);
    assertRefused("collective of a model's net must be one of all_to_all, ");
    avro = ModelBundleMapping.toAvro(ModelFiles.shipped());
    avro.getCollectives().get(0).setDirection("sideways");
    write(avro);
    assertRefused("direction of a model's net must be forward or backward, got \"sideways\"");
    avro = ModelBundleMapping.toAvro(ModelFiles.shipped());
    avro.setTower(avro.getTower().subList(0, 1));
    write(avro);
    assertRefused("layers of a model's tower must be at least 2, got 1");
  }

  private void write(CostModelBundle avro) throws IOException {
    try (DataFileWriter<CostModelBundle> writer =
        new DataFileWriter<>(new SpecificDatumWriter<>(CostModelBundle.class))) {
      writer.setMeta("shardtide.format.major", 2);
      writer.create(CostModelBundle.getClassSchema(), file.toFile());
      writer.append(avro);
    }
  }

  private void assertRefused(String message) {
    assertThatThrownBy(() -> ModelFiles.read(file))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageStartingWith(file + " is not a model that can be used: ")
        .hasMessageContaining(message);
  }

  @Property(tries = 300)
  void a_truncated_file_is_refused(@ForAll long seed) {
    int length = new Random(seed).nextInt(SHIPPED.length);
    assertThatThrownBy(() -> ModelFiles.read("cut", Arrays.copyOf(SHIPPED, length)))
        .isInstanceOf(InvalidModelException.class);
  }

  /**
   * Some bits say nothing: those of the container's own sync marks. Whatever is read is the model
   * that was written.
   */
  @Property(tries = 500)
  void a_flipped_bit_is_detected_or_harmless(@ForAll long seed) {
    Random random = new Random(seed);
    byte[] damaged = SHIPPED.clone();
    damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
    try {
      assertThat(ModelFiles.read("damaged", damaged).contentId())
          .isEqualTo(ModelFiles.shipped().modelId());
    } catch (InvalidModelException e) {
      assertThat(e).hasMessageStartingWith("damaged is not a model that can be used");
    }
  }

  @Property(tries = 200)
  void random_bytes_are_refused(@ForAll byte[] bytes) {
    assertThatThrownBy(() -> ModelFiles.read("noise", bytes))
        .isInstanceOf(InvalidModelException.class);
    byte[] avro = "Obj\u0001".getBytes(StandardCharsets.ISO_8859_1);
    byte[] led = Arrays.copyOf(avro, avro.length + bytes.length);
    System.arraycopy(bytes, 0, led, avro.length, bytes.length);
    assertThatThrownBy(() -> ModelFiles.read("noise", led))
        .isInstanceOf(InvalidModelException.class);
  }

  /** A crash at any time leaves a model, as there is one at any time. */
  @Test
  void a_file_that_is_replaced_is_never_absent() throws IOException {
    Path file = folder.resolve("model.avro");
    ModelFiles.write(ModelFiles.shipped(), file);
    AtomicInteger absent = new AtomicInteger();
    AtomicBoolean isOver = new AtomicBoolean();
    Thread reader =
        new Thread(
            () -> {
              while (!isOver.get()) {
                if (!file.toFile().exists()) {
                  absent.incrementAndGet();
                }
              }
            });
    reader.start();
    try {
      for (int i = 0; i < 50; i++) {
        ModelFiles.write(ModelFiles.shipped(), file);
      }
    } finally {
      isOver.set(true);
    }
    assertThat(absent.get()).isZero();
    assertThat(ModelFiles.read(file).modelId()).isEqualTo(ModelFiles.shipped().modelId());
  }
}
