# A clone has no bytecode.
rm -rf __pycache__ tests/__pycache__
exec bash "$(dirname "$0")/../../oracles/add.sh"
