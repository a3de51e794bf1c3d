/**
 * Main, the commands, and what a person sees of them. The composition root: the only room that may
 * see all others, and that no other sees.
 */
package io.shardtide.cli;
