/** What of the run so far is put before an agent's prompt. Pure: the same past gives the same text. */
import type { Fidelity } from './fidelity.ts';

export type PreambleKind = Exclude<Fidelity, 'full'>;

/** Bytes of the whole text. */
const most: Readonly<Record<PreambleKind, number>> = {
  truncate: 200,
  compact: 4000,
  'summary:low': 2500,
  'summary:medium': 6000,
  'summary:high': 12_000,
};

/** An execution as the preamble has it: texts without secrets, names of runs and lines of the holdout. */
export type PastExecution = {
  readonly node: string;
  readonly visit: number;
  readonly type: string;
  /** The outcome, with the class of a failure. */
  readonly outcome: string;
  readonly label: string;
  readonly reason: string;
  readonly notes: string;
  /** What an agent did to which files: `created a.md`. */
  readonly changes: readonly string[];
  /** What an agent or a person answered, or a tool printed. */
  readonly text: string;
};

export type RunPast = {
  readonly goal: string;
  /** Of this round, in their order. */
  readonly executions: readonly PastExecution[];
  /** The failure that nothing has settled since. */
  readonly failure: { readonly node: string; readonly class: string; readonly reason: string } | undefined;
};

const [open, close] = ['<run_so_far>', '</run_so_far>'];

/** The text, with the line between it and the prompt; empty where there is nothing to say. */
export function preambleOf(kind: PreambleKind, past: RunPast): string {
  const room = most[kind] - sizeOf(`${open}\n${close}\n\n`);
  const lines = kind === 'truncate' ? [goalLine(past, room)] : summaryLines(kind, past, room);
  const shown = lines.filter((line) => line !== '').map(unframed);
  return shown.length === 0 ? '' : [open, ...shown, close, '', ''].join('\n');
}

/** No text ends the frame. */
const unframed = (text: string): string => text.replaceAll(close, '</run so far>');

const goalLine = ({ goal }: RunPast, room: number): string => field('Goal: ', goal.trim(), room - 1);

/** The goal, then what is not settled, then the executions: as many as fit, the latest in detail. */
function summaryLines(kind: PreambleKind, past: RunPast, room: number): readonly string[] {
  const { failure, executions } = past;
  const goal = goalLine(past, Math.floor(room / 4));
  const why = failure === undefined ? '' : oneLine(failure.reason);
  const unsettled = failure && field(`Not settled: ${failure.node} failed (${failure.class}): `, why, 500);
  const before = [goal, unsettled ?? ''].filter((line) => line !== '');
  if (executions.length === 0) return before;
  const title = 'Executed so far, the latest last:';
  const left = room - [...before, title].reduce((sum, line) => sum + sizeOf(line) + 1, 0);
  return [...before, title, ...entriesOf(kind, executions, left)];
}

function entriesOf(
  kind: PreambleKind,
  executions: readonly PastExecution[],
  room: number,
): readonly string[] {
  const heads = executions.map(headOf);
  const omission = (count: number) => (count === 0 ? [] : [`[${count} earlier ones are left out]`]);
  // A half at most, where there is something to say of the latest.
  const first = firstThatFits(heads, Math.floor(room / 2), sizeOf(omission(executions.length).join('')) + 1);
  const shown = executions.slice(first);
  let left = room - sizesOf([...omission(first), ...heads.slice(first)]);
  const details = shown.toReversed().map((one) => {
    const lines = detailsOf(kind, one, left);
    left -= sizesOf(lines);
    return lines;
  });
  return [
    ...omission(first),
    ...heads.slice(first).flatMap((head, n) => [head, ...(details[shown.length - 1 - n] ?? [])]),
  ];
}

const headOf = ({ node, visit, type, outcome, label }: PastExecution): string =>
  cut(
    `- ${node}@${visit} (${type}): ${outcome}${label === '' ? '' : `, label ${cut(oneLine(label), 100)}`}`,
    300,
  );

/** The number of the first of the latest lines that fit together; `besides`: bytes for the note of those that do not. */
function firstThatFits(lines: readonly string[], room: number, besides: number): number {
  let left = room;
  for (let at = lines.length - 1; at >= 0; at--) {
    left -= sizeOf(lines[at] ?? '') + 1;
    if (left < (at === 0 ? 0 : besides)) return Math.min(at + 1, lines.length - 1);
  }
  return 0;
}

