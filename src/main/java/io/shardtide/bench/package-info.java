/**
 * Measures how fast the parts are that plans wait for.
 *
 * <p>In flow: the shipped model, tables of known seeds. Out flow: numbers for the docs. Imports
 * what it measures; only the command line imports it.
 */
package io.shardtide.bench;
