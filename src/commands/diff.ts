/** `factory diff`: what happened to a run's workspace between two of its moments. */
import { posix } from 'node:path';
import type { Checkpoint } from '../model/checkpoint.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { unreachable } from '../model/json.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import { isSnapshotName, momentText, parsePoint } from '../model/point.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { findMoment } from '../store/moment.ts';
import { messageOf } from '../store/problem.ts';
import { readManifest } from '../store/run-store.ts';
import { GitError } from '../system/git.ts';
import { diff } from '../workspace/changes.ts';
import { liesIn, shown } from '../workspace/names.ts';
import { patchOf, type Sides, type Untold } from '../workspace/patch.ts';
import type { Entry } from '../workspace/snapshot.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { type Io, paints, type Raw } from './io.ts';
import { type Paint, painter } from './print.ts';
import { refuse, wrong } from './refuse.ts';
import { soFarOf } from './so-far.ts';

export type DiffOptions = {
  readonly at?: string;
  readonly from?: string;
  readonly to?: string;
  readonly names?: boolean;
  readonly runsdir?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** A moment of the run: its words, and the snapshot of the workspace. */
type Moment = { readonly words: string; readonly snapshot: string };
type Moments = {
  readonly runId: string;
  readonly from: Moment;
  readonly to: Moment;
  readonly runDir: string;
};

/** Tells what changed: as a patch, as names, or as JSON. Answers with the exit code: 0 whether anything has changed or
 *  not. */
export async function diffCommand(
  run: string,
  paths: readonly string[],
  options: DiffOptions,
  io: Io & Pick<Raw, 'bytes'>,
): Promise<number> {
  const refused = async (problem: Diagnostic, code = 2): Promise<number> => {
    await refuse([problem], io, options, code);
    return code;
  };
  const moments = await momentsOf(run, options, io);
  if ('message' in moments) return refused(moments);
  // Of a whole run it is the product that is asked for.
  const isOfProduct = paths.length === 0 && options.at === undefined;
  const only = isOfProduct ? isProduct : onlyAt(paths);
  if (typeof only !== 'function') return refused(only);
  try {
    const at = layout(moments.runDir);
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
    const before = await snapshots.load(moments.from.snapshot);
    const after = await snapshots.load(moments.to.snapshot);
    const sides = { before, after };
    const changes = changed(sides, only);
    const own = isOfProduct ? changed(sides, (path) => !isProduct(path)).length : 0;
    if (own > 0)
      io.err(
        `left out: ${own === 1 ? 'one path' : `${own} paths`} in ${ours}, which is the engine's own; name that folder to see ${own === 1 ? 'it' : 'them'}\n`,
      );
    if (options.json === true) {
      io.out(`${JSON.stringify(record(moments, changes), null, 2)}\n`);
      return 0;
    }
    if (changes.length === 0) {
      const where = paths.length === 0 ? '' : ` in ${paths.join(', ')}`;
      const { runId, from, to } = moments;
      io.err(`run ${runId}, ${from.words} to ${to.words}: nothing has changed${where}\n`);
      return 0;
    }
    const colour = paints(io, io.outIsTerminal, options.color);
    if (options.names === true) {
      for (const { path, what } of changes) io.out(`${marked(what, painter(colour))} ${shown(path)}\n`);
      return 0;
    }
    const told = await readManifest(moments.runDir);
    const { take, end } = printer(io);
    const untold = await patchOf(sides, snapshots, {
      env: io.env,
      sha256: told.ok && told.manifest.base_commit?.length === 64,
      colour,
      toBeRead: io.outIsTerminal,
      only,
      take,
    });
    end();
    for (const line of untoldWords(untold)) io.err(`${line}\n`);
    return 0;
  } catch (error) {
    if (error instanceof GitError)
      return refused(wrong('git', error.message, '--names and --json tell what has changed without git'), 1);
    if (error instanceof WorkspaceError) return refused(wrong('diff', messageOf(error)), 1);
    throw error;
  }
}

async function momentsOf(run: string, options: DiffOptions, io: Io): Promise<Moments | Diagnostic> {
  const { at, from, to } = options;
  if (at !== undefined && (from !== undefined || to !== undefined))
    return wrong(
      'usage',
      '--at tells one visit, from its beginning to its end; --from and --to say it otherwise',
      'leave --at out, or the other two',
    );
  const soFar = await soFarOf(run, options, io);
  if ('message' in soFar) return soFar;
  const { checkpoint, records, runDir } = soFar;
  const runId = checkpoint.run_id;
  const moment = (flag: string, text: string, before: boolean): Moment | Diagnostic => {
    if (!before && isSnapshotName(text)) return { words: text.slice(0, 12), snapshot: text };
    const point = parsePoint(text);
    if ('problem' in point)
      return wrong('usage', `--${flag} ${point.problem}`, point.fix.replace('--at', `--${flag}`));
    const there = findMoment(records, point, before);
    if (!there.ok) return wrong('no-visit', `run ${runId}: ${there.why}`, there.fix);
    const { node, visit } = there.visit;
    return { words: momentText({ node, visit, before }), snapshot: there.snapshot };
  };
  const first = at ?? from;
  const last = at ?? to;
  const start =
    first === undefined ? beginningOf(records) : moment(at ? 'at' : 'from', first, at !== undefined);
  if (start === undefined) return wrong('run-files', `run ${runId} has no record of its beginning`);
  if ('message' in start) return start;
  const end = last === undefined ? latestOf(checkpoint) : moment(at ? 'at' : 'to', last, false);
  if (end === undefined) return wrong('run-files', `the checkpoint of run ${runId} names no snapshot`);
  return 'message' in end ? end : { runId, runDir, from: start, to: end };
}

const ours = inWorkspace.factory;
const isProduct = (path: string): boolean => path !== ours && !path.startsWith(`${ours}/`);

/** Whether a path is one of these or lies below one; without any, every path is. */
function onlyAt(paths: readonly string[]): ((path: string) => boolean) | Diagnostic {
  const wanted = paths.map((path) => posix.normalize(path).replace(/\/$/, ''));
  const outside = wanted.findIndex((path) => path.startsWith('/') || path === '..' || path.startsWith('../'));
  if (outside !== -1)
    return wrong(
      'usage',
      `"${paths[outside]}" does not lie in the workspace`,
      'name files and folders as the workspace has them, from its top on',
    );
  if (wanted.length === 0 || wanted.includes('.')) return () => true;
  const these = new Set(wanted);
  // A name that is no UTF-8 cannot be typed in any other way than as we show it.
  return (path) => liesIn(these, path) || liesIn(these, shown(path));
}

function beginningOf(records: readonly RunRecord[]): Moment | undefined {
  const [first] = records;
  return first?.type === 'Start' ? { words: 'as it began', snapshot: first.snapshot } : undefined;
}

const latestOf = ({ snapshot }: Checkpoint): Moment | undefined =>
  snapshot === null ? undefined : { words: 'its latest checkpoint', snapshot };

type What = 'created' | 'modified' | 'deleted';
type Change = { readonly path: string; readonly what: What; readonly before?: Entry; readonly after?: Entry };

/** All that differs, folders too, sorted by path. */
function changed({ before, after }: Sides, only: (path: string) => boolean): readonly Change[] {
  const { folders, ...items } = diff(before, after);
  const found: Change[] = [];
  for (const lists of [items, folders])
    for (const what of ['created', 'modified', 'deleted'] as const)
      for (const path of lists[what].filter(only)) {
        const was = what === 'created' ? undefined : before.tree.get(path);
        const is = what === 'deleted' ? undefined : after.tree.get(path);
        found.push({
          path,
          what,
          ...(was === undefined ? {} : { before: was }),
          ...(is === undefined ? {} : { after: is }),
        });
      }
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function marked(what: What, paint: Paint): string {
  switch (what) {
    case 'created':
      return paint.green('A');
    case 'modified':
      return paint.yellow('M');
    case 'deleted':
      return paint.red('D');
    default:
      return unreachable(what);
  }
}

function record({ runId, from, to }: Moments, changes: readonly Change[]): object {
  const facts = (entry: Entry | undefined) =>
    entry === undefined
      ? null
      : {
          kind: entry.kind,
          mode: entry.mode.toString(8).padStart(4, '0'),
          ...(entry.size === undefined ? {} : { size: entry.size }),
          ...(entry.hash === undefined ? {} : { sha256: entry.hash }),
          ...(entry.target === undefined ? {} : { target: entry.target }),
        };
  return {
    schema_version: 1,
    run_id: runId,
    from: { moment: from.words, snapshot: from.snapshot },
    to: { moment: to.words, snapshot: to.snapshot },
    changes: changes.map(({ path, what, before, after }) => ({
      path,
      what,
      before: facts(before),
      after: facts(after),
    })),
  };
}

/** Prints a patch for `git apply`; on a terminal without control characters. */
function printer(io: Io & Pick<Raw, 'bytes'>) {
  if (!io.outIsTerminal) return { take: (piece: Buffer) => io.bytes(piece), end: () => {} };
  const text = new TextDecoder();
  let rest = '';
  const take = (piece: Buffer): void => {
    const all = rest + text.decode(piece, { stream: true });
    // A piece may end in the midst of a colour, or of a line end.
    rest = /(?:\r|\x1b[^m]{0,8})$/.exec(all)?.[0] ?? '';
    const whole = all.slice(0, all.length - rest.length);
    // Git ends its colours in the short way. What would begin like a live line of ours is none.
    io.out(whole.replaceAll('\x1b[m', '\x1b[0m').replace(/\r(?!\n)/g, '\\u000d'));
  };
  return { take, end: () => io.out(rest) };
}

const whys: Readonly<Record<Untold['why'], string>> = {
  folder: 'folders that came, went or have other permissions',
  permissions: 'other permissions than to be executed',
  large: 'too large to be compared',
  name: 'names that git does not take',
};

/** What the patch lacks, a line for each kind. */
function untoldWords(untold: readonly Untold[]): readonly string[] {
  return (Object.keys(whys) as Untold['why'][]).flatMap((why) => {
    const paths = untold.filter((one) => one.why === why).map(({ path }) => shown(path));
    if (paths.length === 0) return [];
    const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
    return [`not in the patch (${whys[why]}): ${paths.slice(0, 3).join(', ')}${more}; --names lists all`];
  });
}
