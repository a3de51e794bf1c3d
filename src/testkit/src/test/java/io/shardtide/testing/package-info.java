/** What tests of several packages share: models, workloads and stores in memory. */
package io.shardtide.testing;
