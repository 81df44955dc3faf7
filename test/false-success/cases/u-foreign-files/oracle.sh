# A file of the user stays.
mkdir s o && echo one >s/a.md && echo mine >o/mine.txt && node bin/pages.js s o
[ -f o/mine.txt ]
