package io.shardtide.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.workload.SourcePosition;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Events that wait for brokers; looks are taken when the test takes them. */
class AcceptanceWatchTest {
  private final Deque<Runnable> looks = new ArrayDeque<>();
  private double failedLogins;
  private boolean expired;
  private int certificateReads;
  private int errors;
  private final AcceptanceWatch watch =
      new AcceptanceWatch(
          () -> failedLogins,
          () -> {
            certificateReads++;
            return expired;
          },
          () -> {
            errors++;
            return new IllegalStateException("not accepted");
          },
          looks::add);

  private List<CompletableFuture<SourcePosition>> send(int count) {
    return IntStream.range(0, count)
        .mapToObj(
            i -> {
              CompletableFuture<SourcePosition> sent = new CompletableFuture<>();
              watch.watch(sent, failedLogins);
              return sent;
            })
        .toList();
  }

  private void look(int times) {
    for (int i = 0; i < times; i++) {
      assertThat(looks).as("one look at a time").hasSize(1);
      looks.remove().run();
    }
  }

  /** Of 10,000 events each took 12 ms of a processor, every 5 s. */
  @Test
  void however_many_events_wait_the_certificate_is_read_once_an_interval() {
    List<CompletableFuture<SourcePosition>> waiting = send(10_000);
    look(AcceptanceWatch.LOOKS_PER_CERTIFICATE - 1);
    assertThat(certificateReads).as("nothing has waited for long").isZero();
    for (int interval = 1; interval <= 10; interval++) {
      look(AcceptanceWatch.LOOKS_PER_CERTIFICATE);
      assertThat(certificateReads).isEqualTo(interval);
    }
    assertThat(waiting).noneMatch(CompletableFuture::isDone);
    expired = true;
    look(1);
    assertThat(waiting).allMatch(CompletableFuture::isCompletedExceptionally);
    assertThat(certificateReads).isEqualTo(11);
    assertThat(errors).as("an error reads the certificate, too").isEqualTo(1);
  }

  @Test
  void an_event_fails_with_an_expired_certificate_when_it_has_waited_itself() {
    expired = true;
    CompletableFuture<SourcePosition> first = send(1).get(0);
    look(AcceptanceWatch.LOOKS_PER_CERTIFICATE - 1);
    CompletableFuture<SourcePosition> second = send(1).get(0);
    look(1);
    assertThat(first).isCompletedExceptionally();
    assertThatThrownBy(first::join).hasRootCauseMessage("not accepted");
    assertThat(second).isNotDone();
    look(AcceptanceWatch.LOOKS_PER_CERTIFICATE - 2);
    assertThat(second).isNotDone();
    look(1);
    assertThat(second).isCompletedExceptionally();
  }

  @Test
  void a_login_that_failed_after_an_event_was_sent_fails_it() {
    failedLogins = 1;
    CompletableFuture<SourcePosition> sent = send(1).get(0);
    look(1);
    assertThat(sent).isNotDone();
    failedLogins = 2;
    CompletableFuture<SourcePosition> later = send(1).get(0);
    look(1);
    assertThat(sent).isCompletedExceptionally();
    assertThat(later).isNotDone();
    assertThat(certificateReads).isZero();
  }

  @Test
  void nothing_looks_while_nothing_is_sent() {
    CompletableFuture<SourcePosition> sent = send(1).get(0);
    sent.complete(new SourcePosition("t", 0, 1));
    look(1);
    assertThat(looks).isEmpty();
    send(1);
    assertThat(looks).as("begins again").hasSize(1);
  }
}
