/** `factory show`: a run at a glance, as at its end, with each node; or one execution of a node. */

import { executionViewOf } from '../app/inspect/execution.ts';
import { folderOf } from '../app/inspect/folder.ts';
import { nodeRowsOf, sandboxesIn } from '../app/inspect/nodes.ts';
import { type InspectedRun, readForViews } from '../app/inspect/read-run.ts';
import { findExecution, viewOf } from '../app/inspect/run.ts';
import type { RunView } from '../app/inspect/shapes.ts';
import { pricesOf } from '../app/run/budget.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { toldOf } from '../core/records/manifest.ts';
import { parsePoint } from '../core/records/names.ts';
import { printed } from '../run/result.ts';
import { findNamed, usage } from './find-run.ts';
import { type Io, paints } from './io.ts';
import { executionText, nodeTable, orderTable, settingRows, standingText } from './report/inspect.ts';
import { painter, rowsText, summary } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type ShowOptions = { readonly runsdir?: string; readonly json?: boolean; readonly color?: boolean };

type ShowIo = Io & { readonly clock: Clock };

/** `node` is `NODE` or `NODE@N`; without it the whole run is shown. */
export async function showCommand(
  run: string | undefined,
  node: string | undefined,
  options: ShowOptions,
  io: ShowIo,
): Promise<VerbResult> {
  const found = await findNamed(run ?? 'latest', options, io);
  if ('problems' in found) return found;
  const point = node === undefined ? undefined : parsePoint(node);
  if (point !== undefined && 'problem' in point)
    return usage(point.problem, 'write NODE or NODE@N, for example factory show latest check@2');
  const inspected = await readForViews(found.dir, io);
  if ('problems' in inspected) return inspected;
  const view = await viewOf(inspected, io);
  if (point === undefined) return showRun(inspected, view, options, io);
  const row = findExecution(view.executions, point.node, point.visit);
  if ('problems' in row) return row;
  const execution = await executionViewOf(inspected, row);
  if (options.json === true) io.out(`${JSON.stringify({ schema_version: 1, ...execution }, null, 2)}\n`);
  else {
    const paint = painter(paints(io, io.outIsTerminal, options.color));
    io.out(`${executionText(execution, await folderOf(found.dir, row), paint)}\n`);
  }
  return 0;
}

async function showRun(
  inspected: InspectedRun,
  view: RunView,
  options: ShowOptions,
  io: ShowIo,
): Promise<VerbResult> {
  if (options.json === true) io.out(`${JSON.stringify(await record(inspected, view), null, 2)}\n`);
  else io.out(`${screen(inspected, view, options, io)}\n`);
  return 0;
}

/** The nodes, the work orders while they are not all done, and the words of the end of a run, with the next command last. */
function screen(inspected: InspectedRun, view: RunView, { color }: ShowOptions, io: ShowIo): string {
  const paint = painter(paints(io, io.outIsTerminal, color));
  const width = io.outIsTerminal ? io.width : 160;
  const { manifest, history } = inspected;
  const isOpen = view.groups.some(({ kind, state }) => kind === 'order' && state !== 'done');
  const { result, next, at_node, wake_at, status } = view;
  const isIts = result !== null && result.status === status;
  const texts = [
    nodeTable(nodeRowsOf(inspected), paint, width).join('\n'),
    ...(isOpen ? [orderTable(view.groups, paint, width).join('\n')] : []),
    isIts ? summary({ ...result, next: '' }, paint) : standingText(view, history.checkpoint.steps, paint),
  ];
  const rows = [
    ...settingRows(manifest, view.spent, pricesOf(manifest)),
    ...(wake_at === null ? [] : [['resumes at', wake_at] as const]),
    ...(at_node === null
      ? []
      : [
          status === 'running'
            ? (['at', `node ${at_node}`] as const)
            : (['continues', `with node ${at_node}`] as const),
        ]),
    ...(next === '' ? [] : [['next', paint.bold(next)] as const]),
  ];
  return `${texts.join('\n\n')}\n${rowsText(rows, paint).join('\n')}`;
}

async function record(inspected: InspectedRun, view: RunView): Promise<object> {
  const { dir, manifest, history } = inspected;
  const sandboxes = await sandboxesIn(dir);
  const { dated, from } = pricesOf(manifest);
  const { context } = history.checkpoint;
  const failed = String(context['last_failure.node_id'] ?? '');
  return {
    schema_version: 1,
    ...view,
    run_id: manifest.run_id,
    next_node: view.at_node ?? '',
    sandbox: manifest.sandbox ?? null,
    holdout: manifest.holdout === undefined ? null : toldOf(manifest.holdout),
    prices: { dated, from },
    nodes: nodeRowsOf(inspected).map((row) => ({ ...row, sandbox: sandboxes.get(row.node) ?? null })),
    failure: failed === '' ? null : { node: failed, output: printed({ context }, failed) },
  };
}
