# A note two folders down becomes a page.
mkdir -p s/a/b && echo one >s/a/b/c.md && node bin/pages.js s o
[ -f o/a/b/c.html ]
