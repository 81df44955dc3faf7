# 80 notes have 80 numbers.
export KEEP_FILE=$PWD/n
for round in 1 2 3 4 5 6 7 8 9 10; do
  for i in 1 2 3 4 5 6 7 8; do bin/keep.sh add x >/dev/null & done
  wait
done
[ "$(bin/keep.sh list | cut -d' ' -f1 | sort -u | wc -l)" = 80 ]
