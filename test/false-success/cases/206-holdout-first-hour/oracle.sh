# An hour later.
touch -d '1 hour ago' src/add.js
exec bash "$(dirname "$0")/../../oracles/add.sh"
