/** What a row of a list says of the next thing to do. */
import type { NextAction } from '../../core/action-commands.ts';
import { failedNodeOf } from '../../core/leak-reason.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { agentBefore } from '../../run/agent-before.ts';
import { actionsFor, deliveryOf, editedFile, firstCommand } from '../../run/next-command.ts';
import type { RunReader } from '../../run/open-run.ts';
import type { RunSummary } from '../../run/summary.ts';
import type { InspectHost } from './rows.ts';
import type { RunRow } from './run-row.ts';

type RowFacts = RunSummary & Pick<RunRow, 'question'> & { readonly weakJudge: string | undefined };
type Undelivered = Pick<Manifest, 'workdir_kind' | 'variables' | 'run_id'>;

/** The first action, and its command on one line. */
export async function nextOfRow(
  reader: RunReader,
  summary: RowFacts,
  undelivered: Undelivered | undefined,
  host: Pick<InspectHost, 'cwd' | 'called'>,
): Promise<Pick<RunRow, 'next' | 'action'>> {
  const actions = await actionsIn(reader, summary, undelivered, host);
  const [first] = actions;
  return {
    next: firstCommand(actions),
    action: first === undefined ? null : { kind: first.kind, words: first.words, command: first.command },
  };
}

/** What to do next; of a pipeline that its user does not edit it begins with an agent, which the journal names. */
async function actionsIn(
  reader: RunReader,
  summary: RowFacts,
  undelivered: Undelivered | undefined,
  { cwd, called = { program: 'factory' } }: Pick<InspectHost, 'cwd' | 'called'>,
): Promise<readonly NextAction[]> {
  const { dir } = reader;
  const { program } = called;
  if (undelivered !== undefined) {
    const delivery = { program, overridden: summary.status === 'overridden' };
    return [await deliveryOf(undelivered, dir, cwd, delivery)];
  }
  const isEdited = editedFile(summary.pipeline) !== undefined;
  const failedNode = failedNodeOf(summary.reason, summary.nextNode, summary.failedNode);
  const stood = {
    ...{ ...summary, failedNode },
    resumable: summary.nextNode !== '',
    answered: summary.question?.answer != null,
    ...(isEdited ? {} : { agent: () => agentIn(reader, failedNode) }),
  };
  return actionsFor(stood, dir, { cwd, program });
}

/** Bytes of a journal's end in which most agents are found. */
const nearEndBytes = 256 * 1024;

function agentIn(reader: RunReader, failed: string): string | undefined {
  const near = reader.historyNearEnd(nearEndBytes);
  const found = near && agentBefore(near.records, failed);
  if (found !== undefined) return found;
  const history = reader.history();
  return history.ok ? agentBefore(history.records, failed) : undefined;
}
