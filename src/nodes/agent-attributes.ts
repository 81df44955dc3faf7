/** Checks of the attributes that a node sets for its agent. */
import { present } from '../model/attribute.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Graph, Node } from '../model/graph.ts';

/** The error for a strict read scope that names nothing below the workspace: everything would stay readable. Which of the
 *  absolute paths lie in the workspace is known only when the node starts. */
export function strictScope(node: Node, graph: Graph): readonly Diagnostic[] {
  const strict = present(node.attrs, 'codex.strict_read_scope');
  if (strict === undefined || !/^(?:1|t|true|yes)$/i.test(strict.value.text.trim())) return [];
  const named = ['codex.workdir', 'codex.add_dirs'].flatMap((key) =>
    (present(node.attrs, key)?.value.text ?? '').split(',').map((path) => path.trim()),
  );
  if (named.some((path) => !/^[./]*$/.test(path) || path.startsWith('..') || path.includes('${'))) return [];
  return [
    {
      code: 'strict-read-scope',
      severity: 'error',
      message: `codex.strict_read_scope of "${node.id}" hides nothing: its codex.workdir is the whole workspace`,
      place: { file: graph.file, span: strict.valueSpan },
      fix: 'name the folder that it may see: codex.workdir="app" (or codex.add_dirs); codex.block_read_paths hides single paths',
    },
  ];
}
