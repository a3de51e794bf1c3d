package io.shardtide.bench.service;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Processor time of this process so far: what other processes on the machine change much less than
 * the clock's time.
 *
 * @param nanos by who used it, in nanoseconds
 */
record ProcessorTime(Map<Who, Long> nanos) {
  /** Who uses a processor. */
  enum Who {
    /** The thread that folds and predicts. */
    WORKLOAD("shardtide\\.workload-.*StreamThread-\\d+"),
    /** The thread that plans. */
    PLANNING("shardtide\\.planning-.*StreamThread-\\d+"),
    /** The thread that searches deeper. */
    DEEPER("deeper-search"),
    /** Everything: these, the clients' own threads, the broker, the JVM, the measurement. */
    ALL("");

    private final Pattern threads;

    Who(String threads) {
      this.threads = Pattern.compile(threads);
    }
  }

  static ProcessorTime now() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    Map<Who, Long> nanos = new EnumMap<>(Who.class);
    for (Who who : Who.values()) {
      nanos.put(who, 0L);
    }
    for (ThreadInfo info : threads.getThreadInfo(threads.getAllThreadIds())) {
      for (Who who : Who.values()) {
        if (info != null && who.threads.matcher(info.getThreadName()).matches()) {
          nanos.merge(who, threads.getThreadCpuTime(info.getThreadId()), Long::sum);
        }
      }
    }
    nanos.put(
        Who.ALL,
        ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime());
    return new ProcessorTime(nanos);
  }

  /** Returns what somebody used since then, in microseconds. */
  double microsSince(ProcessorTime then, Who who) {
    return (nanos.get(who) - then.nanos.get(who)) / 1e3;
  }
}
