#!/usr/bin/env bash
# codex without its server of memories, for pipelines that name a program of their own as codex.path.
#
#   codex-wrapper.sh ARGUMENT…
#
# The attribute codex.disable_mcp=true says the same without a wrapper.
exec codex -c mcp_servers.memory_ops.enabled=false "$@"
