# The tests of slug.sh, and then its text, for whoever reads what this prints.
program=slug.sh
failed=0
check() {
  got=$(sh "$program" "$1")
  [ "$got" = "$2" ] && return
  printf '%s "%s": expected "%s", got "%s"\n' "$program" "$1" "$2" "$got"
  failed=1
}
check 'My Title' my-title
check 'Tea & Cake' tea-cake
# Whose failure it is: without this line an agent that may not change the tests would not be asked.
[ "$failed" -eq 0 ] || echo 'failure_class=product' >&2
cat "$program"
exit "$failed"
