/** Files that tests create have the usual modes for every user. */
process.umask(0o022);
