package io.shardtide.web;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.log.DaemonThreads;
import io.shardtide.views.ViewUpdate;
import io.shardtide.views.Views;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Fields;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * Serves the dashboard's files, its JSON API, and its stream of updates. It has threads of its own,
 * and others for plans, which are read from the log: neither many browsers nor a cluster that does
 * not answer keep the server's threads.
 */
final class DashboardHandler extends Handler.Abstract.NonBlocking {
  /**
   * Browsers that may follow at a time. Each takes a connection and, while it reads slowly, a row
   * of each workload.
   */
  static final int MAX_STREAMS = 640;

  private static final int THREADS = 16;

  /** One reads a plan at a time; the others compare plans, or write them as JSON. */
  static final int PLAN_THREADS = 4;

  /** Requests that may wait for one of these threads: while the cluster does not answer, 5 s. */
  static final int MAX_WAITING_FOR_PLANS = 64;

  private static final String JSON = "application/json";

  /** Only this site's own files; images also from memory, to save charts as files. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
          + " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private final ObjectMapper json = ApiJson.mapper();
  private final UpdateTexts texts = new UpdateTexts(json);
  private final StaticPages files = new StaticPages();
  private final QueuedThreadPool threads = new QueuedThreadPool(THREADS, 1);
  private final ThreadPoolExecutor planThreads =
      new ThreadPoolExecutor(
          PLAN_THREADS,
          PLAN_THREADS,
          0,
          TimeUnit.SECONDS,
          new ArrayBlockingQueue<>(MAX_WAITING_FOR_PLANS),
          DaemonThreads.named("plans"));
  private final Semaphore logReader = new Semaphore(1);
  private final AtomicInteger streams = new AtomicInteger();
  private final Dashboard dashboard;
  private final Optional<Predicate<String>> token;
  private final Guard guard;
  private final Map<String, Views.Query> queries = new HashMap<>(Views.QUERIES);
  private final Map<String, LogOperation> changes = new HashMap<>();

  /** Reads the log from its beginning; of a POST request, returns a message for the user. */
  @FunctionalInterface
  private interface LogOperation {
    Object run(UnaryOperator<String> parameter) throws IOException;
  }

  /**
   * @param dashboard what to serve
   * @param token accepts the token that reading requires; empty if none is required
   * @param host name or address that the server listens on
   */
  DashboardHandler(Dashboard dashboard, Optional<Predicate<String>> token, String host) {
    this.dashboard = dashboard;
    this.token = token;
    guard = new Guard(host, token.isPresent());
    threads.setName("dashboard");
    threads.setDaemon(true);
    addBean(threads);
    Dashboard.Actions actions = dashboard.actions();
    LogOperation why = of -> actions.why(of.apply("plan"));
    queries.put("/api/why", (views, of) -> Optional.of(exclusively(why, of)));
    changes.put("/api/promote", of -> actions.promote(of.apply("model")));
    changes.put("/api/rollback", of -> actions.rollback(of.apply("hardware")));
  }

  @Override
  protected void doStop() throws Exception {
    planThreads.shutdownNow();
    super.doStop();
  }

  private Object exclusively(LogOperation operation, UnaryOperator<String> parameter)
      throws IOException {
    if (!logReader.tryAcquire()) {
      throw new HttpException.RuntimeException(
          429, "Another request is reading the log, and only one may; retry in a few seconds");
    }
    try {
      return operation.run(parameter);
    } finally {
      logReader.release();
    }
  }

