/** Confines the node's programs; a failure that the sandbox seems to have caused says which setting fixes it. */
import { endedBySignal, type Outcome } from '../../core/outcome.ts';
import { layout } from '../../core/records/layout.ts';
import { readSome } from '../../platform/files/read.ts';
import { moveAside, removeMoved } from '../../platform/files/remove.ts';
import { sandboxHint } from '../confinement.ts';
import { type OpenProcesses, openProcesses } from '../processes.ts';
import type { Layer, LayerContext } from './layer.ts';

export const sandbox: Layer = (next) => async (context) => {
  await removeMoved(layout(context.run.runDir).scratch);
  const processes = openProcesses(context);
  const executed = await next(context.with({ processes }));
  const { started, ran } = processes;
  const [first] = started;
  // It goes with the next node: the kernel takes the mounts apart a moment after the node's end, and removing a folder on which
  // something is mounted waits for all processors.
  if (first !== undefined && (first.confinement.rung === 'bwrap' || context.checked !== undefined))
    moveAside(first.confinement.scratch);
  return { ...executed, outcome: await explained(executed.outcome, context, processes), commands: ran };
};

/** Bytes of the end of each output that are searched for the cause. */
const mostRead = 16_384;

/** Adds hints to a failure: the setting that fixes it, or that the system killed processes for lack of memory. */
async function explained(
  outcome: Outcome,
  context: LayerContext,
  { started }: OpenProcesses,
): Promise<Outcome> {
  if (outcome.status !== 'fail' || outcome.class === 'cancelled') return outcome;
  const { node, isSetup, secrets, workspace } = context;
  const last = started.at(-1);
  if (last !== undefined) {
    const tails = await Promise.all(last.files.map((file) => readSome(file, mostRead, 'tail')));
    const output = tails.join('\n');
    const hints = [
      secrets.withheldHint(output),
      sandboxHint(output, last.confinement, isSetup ? 'the graph' : `node "${node.id}"`, workspace.path),
    ].filter((hint) => hint !== undefined);
    if (hints.length > 0) return { ...outcome, reason: `${outcome.reason} (${hints.join('; ')})` };
  }
  return withKills(outcome, context);
}

/** Exit code of a shell whose command was ended by SIGKILL. */
const killedInShell = 137;

function withKills(outcome: Extract<Outcome, { status: 'fail' }>, { run }: LayerContext): Outcome {
  const { attribution } = outcome;
  const killed = outcome.exitCode === killedInShell || attribution?.why.includes('SIGKILL') === true;
  const count = killed ? (run.outOfMemory?.since() ?? 0) : 0;
  if (count === 0) return outcome;
  const why = `the system has killed ${count === 1 ? 'a process' : `${count} processes`} meanwhile since no memory was left`;
  // That reason is compared elsewhere and stays unchanged.
  return outcome.reason === endedBySignal && attribution !== undefined
    ? { ...outcome, attribution: { ...attribution, why: `${attribution.why}; ${why}` } }
    : { ...outcome, reason: `${outcome.reason} (${why})` };
}
