# The page of a note that is gone is removed.
mkdir s && echo one >s/a.md && echo two >s/b.md && node bin/pages.js s o && rm s/b.md && node bin/pages.js s o
[ ! -e o/b.html ]