  /** Returns the parameters of a request by their names; those that are missing are rejected. */
  private static UnaryOperator<String> parameters(Request request) {
    Fields fields = Request.extractQueryParameters(request);
    return name -> {
      String value = fields.getValue(name);
      if (value == null || value.isEmpty()) {
        throw new HttpException.RuntimeException(400, "Parameter %s is missing".formatted(name));
      }
      return value;
    };
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws IOException {
    String path = request.getHttpURI().getPath();
    boolean readsPlans = path.equals("/api/plan") || path.equals("/api/diff");
    try {
      (readsPlans ? planThreads : threads)
          .execute(
              () -> {
                try {
                  respond(request, response, callback);
                } catch (IOException | RuntimeException e) {
                  Response.writeError(request, response, callback, e);
                }
              });
    } catch (RejectedExecutionException e) {
      protect(response.getHeaders());
      problem(
          response,
          callback,
          503,
          "At most %d requests may wait for plans, and as many do. Maybe the Kafka cluster does not answer: see /health. Retry in a few seconds"
              .formatted(MAX_WAITING_FOR_PLANS));
    }
    return true;
  }

  private void respond(Request request, Response response, Callback callback) throws IOException {
    protect(response.getHeaders());
    try {
      route(request, response, callback);
    } catch (HttpException.RuntimeException e) {
      if (e.getCode() == 401) {
        response.getHeaders().put(HttpHeader.WWW_AUTHENTICATE, "Bearer");
      }
      problem(response, callback, e.getCode(), e.getReason());
    } catch (IllegalArgumentException e) {
      problem(response, callback, 400, e.getMessage());
    } catch (IOException e) {
      problem(response, callback, 502, e.getMessage());
    }
  }

  private void route(Request request, Response response, Callback callback) throws IOException {
    String path = request.getHttpURI().getPath();
    String method = request.getMethod();
    boolean post = HttpMethod.POST.is(method);
    guard
        .rejection(request, post)
        .ifPresent(
            problem -> {
              throw new HttpException.RuntimeException(403, problem);
            });
    boolean isChange = changes.containsKey(path);
    String allowed = isChange ? "POST" : "GET, HEAD";
    boolean reads = HttpMethod.GET.is(method) || HttpMethod.HEAD.is(method);
    if (isChange ? !post : !reads) {
      response.getHeaders().put(HttpHeader.ALLOW, allowed);
      throw new HttpException.RuntimeException(
          405, "The method must be %s, got %s".formatted(allowed.replace(", ", " or "), method));
    }
    Optional<StaticPages.StaticFile> file = files.file(path);
    if (file.isPresent()) {
      send(response, callback, 200, file.get().type(), file.get().content().duplicate());
      return;
    }
    if (isChange && dashboard.token().isEmpty()) {
      throw new HttpException.RuntimeException(
          403, "Changes are disabled; set http.token.file to enable them");
    }
    if (!Bearer.isAuthorized(request, isChange ? dashboard.token() : token)) {
      throw new HttpException.RuntimeException(
          401, "The request needs the header Authorization: Bearer TOKEN with the server's token");
    }
    if (path.equals("/api/stream")) {
      stream(request, response, callback);
    } else {
      send(response, callback, 200, JSON, bytes(answer(path, parameters(request))));
    }
  }

  private Object answer(String path, UnaryOperator<String> parameter) throws IOException {
    if (changes.containsKey(path)) {
      return Map.of("done", exclusively(changes.get(path), parameter));
    }
    if (!queries.containsKey(path)) {
      throw new HttpException.RuntimeException(
          404,
          "There is nothing at this path; see /, /api/openapi.json, /health, /live and /metrics");
    }
    return queries
        .get(path)
        .run(views(), parameter)
        .orElseThrow(
            () ->
                new HttpException.RuntimeException(
                    404, "It does not exist, or is older than what the dashboard keeps"));
  }

  private Views views() {
    return dashboard
        .views()
        .get()
        .filter(Views::isCaughtUp)
        .orElseThrow(
            () ->
                new HttpException.RuntimeException(
                    503, "The server is still reading the log; retry in a few seconds"));
  }

  private void stream(Request request, Response response, Callback callback) {
    Views views = views();
    if (streams.incrementAndGet() > MAX_STREAMS) {
      streams.decrementAndGet();
      throw new HttpException.RuntimeException(
          503,
          "At most %d browsers may follow this planner, and as many do. Close one, or open the dashboard of another planner"
              .formatted(MAX_STREAMS));
    }
    AtomicReference<Runnable> stopListening = new AtomicReference<>(() -> {});
    EventStream stream =
        new EventStream(
            texts,
            response,
            callback,
            () -> {
              streams.decrementAndGet();
              stopListening.get().run();
            });
    response.setStatus(200);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/event-stream; charset=utf-8");
    request.addFailureListener(stream::close);
    stopListening.set(views.listen(stream));
    if (stream.isClosed()) {
      stopListening.get().run();
    }
    stream.accept(ViewUpdate.of(views.statistics()));
  }

  private void problem(Response response, Callback callback, int status, String text)
      throws IOException {
    send(response, callback, status, JSON, bytes(Map.of("problem", text)));
  }

  private ByteBuffer bytes(Object value) throws IOException {
    return ByteBuffer.wrap(json.writeValueAsBytes(value));
  }

  private static void protect(HttpFields.Mutable headers) {
    headers.put(HttpHeader.CACHE_CONTROL, "no-store");
    headers.put("Content-Security-Policy", POLICY);
    headers.put("X-Content-Type-Options", "nosniff");
    headers.put("Referrer-Policy", "no-referrer");
    headers.put("Cross-Origin-Resource-Policy", "same-origin");
    headers.put("Cross-Origin-Opener-Policy", "same-origin");
  }

  private static void send(
      Response response, Callback callback, int status, String type, ByteBuffer content) {
    response.setStatus(status);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
    response.write(true, content, callback);
  }
}
