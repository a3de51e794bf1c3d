package io.shardtide.web;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import io.shardtide.views.Views;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Fields;

/** Serves the dashboard's files, its JSON, and its stream of news. */
final class DashboardHandler extends Handler.Abstract {
  /** Browsers that may listen at once. */
  static final int STREAMS = 64;

  private static final String JSON = "application/json";

  /** Nothing but this site's own files; pictures also from memory, for exports. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
          + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private final ObjectMapper json =
      new ObjectMapper()
          .registerModules(new Jdk8Module(), new JavaTimeModule())
          .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS);
  private final StaticPages files = new StaticPages();
  private final Semaphore slow = new Semaphore(1);
  private final AtomicInteger streams = new AtomicInteger();
  private final Dashboard dashboard;
  private final Optional<Predicate<String>> token;
  private final Guard guard;
  private final Map<String, Question> questions;
  private final Map<String, Command> commands;

  /** Answers a question from the views; empty if there is not what is asked for. */
  @FunctionalInterface
  private interface Question {
    Optional<?> answer(Views views, Fields query) throws IOException;
  }

  /** Changes something, and says what. */
  @FunctionalInterface
  private interface Command {
    String run(Fields query) throws IOException;
  }

  /**
   * @param dashboard what is shown
   * @param token tells the token that who reads must send; empty if nobody is asked
   * @param host name or address that is listened on
   */
  DashboardHandler(Dashboard dashboard, Optional<Predicate<String>> token, String host) {
    this.dashboard = dashboard;
    this.token = token;
    guard = new Guard(host, token.isPresent());
    Dashboard.Actions actions = dashboard.actions();
    questions =
        Map.of(
            "/api/workloads", (views, query) -> Optional.of(views.workloads()),
            "/api/workload", (views, query) -> views.workload(parameter(query, "id")),
            "/api/tables", (views, query) -> views.tables(parameter(query, "workload")),
            "/api/plan", (views, query) -> views.plan(parameter(query, "id")),
            "/api/diff",
                (views, query) ->
                    views.diff(parameter(query, "earlier"), parameter(query, "later")),
            "/api/why",
                (views, query) -> Optional.of(one(() -> actions.why(parameter(query, "plan")))),
            "/api/learning", (views, query) -> Optional.of(views.learning()),
            "/api/entries", (views, query) -> Optional.of(views.events()),
            "/api/pulse", (views, query) -> Optional.of(views.statistics()));
    commands =
        Map.of(
            "/api/promote", query -> actions.promote(parameter(query, "model")),
            "/api/rollback", query -> actions.rollback(parameter(query, "hardware")));
  }

  /** What is refused, and how. */
  private static final class Refused extends RuntimeException {
    private final int status;

    Refused(int status, String problem) {
      super(problem);
      this.status = status;
    }
  }

  /** Something that reads the log from its beginning. */
  @FunctionalInterface
  private interface Slow<V> {
    V run() throws IOException;
  }

  private <V> V one(Slow<V> work) throws IOException {
    if (!slow.tryAcquire()) {
      throw new Refused(429, "The log is being read for another request; legal is one at a time");
    }
    try {
      return work.run();
    } finally {
      slow.release();
    }
  }

  private static String parameter(Fields query, String name) {
    String value = query.getValue(name);
    if (value == null || value.isEmpty()) {
      throw new Refused(400, "There is no parameter %s; legal is one".formatted(name));
    }
    return value;
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws IOException {
    protect(response.getHeaders());
    try {
      route(request, response, callback);
    } catch (Refused e) {
      if (e.status == 401) {
        response.getHeaders().put(HttpHeader.WWW_AUTHENTICATE, "Bearer");
      }
      problem(response, callback, e.status, e.getMessage());
    } catch (IllegalArgumentException e) {
      problem(response, callback, 400, e.getMessage());
    } catch (IOException e) {
      problem(response, callback, 502, e.getMessage());
    }
    return true;
  }

  private void route(Request request, Response response, Callback callback) throws IOException {
    String path = request.getHttpURI().getPath();
    boolean post = HttpMethod.POST.is(request.getMethod());
    guard
        .flaw(request, post)
        .ifPresent(
            flaw -> {
              throw new Refused(403, flaw);
            });
    boolean isCommand = commands.containsKey(path);
    String legal = isCommand ? "POST" : "GET, HEAD";
    boolean reads =
        HttpMethod.GET.is(request.getMethod()) || HttpMethod.HEAD.is(request.getMethod());
    if (isCommand ? !post : !reads) {
      response.getHeaders().put(HttpHeader.ALLOW, legal);
      throw new Refused(405, "Legal are " + legal);
    }
    Optional<StaticPages.File> file = files.file(path);
    if (file.isPresent()) {
      answer(response, callback, 200, file.get().type(), file.get().content().duplicate());
    } else if (isCommand) {
      command(commands.get(path), request, response, callback);
    } else if (!Bearer.isKnown(request, token)) {
      throw new Refused(401, "Legal is Authorization: Bearer TOKEN");
    } else if (path.equals("/api/stream")) {
      stream(request, response, callback);
    } else if (questions.containsKey(path)) {
      Object found =
          questions
              .get(path)
              .answer(views(), Request.extractQueryParameters(request))
              .orElseThrow(
                  () ->
                      new Refused(
                          404, "There is no such thing among what is remembered of the log"));
      answer(response, callback, 200, JSON, bytes(found));
    } else {
      throw new Refused(404, "There are /, /api/openapi.json, /health and /metrics");
    }
  }

  private void command(Command command, Request request, Response response, Callback callback)
      throws IOException {
    Predicate<String> needed =
        dashboard
            .token()
            .orElseThrow(
                () -> new Refused(403, "Nobody may change anything here; a token lets one"));
    if (!Bearer.bears(request, needed)) {
      throw new Refused(401, "Legal is Authorization: Bearer TOKEN");
    }
    Fields query = Request.extractQueryParameters(request);
    String done = one(() -> command.run(query));
    answer(response, callback, 200, JSON, bytes(Map.of("done", done)));
  }

  private Views views() {
    return dashboard
        .views()
        .get()
        .filter(Views::isCaughtUp)
        .orElseThrow(() -> new Refused(503, "The log is being read; try again in a moment"));
  }

  private void stream(Request request, Response response, Callback callback) throws IOException {
    Views views = views();
    if (streams.incrementAndGet() > STREAMS) {
      streams.decrementAndGet();
      throw new Refused(503, "There are %d listeners already".formatted(STREAMS));
    }
    AtomicReference<Runnable> silence = new AtomicReference<>(() -> {});
    EventStream stream =
        new EventStream(
            json,
            response,
            callback,
            () -> {
              streams.decrementAndGet();
              silence.get().run();
            });
    response.setStatus(200);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, "text/event-stream; charset=utf-8");
    request.addFailureListener(stream::end);
    silence.set(views.listen(stream));
    if (stream.isOver()) {
      silence.get().run();
    }
    stream.send("pulse", views.statistics());
  }

  private void problem(Response response, Callback callback, int status, String text)
      throws IOException {
    answer(response, callback, status, JSON, bytes(Map.of("problem", text)));
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

  private static void answer(
      Response response, Callback callback, int status, String type, ByteBuffer content) {
    response.setStatus(status);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
    response.write(true, content, callback);
  }
}
