# Today is the same everywhere.
printf '%s today\n%s yesterday\n' "$(date -u +%F)" "$(date -u -d yesterday +%F)" >list
for zone in Etc/GMT+12 Etc/GMT-14; do
  [ "$(TZ=$zone python3 due.py late list)" = "$(date -u -d yesterday +%F) yesterday" ] || exit 1
done
