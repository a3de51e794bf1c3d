/**
 * What an operator sets: one immutable record, the catalogue of the keys of a settings file, and
 * what reads one.
 *
 * <p>In flow: a file. Out flow: {@link io.shardtide.config.ServiceSettings}, or everything that is
 * wrong with the file at once. No secret is shown by what is here. Imports {@code domain}.
 */
package io.shardtide.config;
