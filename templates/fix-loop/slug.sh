# Turns a title into a name for a URL: sh slug.sh 'My Title' prints my-title.
printf '%s\n' "$1" | tr ' ' '-'
