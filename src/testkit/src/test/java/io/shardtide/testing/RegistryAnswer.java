package io.shardtide.testing;

import io.shardtide.workload.RejectionReason;
import java.util.List;

/** What a registry, or a proxy before one, may answer for the schema of one id, for good. */
public enum RegistryAnswer {
  PROTOBUF(
      200,
      """
      {"schemaType": "PROTOBUF", "schema": "syntax = \\"proto3\\"; message A { string a = 1; }"}
      """,
      RejectionReason.UNDECODABLE,
      "it is of type PROTOBUF"),
  JSON_SCHEMA(
      200,
      """
      {"schemaType": "JSON", "schema": "{\\"type\\": \\"object\\"}"}
      """,
      RejectionReason.UNDECODABLE,
      "it is of type JSON"),
  /** A namespace that Python reads and Java does not. */
  AVRO_OF_PYTHON(
      200,
      """
      {"schema": "{\\"type\\": \\"record\\", \\"name\\": \\"E\\", \\"namespace\\": \\"a.b-c\\", \\"fields\\": []}"}
      """,
      RejectionReason.UNDECODABLE,
      "Java can read"),
  BROKEN_AVRO(200, "{\"schema\": \"{\"}", RejectionReason.UNDECODABLE, "Java can read"),
  AVRO_WITHOUT_A_TYPE(200, "{\"schema\": \"{}\"}", RejectionReason.UNDECODABLE, "Java can read"),
  ANOTHER_RECORD(
      200,
      """
      {"schema": "{\\"type\\": \\"record\\", \\"name\\": \\"Order\\", \\"fields\\": [{\\"name\\": \\"a\\", \\"type\\": \\"string\\"}]}"}
      """,
      RejectionReason.UNDECODABLE,
      "cannot be decoded as one"),
  MISSING_REFERENCE(
      200,
      """
      {"schema": "{\\"type\\": \\"record\\", \\"name\\": \\"X\\", \\"fields\\": [{\\"name\\": \\"y\\", \\"type\\": \\"a.Y\\"}]}",
       "references": [{"name": "a.Y", "subject": "a.Y", "version": 1}]}
      """,
      RejectionReason.UNKNOWN_SCHEMA,
      "for its reference a.Y, version 1 of subject a.Y"),
  NULL(200, "null", RejectionReason.UNKNOWN_SCHEMA, "nothing, or null"),
  NO_SCHEMA(200, "{}", RejectionReason.UNKNOWN_SCHEMA, "nothing, or null"),
  ARRAY(200, "[]", RejectionReason.UNKNOWN_SCHEMA, "not the registry's JSON"),
  NOTHING(200, "", RejectionReason.UNKNOWN_SCHEMA, "not the registry's JSON"),
  NO_CONTENT(204, "", RejectionReason.UNKNOWN_SCHEMA, "nothing, or null"),
  LOGIN_PAGE(
      200, "<html>Sign in</html>", RejectionReason.UNKNOWN_SCHEMA, "not the registry's JSON"),
  NO_SUBJECT(404, 40401),
  NO_VERSION(404, 40402),
  NO_ID(404, 40403),
  ARTIFACT_NOT_FOUND(404, 404),
  PAGE_NOT_FOUND(404, "<html>Not Found</html>", "404, not in the registry's format"),
  BAD_REQUEST(400, 400),
  UNAUTHORIZED(401, 401),
  DENIED(403, 40301),
  UNPROCESSABLE(422, 42201),
  TOO_MANY_REQUESTS(429, 42901),
  STORE_ERROR(500, 50001),
  BAD_GATEWAY(502, "<html>Bad Gateway</html>", "502, not in the registry's format"),
  NO_LEADER(503, 50301),
  GATEWAY_TIMEOUT(504, "", "504, "),
  /** A blank each tenth of a second. */
  SLOW(200, " ", RejectionReason.UNKNOWN_SCHEMA, "no complete answer within ");

  /** An id of none of ours; each answer has the one of its place after it. */
  private static final int FIRST_ID = 900_000;

  private final int status;
  private final String body;
  private final RejectionReason reason;
  private final String told;

  RegistryAnswer(int status, String body, RejectionReason reason, String told) {
    this.status = status;
    this.body = body;
    this.reason = reason;
    this.told = told;
  }

  RegistryAnswer(int status, String body, String told) {
    this(status, body, RejectionReason.UNKNOWN_SCHEMA, told);
  }

  RegistryAnswer(int status, int code) {
    this(
        status,
        "{\"error_code\":%d,\"message\":\"as told\"}".formatted(code),
        "%d, as told".formatted(status));
  }

  public int status() {
    return status;
  }

  public String body() {
    return body;
  }

  /** Returns whether the answer takes longer than anyone waits. */
  boolean isSlow() {
    return this == SLOW;
  }

  /** Returns the reason with which a record with this id is rejected. */
  public RejectionReason reason() {
    return reason;
  }

  /** Returns part of the rejection's message. */
  public String told() {
    return told;
  }

  /** Returns the id for which {@link RegistryFront#answerOddly} gives this answer. */
  public int id() {
    return FIRST_ID + List.of(values()).indexOf(this);
  }

  /** Returns a record with the id: seven bytes, which are a value of a record with a string. */
  public byte[] record() {
    return new byte[] {
      0, (byte) (id() >> 24), (byte) (id() >> 16), (byte) (id() >> 8), (byte) id(), 2, 'a'
    };
  }
}
