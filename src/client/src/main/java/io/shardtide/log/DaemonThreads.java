package io.shardtide.log;

import java.util.concurrent.ThreadFactory;

/** Threads that do not keep a program from ending. */
public final class DaemonThreads {
  private DaemonThreads() {}

  /** Returns a factory of threads, all of one name. */
  public static ThreadFactory named(String name) {
    return task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    };
  }
}
