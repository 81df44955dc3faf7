/** The first execution in which two runs differ. */
import { countedItems } from '../../core/amounts.ts';
import { executionsInOrder } from '../../core/branch-path.ts';
import { nodeLayout } from '../../core/records/layout.ts';
import type { VisitRecord } from '../../core/records/visit.ts';
import { readPlain } from '../../platform/files/read.ts';
import { normalForm, runNames } from '../../run/comparable.ts';
import { spokenCommand } from '../../run/evidence.ts';
import { executionName } from '../inspect/executions.ts';
import { folderOf } from '../inspect/folder.ts';
import type { InspectedRun } from '../inspect/read-run.ts';
import { differentSettings } from './inputs.ts';
import type { Parting, PartingDifference, RunComparison } from './shape.ts';

/** What one execution has left otherwise in the two runs, of what it has changed in either: paths of the product with what became of
 *  them. */
export type OtherChanges = (
  a: VisitRecord,
  b: VisitRecord,
) => Promise<readonly Pick<PartingDifference, 'name' | 'a' | 'b'>[]>;

/** How many executions are the same, and the first that is not. */
export async function partingOf(
  a: InspectedRun,
  b: InspectedRun,
  changes: OtherChanges,
): Promise<Pick<RunComparison, 'same' | 'parting'>> {
  const [ofA, ofB] = [stepsOf(a), stepsOf(b)];
  const normal = normalForm([a, b].map(({ row, dir }) => runNames(row.run_id, dir)));
  const both = Math.min(ofA.length, ofB.length);
  for (let at = 0; at < both; at += 1) {
    const [was, is] = [ofA[at], ofB[at]];
    if (was === undefined || is === undefined) break;
    const differs =
      was.visit.node === is.visit.node
        ? await differencesIn(was, is, { normal, changes })
        : [{ what: 'node', name: '', a: was.visit.node, b: is.visit.node } as const];
    if (differs.length > 0) return { same: at, parting: partingAt(at, was, is, differs) };
  }
  const [nextA, nextB] = [ofA[both], ofB[both]];
  // One that has not ended may still go the same way.
  const isOpen = (run: InspectedRun, next: Step | undefined) =>
    next === undefined && run.history.checkpoint.ended === null;
  if ((nextA ?? nextB) === undefined || isOpen(a, nextA) || isOpen(b, nextB))
    return { same: both, parting: null };
  const name = (step: Step | undefined) => step?.visit.node ?? null;
  const differs = [{ what: 'node', name: '', a: name(nextA), b: name(nextB) } as const];
  return { same: both, parting: partingAt(both, nextA, nextB, differs) };
}

export const finishedIn = ({ history }: InspectedRun): readonly VisitRecord[] =>
  executionsInOrder(history.records).map(({ visit }) => visit);

/** A finished execution, with its row in the views of its run. */
type Step = {
  readonly run: InspectedRun;
  readonly visit: VisitRecord;
  readonly row: InspectedRun['executions'][number] | undefined;
};

function stepsOf(run: InspectedRun): readonly Step[] {
  const rows = new Map(run.executions.map((row) => [executionName(row), row]));
  return finishedIn(run).map((visit) => ({ run, visit, row: rows.get(executionName(visit)) }));
}

const partingAt = (
  at: number,
  a: Step | undefined,
  b: Step | undefined,
  differs: readonly PartingDifference[],
): Parting => ({ index: at + 1, a: endOf(a), b: endOf(b), differs: [...differs] });

function endOf(step: Step | undefined): Parting['a'] {
  const row = step?.row;
  if (row === undefined) return null;
  const { node, visit: number, state, class: ofClass, reason, next, how, took_ms, cost_usd } = row;
  return { node, visit: number, state, class: ofClass, reason, next, how, took_ms, cost_usd };
}

