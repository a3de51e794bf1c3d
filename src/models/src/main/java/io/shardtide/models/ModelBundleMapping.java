package io.shardtide.models;

import io.shardtide.avro.CostModelBundle;
import io.shardtide.cost.InvalidModelException;
import io.shardtide.cost.ModelBundle;

/** Converts between a model and its Avro record, of bundle files and of the topic of models. */
public final class ModelBundleMapping {
  private ModelBundleMapping() {}

  /** Returns the record of a model. */
  public static CostModelBundle toAvro(ModelBundle bundle) {
    return ModelFieldsMapping.INSTANCE.toAvro(bundle);
  }

  /**
   * Returns the model of a record.
   *
   * @throws InvalidModelException if the record has a format that this version does not read, or a
   *     content of another id
   */
  public static ModelBundle fromAvro(CostModelBundle avro) {
    if (avro.getFormatMajor() != ModelBundle.FORMAT_MAJOR) {
      throw new InvalidModelException(
          "The model has format %s.%s; this version reads %s.x. Train it again (pretrain), or use the version that made it"
              .formatted(avro.getFormatMajor(), avro.getFormatMinor(), ModelBundle.FORMAT_MAJOR));
    }
    ModelBundle bundle = ModelFieldsMapping.INSTANCE.fromAvro(avro);
    String contentId = bundle.contentId();
    if (!contentId.equals(bundle.modelId())) {
      throw new InvalidModelException(
          "The model says its id is %s and its content gives %s: it was changed after it was made"
              .formatted(bundle.modelId(), contentId));
    }
    return bundle;
  }
}
