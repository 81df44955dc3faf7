/** Checks of the attributes that a node sets for its agent. */
import type { codexAttributes } from '../agents/codex/settings.ts';
import type { Settings } from '../model/attribute.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Graph, Node } from '../model/graph.ts';
import type { NodeSettings } from '../model/settings/node.ts';

/** The error for a strict read scope that names nothing below the workspace: everything would stay readable. Which of the
 *  absolute paths lie in the workspace is known only when the node starts. */
export function strictScope(node: Node, graph: Graph): readonly Diagnostic[] {
  const settings = node.settings as NodeSettings & Settings<typeof codexAttributes>;
  if (!settings['codex.strict_read_scope']) return [];
  const named = [settings['codex.workdir'] ?? '', ...(settings['codex.add_dirs'] ?? [])];
  if (named.some((path) => !/^[./]*$/.test(path) || path.startsWith('..') || path.includes('${'))) return [];
  return [
    {
      code: 'strict-read-scope',
      severity: 'error',
      message: `codex.strict_read_scope of "${node.id}" hides nothing: its codex.workdir is the whole workspace`,
      place: { file: graph.file, span: node.attrs.get('codex.strict_read_scope')?.valueSpan ?? node.span },
      fix: 'name the folder that it may see: codex.workdir="app" (or codex.add_dirs); codex.block_read_paths hides single paths',
    },
  ];
}
