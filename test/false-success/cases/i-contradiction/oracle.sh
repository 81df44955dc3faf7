# Nothing satisfies the specification.
exit 1
