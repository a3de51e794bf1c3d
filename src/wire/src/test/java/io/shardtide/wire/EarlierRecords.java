package io.shardtide.wire;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecord;

/** Values as earlier versions wrote them: without the fields that were added since. */
final class EarlierRecords {
  private EarlierRecords() {}

  /** Returns a value as a record of an earlier schema. */
  static <V, A extends SpecificRecord> GenericRecord of(Codec<V, A> codec, Schema earlier, V value)
      throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    new SpecificDatumWriter<A>(codec.schema()).write(codec.toAvro().apply(value), encoder);
    return new GenericDatumReader<GenericRecord>(codec.schema(), earlier)
        .read(null, DecoderFactory.get().binaryDecoder(out.toByteArray(), null));
  }

  /** Returns a record as a state store holds it. */
  static byte[] stored(GenericRecord record) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new BinaryMessageEncoder<GenericRecord>(GenericData.get(), record.getSchema())
        .encode(record, out);
    return out.toByteArray();
  }

  /** Returns a record as a topic holds it. */
  static byte[] framed(GenericRecord record, int schemaId) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(0);
    for (int shift = 24; shift >= 0; shift -= 8) {
      out.write(schemaId >> shift);
    }
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
    new GenericDatumWriter<GenericRecord>(record.getSchema()).write(record, encoder);
    return out.toByteArray();
  }
}
