package io.shardtide.wire;

import io.confluent.kafka.schemaregistry.client.rest.RestService;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The registry client's requests, each with a limit for the whole answer. Java's own limit starts
 * again with each byte, so that a server that sends a byte a second is never late.
 */
final class BoundedRequests extends RestService {
  private final Duration limit;

  /**
   * @param url address of the registry
   * @param limit the longest time from a request to the end of its answer
   */
  BoundedRequests(String url, Duration limit) {
    super(List.of(url));
    this.limit = limit;
  }

  @Override
  protected HttpURLConnection buildConnection(
      URL url, String method, Map<String, String> requestProperties) throws IOException {
    return new BoundedConnection(super.buildConnection(url, method, requestProperties), limit);
  }

  /** A connection for one request. Delegates what {@link RestService} calls. */
  private static final class BoundedConnection extends HttpURLConnection {
    private final HttpURLConnection connection;
    private final Duration limit;
    private final long startNanos = System.nanoTime();
    private volatile boolean hasHeaders;

    BoundedConnection(HttpURLConnection connection, Duration limit) {
      super(connection.getURL());
      this.connection = connection;
      this.limit = limit;
      CompletableFuture.delayedExecutor(limit.toMillis(), TimeUnit.MILLISECONDS)
          .execute(
              () -> {
                // Later, the body's stream looks at the time itself: to close it is to wait for it.
                if (!hasHeaders) {
                  connection.disconnect();
                }
              });
    }

    private void requireTime() throws SocketTimeoutException {
      if (System.nanoTime() - startNanos > limit.toNanos()) {
        throw new SocketTimeoutException(
            "no complete answer within %.1f s".formatted(limit.toMillis() / 1000.0));
      }
    }

    private InputStream bounded(InputStream body) {
      return new FilterInputStream(body) {
        /** The only way in which the client's JSON parser reads. */
        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
          int count = super.read(bytes, offset, length);
          requireTime();
          return count;
        }
      };
    }

    @Override
    public int getResponseCode() throws IOException {
      try {
        int code = connection.getResponseCode();
        hasHeaders = true;
        return code;
      } catch (SocketException e) {
        requireTime();
        throw e;
      }
    }

    @Override
    public InputStream getInputStream() throws IOException {
      return bounded(connection.getInputStream());
    }

    @Override
    public InputStream getErrorStream() {
      InputStream body = connection.getErrorStream();
      return body == null ? null : bounded(body);
    }

    @Override
    public void setDoOutput(boolean output) {
      connection.setDoOutput(output);
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
      return connection.getOutputStream();
    }

    @Override
    public void connect() throws IOException {
      connection.connect();
    }

    @Override
    public boolean usingProxy() {
      return connection.usingProxy();
    }

    @Override
    public void disconnect() {
      connection.disconnect();
    }
  }
}
