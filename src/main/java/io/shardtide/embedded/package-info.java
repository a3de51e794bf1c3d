/**
 * A Kafka broker and a schema registry in this process, for the demo and the tests: real ones, on
 * loopback, with one machine's durability. Imports nothing of Shardtide.
 */
package io.shardtide.embedded;
