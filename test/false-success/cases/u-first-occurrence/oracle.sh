# Both signs are escaped.
mkdir s && echo 'a & b & c' >s/a.md && node bin/pages.js s o
grep -q 'a &amp; b &amp; c' o/a.html
