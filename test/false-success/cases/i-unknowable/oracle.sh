# It cannot be the rate of today.
exit 1
