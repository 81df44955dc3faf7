/** One execution of a node as a view: its texts, changes, edges and files. */
import { lstatSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Environment } from '../../core/contracts/process.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { failureExcerpt, mostReadOfStream } from '../../core/failure-excerpt.ts';
import { isExecutableType } from '../../core/graph.ts';
import { masker } from '../../core/policy/mask.ts';
import { textsToMask } from '../../core/policy/secrets.ts';
import { nodeLayout } from '../../core/records/layout.ts';
import { type Question, questionSchema } from '../../core/records/question.ts';
import type { VisitRecord } from '../../core/records/visit.ts';
import { assertNoLinkAbove } from '../../platform/files/inside.ts';
import { namesIn, readEnds, readPart, tailOf } from '../../platform/files/read.ts';
import { spokenCommand } from '../../run/evidence.ts';
import type { RunReader } from '../../run/open-run.ts';
import { printed } from '../../run/result.ts';
import { jsonOf } from '../../run/runs.ts';
import { changesIn } from './execution-changes.ts';
import type { ExecutionRow, ExecutionView, ShownText } from './execution-shapes.ts';
import { failedOutput } from './failed-output.ts';
import { folderOf } from './folder.ts';
import { nodeSettingsOf } from './node-settings.ts';
import { type InspectedRun, readForViews } from './read-run.ts';
import type { InspectHost } from './rows.ts';
import { findExecution, groupedExecutions } from './run.ts';
import type { RunRow } from './run-row.ts';

/** Bytes of one text, and texts of the programs of one execution. */
const most = { bytes: 256 * 1024, texts: 40, files: 1000 } as const;

/** What `factory show RUN NODE` answers with: the execution `visit` of `node`, by default the latest; or why there is none. Secrets
 *  of `env` are masked in what its programs printed. */
export async function inspectExecution(
  dir: string,
  node: string,
  visit: number | undefined,
  host: InspectHost & { readonly env: Environment },
): Promise<ExecutionView | Refusal> {
  const run = await readForViews(dir, host);
  if ('problems' in run) return run;
  const { executions } = await groupedExecutions(run);
  const row = findExecution(executions, node, visit);
  if ('problems' in row) return row;
  const view = await executionViewOf(run, row);
  if (!areMasked(view.state, run.row.status)) return { ...view, excerpt: '', failed: null, output: [] };
  const mask = masker(textsToMask(host.env));
  return { ...view, output: view.output.map((one) => ({ ...one, text: mask(one.text) })) };
}

/** Whether the files of an execution are as its engine has left them at its end: it masks secrets in what programs have written when
 *  they end, and a killed one does not. */
export const areMasked = (state: ExecutionRow['state'], run: RunRow['status'] | undefined): boolean =>
  state !== 'running' && (state !== 'interrupted' || run !== 'crashed');

export async function executionViewOf(run: InspectedRun, row: ExecutionRow): Promise<ExecutionView> {
  const folder = await folderOf(run.dir, row);
  const at = nodeLayout(folder);
  // A node can put links in its folder, to files that it cannot read itself: none is followed.
  assertNoLinkAbove(run.dir, relative(run.dir, at.prompt));
  const record = run.history.records.find(
    (one) => one.type === 'Visit' && one.node === row.node && one.visit === row.visit,
  );
  const visit = record?.type === 'Visit' ? record : undefined;
  const withheld = run.withheld(row.node);
  const files = filesIn(folder);
  const text = (path: string) => (withheld ? null : shownText(folder, path));
  return {
    schema_version: 1,
    ...row,
    settings: [...nodeSettingsOf(run, row.node)],
    excerpt: await excerptOf(run, row, folder, visit, withheld),
    failed: row.state === 'fail' && visit !== undefined ? await failedOutput(run, visit) : null,
    commands: [...spokenIn(visit?.setup?.commands, 'setup: '), ...spokenIn(visit?.commands)],
    prompt: text(at.prompt),
    answer: text(at.response),
    output: withheld ? [] : outputsIn(folder, files),
    context: contextOf(visit, withheld),
    changes: changesIn(at.diff),
    edges: (visit?.route?.candidates ?? []).map(({ to, condition, matched, lost = '' }) => ({
      ...{ to, condition, matched },
      why_not: lost,
    })),
    files,
    question: questionOf(run, row, at.question),
    sandbox: await sandboxOf(run.reader, row),
    withheld,
  };
}

const spokenIn = (commands: VisitRecord['commands'] = [], word = '') =>
  commands.map(({ argv, exit_code }) => ({ command: `${word}${spokenCommand(argv)}`, exit_code }));

