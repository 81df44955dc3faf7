/** `factory show`: a run at a glance, as at its end, with each node; or one execution of a node. */

import { executionViewOf, inspectExecution } from '../app/inspect/execution.ts';
import type { FailureCard } from '../app/inspect/failure-card.ts';
import { folderOf } from '../app/inspect/folder.ts';
import { type RunOverview, readOverview } from '../app/inspect/overview.ts';
import { readForViews } from '../app/inspect/read-run.ts';
import { findExecution, groupedExecutions, inspectRun } from '../app/inspect/run.ts';
import { pricesOf } from '../core/budget/prices.ts';
import { changedFilesWords } from '../core/changed-files-words.ts';
import { isPaused } from '../core/outcome.ts';
import { acceptanceWords } from '../core/records/acceptance.ts';
import { parsePoint } from '../core/records/names.ts';
import { needsAttention } from '../run/next-command.ts';
import { findNamed, runsDirOf, usage } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { actionRows } from './report/card.ts';
import { sheetOf } from './report/fit.ts';
import {
  executionText,
  nodeTable,
  noteWords,
  orderTable,
  settingRows,
  standingText,
} from './report/inspect.ts';
import { askedText } from './report/question.ts';
import { foreign, type Paint, painter, rowsText } from './report/run.ts';
import { summary } from './report/summary.ts';
import type { VerbResult } from './verb.ts';
import { failureCardIn } from './why.ts';

export type ShowOptions = {
  readonly runsdir?: string;
  readonly db?: string;
  readonly json?: boolean;
  readonly session?: boolean;
  readonly color?: boolean;
};

/** `node` is `NODE` or `NODE@N`; without it the whole run is shown. */
export async function showCommand(
  run: string | undefined,
  node: string | undefined,
  options: ShowOptions,
  io: CliIo,
): Promise<VerbResult> {
  const found = await findNamed(run ?? 'latest', options, io);
  if ('problems' in found) {
    const { showQueued } = await import('./queued.ts');
    return (await showQueued(found, runsDirOf(options, io), options, io)) ?? found;
  }
  const point = node === undefined ? undefined : parsePoint(node);
  if (point !== undefined && 'problem' in point)
    return usage(point.problem, 'write NODE or NODE@N, for example factory show latest check@2');
  if (options.session === true) return showSession(found.dir, point, options, io);
  if (options.json === true) {
    const answer =
      point === undefined
        ? await inspectRun(found.dir, io)
        : await inspectExecution(found.dir, point.node, point.visit, io);
    if ('problems' in answer) return answer;
    io.out(`${JSON.stringify(answer, null, 2)}\n`);
    return 0;
  }
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  if (point === undefined) {
    const overview = await readOverview(found.dir, io);
    if ('problems' in overview) return overview;
    const card = needsAttention(overview.status) ? await failureCardIn(found.dir, io) : null;
    io.out(`${screen(overview, card, paint, io)}\n`);
    return 0;
  }
  const inspected = await readForViews(found.dir, io);
  if ('problems' in inspected) return inspected;
  const { executions } = await groupedExecutions(inspected);
  const row = findExecution(executions, point.node, point.visit);
  if ('problems' in row) return row;
  const execution = await executionViewOf(inspected, row);
  io.out(`${executionText(execution, await folderOf(found.dir, row), paint, sheetOf(io))}\n`);
  return 0;
}

async function showSession(
  dir: string,
  point: { readonly node: string; readonly visit?: number | undefined } | undefined,
  options: ShowOptions,
  io: CliIo,
): Promise<VerbResult> {
  if (point === undefined)
    return usage('--session needs a node', 'for example: factory show latest build --session');
  // Loaded only by those who ask for it.
  const { inspectSession } = await import('../app/inspect/session.ts');
  const isJson = options.json === true;
  const whole = isJson ? ({ whole: true } as const) : {};
  const session = await inspectSession(dir, point.node, point.visit, io, { limit: 1_000_000, ...whole });
  if ('problems' in session) return session;
  if (isJson) io.out(`${JSON.stringify(session, null, 2)}\n`);
  else {
    const { sessionText } = await import('./report/session.ts');
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    io.out(`${sessionText(session, paint, io.outIsTerminal ? io.width : 160)}\n`);
  }
  return 0;
}

/** The nodes, the work orders while they are not all done, and the words of the end of a run, with the next command last. */
function screen(view: RunOverview, card: FailureCard | null, paint: Paint, io: CliIo): string {
  const width = io.outIsTerminal ? io.width : 160;
  const sheet = sheetOf(io);
  const isOpen = view.groups.some(({ kind, state }) => kind === 'order' && state !== 'done');
  const { manifest, result, accepted_weakness: accepted, next, at_node, wake_at, status, questions } = view;
  const isIts = result !== null && result.status === status;
  const texts = [
    nodeTable(view.nodes, paint, width).join('\n'),
    ...(isOpen ? [orderTable(view.groups, paint, width).join('\n')] : []),
    ...(view.notes.length > 0 ? [view.notes.map((note) => foreign(noteWords(note), '  ')).join('\n')] : []),
    isIts
      ? summary({ ...result, next: '' }, paint, card && { ...card, actions: [] }, sheet)
      : standingText(view, paint, sheet),
  ];
  const rows = [
    ...(view.changed === null ? [] : [['changed', changedFilesWords(view.changed)] as const]),
    ...(accepted === null ? [] : [['accepted', acceptanceWords(accepted)] as const]),
    ...settingRows(manifest, view.spent, pricesOf(manifest)),
    ...(wake_at === null ? [] : [['resumes at', wake_at] as const]),
    ...(at_node === null
      ? []
      : [
          status === 'running'
            ? (['at', `node ${at_node}`] as const)
            : (['continues', `with node ${at_node}`] as const),
        ]),
    ...actionRows({ actions: isIts && isPaused(status) ? [] : (card?.actions ?? []) }, next),
  ];
  const asked = questions.flatMap((question) => ['', askedText(question, paint, sheet)]);
  return [texts.join('\n\n'), ...rowsText(rows, paint, sheet), ...asked].join('\n');
}
