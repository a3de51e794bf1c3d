/**
 * The main class, the commands, and their output. This is the composition root: it may import every
 * other package, and no other package imports it.
 */
package io.shardtide.cli;