/** What a human gate asked: of one that waits the question in the state of the run. */
function questionOf({ history }: InspectedRun, { node, visit }: ExecutionRow, path: string): Question | null {
  const { question: open } = history.checkpoint;
  if (open?.node === node && open.visit === visit) return open;
  return questionSchema().safeParse(isPlain(path) ? jsonOf(path) : undefined).data ?? null;
}

const isPlain = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** The end of a text; null if it does not exist. */
function shownText(folder: string, path: string): ShownText | null {
  const { size = 0 } = readPart(path, 0, 0) ?? {};
  const part = readPart(path, Math.max(0, size - most.bytes), size);
  if (part === undefined) return null;
  const text = tailOf(part.bytes, part.bytes.length);
  const from = Math.max(0, size - Buffer.byteLength(text));
  return { name: path.slice(folder.length + 1), text, bytes: size, from };
}

/** What the programs of an execution printed, in the order of its commands. */
function outputsIn(folder: string, files: ExecutionView['files']): ShownText[] {
  const names = files
    .filter(({ name, bytes }) => bytes > 0 && /(?:^|\.)(?:stdout|stderr)\.(?:txt|log)$/.test(name))
    .map(({ name }) => name)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const texts = names.slice(0, most.texts).map((name) => shownText(folder, join(folder, name)));
  return texts.filter((text) => text !== null);
}

/** What the programs of an execution printed, and what its model answered. */
export async function outputsOf(
  dir: string,
  execution: { readonly node: string; readonly visit: number },
): Promise<readonly ShownText[]> {
  const folder = await folderOf(dir, execution);
  const answer = await shownText(folder, nodeLayout(folder).response);
  return [...(await outputsIn(folder, filesIn(folder))), ...(answer === null ? [] : [answer])];
}

/** The plain files directly in the folder. */
function filesIn(folder: string): ExecutionView['files'] {
  return namesIn(folder)
    .slice(0, most.files)
    .flatMap((name) => {
      const is = lstatSync(join(folder, name), { throwIfNoEntry: false });
      return is?.isFile() !== true || name === 'stage.json' || name.startsWith('.')
        ? []
        : [{ name, bytes: is.size }];
    });
}

/** What its output says of a failure: what later nodes were given of the latest one, else read again from its files. */
async function excerptOf(
  { history }: InspectedRun,
  { node, state }: ExecutionRow,
  folder: string,
  visit: VisitRecord | undefined,
  withheld: boolean,
): Promise<string> {
  if (state !== 'fail' || visit === undefined) return '';
  const { context, last_failure } = history.checkpoint;
  const set = visit.context.set;
  const own = 'last_failure.summary' in set ? printed({ context: set }, node) : '';
  if (own !== '') return own;
  if (withheld) return last_failure?.node === node ? printed({ context }, node) : '';
  const failing = visit.commands?.findLast(({ exit_code }) => exit_code !== 0);
  const streams = failing === undefined ? [] : [failing.stderr, failing.stdout];
  const parts = await Promise.all(
    streams
      .filter((name) => isPlain(join(folder, name)))
      .map(async (name) => {
        const text = failureExcerpt((await readEnds(join(folder, name), mostReadOfStream)) ?? '', {
          whole: name,
        });
        return text === '' ? '' : `${name}:\n${text}`;
      }),
  );
  return parts.filter((part) => part !== '').join('\n');
}

/** Of a node that may see the holdout only what the engine has set: it is without lines of the holdout. */
function contextOf(visit: VisitRecord | undefined, withheld: boolean): ExecutionView['context'] {
  if (visit === undefined) return { set: {}, unset: [] };
  const { set, unset } = visit.context;
  const isShown = ([key]: [string, unknown]) =>
    !withheld || key.startsWith('last_failure.') || key === 'outcome';
  return { set: Object.fromEntries(Object.entries(set).filter(isShown)), unset };
}

/** What confined the programs of an execution; null for one that started none. */
async function sandboxOf(reader: RunReader, row: ExecutionRow): Promise<string | null> {
  if (!isExecutableType(row.type)) return null;
  let found: string | null = null;
  // One record after the other: a trace may be larger than the memory.
  for await (const entry of reader.view('trace')) {
    if (entry.kind !== 'record') continue;
    const { type, sandbox, node_id, visit } = entry.record;
    if (type === 'NodeInputCaptured' && node_id === row.node && visit === row.visit)
      found = typeof sandbox === 'string' ? sandbox : null;
  }
  return found;
}