/** A detail that has less room than this is left out. */
const leastDetail = 40;

/** Each detail gets a share of what is left, so that the latest execution has most of it and none has all. */
function detailsOf(kind: PreambleKind, one: PastExecution, room: number): readonly string[] {
  const lines: string[] = [];
  let left = room;
  const add = (name: string, text: string, part: number): void => {
    const share = Math.floor(left * part) - 1;
    if (text === '' || share < leastDetail) return;
    const line = field(`  ${name}:${text.startsWith('\n') ? '' : ' '}`, text, share);
    lines.push(line);
    left -= sizeOf(line) + 1;
  };
  add('reason', oneLine(one.reason), 0.25);
  add('notes', oneLine(one.notes), 0.25);
  add('files', listed(one.changes, Math.floor(left * 0.25) - 10), 0.25);
  if (kind === 'compact') return lines;
  // Of an output the end says most, of an answer the beginning.
  if (one.type === 'tool') add('output', indented(lastLines(one.text, Math.floor(left * 0.6) - 60)), 0.6);
  else add('answer', indented(one.text), 0.6);
  return lines;
}

/** The last lines that fit, indented. */
function lastLines(text: string, room: number): string {
  const lines = text.trim().split('\n');
  const first = firstThatFits(
    lines.map((line) => `    ${line}`),
    room,
    sizeOf(mark),
  );
  return [...(first === 0 ? [] : [mark.trim()]), ...lines.slice(first)].join('\n');
}

const indented = (text: string): string => {
  const lines = text.trim().split('\n');
  return lines.length === 1 ? (lines[0] ?? '') : lines.map((line) => `\n    ${line.trimEnd()}`).join('');
};

function listed(all: readonly string[], room: number): string {
  const fits = firstThatFits(all.toReversed(), room, 20);
  const shown = all.slice(0, all.length - fits);
  return [...shown, ...(fits === 0 ? [] : [`${fits} more`])].join(', ');
}

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ');

/** A named text within so many bytes; empty without a text. */
const field = (name: string, text: string, room: number): string =>
  text === '' ? '' : cut(`${name}${text}`, room);

const mark = ' [cut]';

/** The text, or its beginning with a mark: at most so many bytes, and no character in part. */
function cut(text: string, bytes: number): string {
  if (sizeOf(text) <= bytes) return text;
  let left = bytes - sizeOf(mark);
  let end = 0;
  for (const character of text) {
    left -= sizeOf(character);
    if (left < 0) break;
    end += character.length;
  }
  return `${text.slice(0, end).trimEnd()}${mark}`;
}

const sizeOf = (text: string): number => Buffer.byteLength(text);
const sizesOf = (lines: readonly string[]): number => lines.reduce((sum, line) => sum + sizeOf(line) + 1, 0);

/* What the branches of a join give the first agent after it. */

/** Bytes of what a prompt says of branches that have met. */
const mostOfBranches = 8 * 1024;

/** How each branch ended, as many as fit, each with its share of the room for its notes and its answer; empty without branches.
 *  `branches`: of each the execution that says most, under the id of the branch and with its outcome. */
export function branchAccounts(join: string, branches: readonly PastExecution[]): string {
  if (branches.length === 0) return '';
  const title = `Results of the branches that met in ${join}:`;
  const heads = branches.map(({ node, outcome }) => cut(`- ${node}: ${outcome}`, 300));
  const omission = (count: number) => (count === 0 ? [] : [`[${count} more branches are left out]`]);
  const room = mostOfBranches - sizesOf([title, ...omission(branches.length)]);
  const left = firstThatFits(heads.toReversed(), room, 0);
  const shown = heads.length - left;
  let free = room - sizesOf(heads.slice(0, shown));
  const lines = branches.slice(0, shown).flatMap((one, at) => {
    const details = detailsOf('summary:high', one, Math.floor(free / (shown - at)));
    free -= sizesOf(details);
    return [heads[at] ?? '', ...details];
  });
  return [title, ...lines, ...omission(left)].join('\n');
}
