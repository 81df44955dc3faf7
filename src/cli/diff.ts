/** `factory diff`: what happened to a run's workspace between two of its moments. */
import { changesAsked, listChanges } from '../app/change-list.ts';
import {
  findMoments,
  isProduct,
  loadSides,
  type PathChange,
  pathChanges,
  type TwoMoments,
} from '../app/changes.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { unreachable } from '../core/json.ts';
import { inWorkspace } from '../core/records/layout.ts';
import { shownPath } from '../platform/files/names.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { GitError } from '../platform/git.ts';
import { openRun } from '../run/open-run.ts';
import { messageOf } from '../run/unreadable.ts';
import { patchOf, type Sides, type Untold } from '../workspace/patch.ts';
import { findNamed, loadProgress } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { type Paint, painter } from './report/run.ts';
import type { VerbResult } from './verb.ts';

export type DiffOptions = {
  readonly at?: string;
  readonly from?: string;
  readonly to?: string;
  readonly names?: boolean;
  readonly runsdir?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

type Moments = TwoMoments & { readonly runId: string; readonly runDir: string };

/** Prints what changed: as a patch, as names, or as JSON. The exit code is 0 whether anything has changed or not. */
export async function diffCommand(
  run: string,
  paths: readonly string[],
  options: DiffOptions,
  io: CliIo,
): Promise<VerbResult> {
  const query = { ...options, paths };
  const isOfProduct = paths.length === 0 && options.at === undefined;
  if (options.json === true) {
    const found = await findNamed(run, options, io);
    if ('problems' in found) return found;
    const list = await listChanges(found.dir, query, io.env);
    if ('problems' in list) return list;
    if (isOfProduct) printLeftOut(list.left_out, io);
    io.out(`${JSON.stringify(list, null, 2)}\n`);
    return 0;
  }
  const moments = await momentsOf(run, options, io);
  if ('problems' in moments) return moments;
  const only = changesAsked(query);
  if (typeof only !== 'function') return only;
  try {
    const { sides, snapshots } = await loadSides(moments.runDir, moments);
    if (isOfProduct) printLeftOut(pathChanges(sides, (path) => !isProduct(path)).length, io);
    const changes = pathChanges(sides, only);
    const { runId, from, to } = moments;
    if (changes.length === 0) {
      const where = paths.length === 0 ? '' : ` in ${paths.join(', ')}`;
      io.err(`run ${runId}, ${from.words} to ${to.words}: nothing has changed${where}\n`);
    } else if (options.names === true) {
      const paint = painter(paints(io, io.outIsTerminal, options.color));
      for (const { path, what } of changes) io.out(`${marked(what, paint)} ${shownPath(path)}\n`);
    } else await printPatch(moments.runDir, sides, snapshots, only, options, io);
    return 0;
  } catch (error) {
    if (error instanceof GitError)
      return refused('git', error.message, '--names and --json tell what has changed without git', 1);
    if (error instanceof WorkspaceError) return refused('diff', messageOf(error), undefined, 1);
    throw error;
  }
}

function printLeftOut(count: number, io: CliIo): void {
  if (count === 0) return;
  const [what, it] = count === 1 ? ['one path', 'it'] : [`${count} paths`, 'them'];
  io.err(
    `left out: ${what} in ${inWorkspace.factory}, which is the engine's own; name that folder to see ${it}\n`,
  );
}

async function printPatch(
  runDir: string,
  sides: Sides,
  snapshots: Parameters<typeof patchOf>[1],
  only: (path: string) => boolean,
  { color }: DiffOptions,
  io: CliIo,
): Promise<void> {
  const read = await openRun(runDir).manifest();
  const { take, end } = printer(io);
  const untold = await patchOf(sides, snapshots, {
    env: io.env,
    sha256: read.ok && read.manifest.base_commit?.length === 64,
    colour: paints(io, io.outIsTerminal, color),
    toBeRead: io.outIsTerminal,
    only,
    take,
  });
  end();
  for (const line of untoldWords(untold)) io.err(`${line}\n`);
}

async function momentsOf(run: string, options: DiffOptions, io: CliIo): Promise<Moments | Refusal> {
  const progress = await loadProgress(run, options, io);
  if ('problems' in progress) return progress;
  const moments = findMoments(progress, options);
  if ('problems' in moments) return moments;
  return { ...moments, runId: progress.checkpoint.run_id, runDir: progress.runDir };
}

function marked(what: PathChange['what'], paint: Paint): string {
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

/** Prints a patch for `git apply`; on a terminal without control characters. */
function printer(io: CliIo) {
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
    const paths = untold.filter((one) => one.why === why).map(({ path }) => shownPath(path));
    if (paths.length === 0) return [];
    const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
    return [`not in the patch (${whys[why]}): ${paths.slice(0, 3).join(', ')}${more}; --names lists all`];
  });
}
