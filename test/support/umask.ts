/** Files that tests make have the usual modes, whoever runs them. */
process.umask(0o022);
