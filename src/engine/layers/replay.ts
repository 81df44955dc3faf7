/** Answers a tool or a verification from the recorded run, where everything that it could see is the same. */
import { isAgentType } from '../../core/graph.ts';
import { linkNoteAgain } from '../../run/note-files.ts';
import type { Layer } from './layer.ts';

export const replay: Layer = (next) => async (context) => {
  const { kind, run, node, visit, state, before, snapshots, nodeDir, writer } = context;
  if (!kind.executable || isAgentType(kind.type)) return next(context);
  const recorded = await run.replay?.answer({ node, visit, state, snapshot: before, snapshots, nodeDir });
  // A tool may look for notes that no agent has yet.
  for (const note of run.replay?.notesGivenBy(node.id, visit) ?? []) await linkNoteAgain(run.runDir, note);
  if (recorded === undefined) return next(context);
  if ('outcome' in recorded) return recorded;
  await writer.event({ type: 'ReplayRan', node_id: node.id, visit, why: recorded.unlike });
  return next(context);
};
