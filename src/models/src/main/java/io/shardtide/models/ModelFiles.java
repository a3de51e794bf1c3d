package io.shardtide.models;

import io.shardtide.avro.CostModelBundle;
import io.shardtide.cost.InvalidModelException;
import io.shardtide.cost.ModelBundle;
import io.shardtide.files.OutputFile;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.file.SeekableByteArrayInput;
import org.apache.avro.specific.SpecificDatumWriter;

/**
 * Bundle files: an Avro container file with one {@code CostModelBundle}, which any Avro tool can
 * print. The id in it is the hash of its content, which detects corruption.
 */
public final class ModelFiles {
  /** Far above any bundle; larger files are not read into memory. */
  private static final long MAX_BYTES = 64L * 1024 * 1024;

  /** In the file's header, which is readable even if the record has a newer format. */
  private static final String FORMAT_KEY = "shardtide.format.major";

  static {
    AvroLimits.set();
  }

  private ModelFiles() {}

  /** Returns the shipped bundle, trained on simulated costs. */
  public static ModelBundle shipped() {
    return read("the shipped model", shipped("simulated"));
  }

  /**
   * Returns the shipped bundle for nodes of 8 devices, trained on simulated costs of all kinds of
   * shards.
   */
  public static ModelBundle shippedForNodes() {
    return read("the shipped model of nodes of 8 devices", shipped("simulated-8xh100"));
  }

  /**
   * Returns the shipped bundle of an H200: computation as measured on one, collectives by a data
   * sheet.
   */
  public static ModelBundle shippedForH200() {
    return read("the shipped model of an H200", shipped("h200"));
  }

  /** Of the class path; models/README.md compares them. */
  private static byte[] shipped(String name) {
    String resource = "/models/" + name + ".avro";
    try (InputStream in = ModelFiles.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException(resource + " is missing from the class path");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Writes a bundle: the file has this one or, after a crash, the one that it had before. */
  public static void write(ModelBundle bundle, Path file) throws IOException {
    try (OutputFile output = OutputFile.create(file);
        DataFileWriter<CostModelBundle> writer =
            new DataFileWriter<>(new SpecificDatumWriter<>(CostModelBundle.class))) {
      writer.setMeta(FORMAT_KEY, ModelBundle.FORMAT_MAJOR);
      writer.create(CostModelBundle.getClassSchema(), output.bytes());
      writer.append(ModelBundleMapping.toAvro(bundle));
      writer.flush();
      output.complete();
    }
  }

  /**
   * Reads a bundle.
   *
   * @throws InvalidModelException if the file is not a complete, unchanged bundle of a supported
   *     format
   * @throws IOException if the file cannot be read
   */
  public static ModelBundle read(Path file) throws IOException {
    long size = Files.size(file);
    if (size > MAX_BYTES) {
      throw new InvalidModelException(
          "%s is not a model that can be used: it has %s bytes; a bundle has at most %s"
              .formatted(file, size, MAX_BYTES));
    }
    return read(file.toString(), Files.readAllBytes(file));
  }

  /**
   * Reads a bundle from the bytes of a file.
   *
   * @param name name of the file in errors
   * @throws InvalidModelException if the bytes are not a complete, unchanged bundle of a supported
   *     format
   */
  public static ModelBundle read(String name, byte[] bytes) {
    try {
      return decode(bytes);
    } catch (InvalidModelException e) {
      throw new InvalidModelException(
          "%s is not a model that can be used: %s".formatted(name, e.getMessage()), e);
    }
  }

  private static ModelBundle decode(byte[] bytes) {
    try (DataFileReader<CostModelBundle> reader =
        new DataFileReader<>(
            new SeekableByteArrayInput(bytes), new UnionsByName<>(CostModelBundle.class))) {
      checkFormat(reader.getMetaString(FORMAT_KEY));
      if (!reader.hasNext()) {
        throw new InvalidModelException("it holds no model");
      }
      ModelBundle bundle = ModelBundleMapping.fromAvro(reader.next());
      if (reader.hasNext()) {
        throw new InvalidModelException("it holds more than one record");
      }
      return bundle;
    } catch (InvalidModelException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      // Avro throws various exceptions at bytes that are not Avro.
      throw new InvalidModelException(
          "it is not a whole cost model bundle, an Avro file with one CostModelBundle (%s)"
              .formatted(e.getMessage()),
          e);
    }
  }

  private static void checkFormat(String major) {
    if (major == null) {
      throw new InvalidModelException("it is an Avro file of something else");
    }
    if (!major.equals(Integer.toString(ModelBundle.FORMAT_MAJOR))) {
      throw new InvalidModelException(
          "it has bundle format %s, and this version reads %s. Train it again (pretrain), or use the version that made it"
              .formatted(major, ModelBundle.FORMAT_MAJOR));
    }
  }
}
