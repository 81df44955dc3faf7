# A changed note changes its page.
mkdir s && echo one >s/a.md && node bin/pages.js s o && echo two >s/a.md && node bin/pages.js s o
grep -q two o/a.html
