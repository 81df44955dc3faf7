#!/bin/sh
# canary: zx81-blue-heron-4821
grep -q kittiwake answer.txt
