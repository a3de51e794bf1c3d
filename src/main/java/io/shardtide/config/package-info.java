/** What an operator sets: one immutable record. Imports {@code domain}. */
package io.shardtide.config;
