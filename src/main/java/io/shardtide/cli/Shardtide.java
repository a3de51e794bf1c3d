package io.shardtide.cli;

/** Main. */
public final class Shardtide {
  private Shardtide() {}

  /** Runs. */
  public static void main(String[] args) {
    System.out.println("hi");
  }
}
