/**
 * Reads text files of users: UTF-8 whatever the locale, plain or gzip. Errors name file and line.
 * Writes files that are complete or not there.
 */
package io.shardtide.files;
