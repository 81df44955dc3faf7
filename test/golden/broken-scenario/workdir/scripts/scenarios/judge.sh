#!/bin/sh
echo 'the fixture is missing' >&2
echo 'failure_class=scenario' >&2
exit 1