/** The same node in both runs: its settings, what it was given, what came of it and where it led. */
async function differencesIn(
  a: Step,
  b: Step,
  { normal, changes }: { readonly normal: (text: string) => string; readonly changes: OtherChanges },
): Promise<readonly PartingDifference[]> {
  const { node } = a.visit;
  const found: PartingDifference[] = [];
  for (const one of differentSettings(a.run, b.run, node)) found.push({ what: 'settings', ...one });
  const hasOwnSettings = found.length > 0;
  const [promptA, promptB] = [await promptOf(a), await promptOf(b)];
  // The texts are long, and may be withheld: that they differ is all that is said.
  if (!hasOwnSettings && normal(promptA ?? '') !== normal(promptB ?? ''))
    found.push({ what: 'inputs', name: 'prompt', a: null, b: null });
  const words = (of: Step, text: string): string | null => (of.run.withheld(node) ? null : text);
  const [commandA, commandB] = [commandsOf(a), commandsOf(b)];
  if (!hasOwnSettings && normal(commandA) !== normal(commandB))
    found.push({ what: 'inputs', name: 'command', a: words(a, commandA), b: words(b, commandB) });
  const [outcomeA, outcomeB] = [outcomeOf(a), outcomeOf(b)];
  if (outcomeA !== outcomeB) found.push({ what: 'outcome', name: '', a: outcomeA, b: outcomeB });
  if (a.visit.after !== b.visit.after)
    for (const one of await changes(a.visit, b.visit)) found.push({ what: 'changes', ...one });
  const [nextA, nextB] = [nextOf(a), nextOf(b)];
  if (nextA !== nextB) found.push({ what: 'route', name: '', a: nextA, b: nextB });
  return found;
}

/** The node that came after it; null at an end, also where a resume would repeat the node. */
const nextOf = ({ row }: Step): string | null => row?.next ?? null;

async function promptOf({ run, visit }: Step): Promise<string | undefined> {
  const read = readPlain(nodeLayout(await folderOf(run.dir, visit)).prompt);
  return read.kind === 'text' ? read.text : undefined;
}

const commandsOf = ({ visit }: Step): string =>
  (visit.commands ?? []).map(({ argv }) => spokenCommand(argv)).join('\n');

const outcomeOf = ({ visit: { outcome } }: Step): string =>
  [
    outcome.status,
    outcome.status === 'fail' ? ` (${outcome.class})` : '',
    outcome.label === undefined || outcome.label === '' ? '' : `, ${outcome.label}`,
  ].join('');

/** Where the ways part, in a sentence. */
export function partingLine({
  same,
  parting,
  otherFiles,
  ...runs
}: Pick<RunComparison, 'same' | 'parting' | 'a' | 'b'> & { readonly otherFiles: boolean }): string {
  const before = same === 1 ? 'The first execution is' : `The first ${countedItems(same, 'execution')} are`;
  if (parting === null) {
    const open = [runs.a, runs.b].find(({ executions }) => executions > same);
    return open === undefined
      ? `Both runs have the same ${countedItems(same, 'execution')}${otherFiles ? ', but began with other files' : ''}`
      : `${before} the same; one of the runs has not come further`;
  }
  const { a, b, index } = parting;
  const at = a ?? b;
  if (a === null || b === null)
    return `${before} the same; then ${a === null ? 'A' : 'B'} has ended, and ${a === null ? 'B' : 'A'} executes ${at?.node}@${at?.visit}`;
  if (a.node !== b.node)
    return `The ways part at execution ${index}: A executes ${a.node}@${a.visit}, B ${b.node}@${b.visit}`;
  return `The ways part at ${a.node}@${a.visit} (execution ${index}): ${differenceWords(parting.differs)}`;
}

const whatWords: Readonly<Record<PartingDifference['what'], string>> = {
  node: 'another node',
  settings: 'settings',
  inputs: 'inputs',
  outcome: 'outcome',
  changes: 'changed files',
  route: 'route',
};

/** `other settings, outcome and route` */
function differenceWords(differs: Parting['differs']): string {
  const words = [...new Set(differs.map(({ what }) => whatWords[what]))];
  const last = words.at(-1) ?? '';
  return `other ${words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`}`;
}
