# Random bytes cannot become shorter.
exit 1
