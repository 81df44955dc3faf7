/** The door for agent programs: what one of them gets of the machine, and what is kept of it. */

import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { AgentProgram, ReadScope } from '../agents/agent.ts';
import { layout, nodeLayout } from '../model/layout.ts';
import { confinedEnvironment } from '../policy/confinement.ts';
import { madeInCovers } from '../system/sandbox/bwrap.ts';
import type { Confinement } from '../system/sandbox/confinement.ts';
import type { Exit, ProcessId, Spawn } from '../system/spawn.ts';
import { bringBack, type HidingPlace, hide, type OutOfSight, pathsToHide } from '../workspace/hide.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { look } from '../workspace/walk.ts';
import { reopen } from './reopen.ts';

/** Bytes of one stream that an agent program may fill a file with. */
export const mostAgentOutput = 256 * 1024 * 1024;

/** Where in a run directory hidden files wait. */
export const hidingPlace = (runDir: string): HidingPlace => ({
  folder: layout(runDir).hidden,
  list: layout(runDir).hiddenList,
});

export type AgentDoor = {
  readonly spawn: Spawn;
  readonly runDir: string;
  readonly workspace: string;
  readonly nodeDir: string;
  /** The stage's environment with the secrets of these names, and the values that must not be seen. */
  readonly environment: (keys: readonly string[]) => {
    readonly env: Readonly<Record<string, string>>;
    readonly mask: readonly string[];
  };
  /** How it is confined, by what it declares. */
  readonly confinement?: (program: {
    readonly network: boolean;
    readonly home: AgentProgram['home'];
    readonly file: string | undefined;
  }) => Confinement;
  /** What of the workspace the node lets it read; empty for all. */
  readonly readScope?: readonly string[];
  readonly keep: (name: string, content: string) => Promise<void>;
  /** Milliseconds that the program may take. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** As a spawn takes it. */
  readonly marker: string;
  readonly spawned: (process: ProcessId) => Promise<void>;
  readonly beforeSpawn: () => Promise<void>;
  /** Told what was hidden, and the files that were made in its place; they are gone again. */
  readonly wasHidden: (hidden: readonly string[], made: readonly string[]) => void;
};

/** Runs an agent's program to its end, with what it must not read out of sight meanwhile. */
export async function runAgentProgram(program: AgentProgram, door: AgentDoor): Promise<Exit> {
  const [first] = program.argv;
  const { env: whole, mask } = door.environment(program.keys);
  const planned = door.confinement?.({
    network: program.network,
    home: program.home,
    file: first.startsWith('/') ? realOf(first) : undefined,
  });
  const astray = planned?.rung === 'bwrap' ? leadsInside(program.home, planned.masks) : undefined;
  if (astray !== undefined) return { kind: 'not_found', program: first, why: astray };
  const unread = narrowed(program.unread, door.readScope ?? []);
  const env = planned?.rung === 'bwrap' ? confinedEnvironment(whole, planned) : whole;
  // What it was allowed, for those who ask later.
  await door.keep(
    'agent.program.json',
    `${JSON.stringify(
      {
        argv: program.argv,
        cwd: program.cwd,
        keys: program.keys.filter((name) => env[name] !== undefined),
        home: program.home,
        network: planned?.network ?? program.network,
        sandbox: planned?.rung ?? 'group',
        unread: unread ?? { hidden: [] },
      },
      null,
      2,
    )}\n`,
  );
  if (door.timeoutMs <= 0) return { kind: 'timed_out', afterMs: 0 };
  const place = hidingPlace(door.runDir);
  let sight: Sight = { hidden: [], confinement: planned };
  try {
    if (unread !== undefined) sight = await putAway(door.workspace, place, unread, planned);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return { kind: 'not_found', program: first, why: error.message };
  }
  const { hidden, confinement, covered } = sight;
  const stdout = listener(program.onStdout);
  const stderr = listener(program.onStderr);
  try {
    await door.beforeSpawn();
    return await door.spawn.run({
      argv: program.argv,
      cwd: program.cwd,
      env: { ...env, ...program.env },
      ...(confinement === undefined ? {} : { confinement }),
      ...(program.stdin === undefined ? {} : { stdin: program.stdin }),
      stdoutFile: join(door.nodeDir, program.stdoutName),
      stderrFile: join(door.nodeDir, program.stderrName),
      mask,
      mostBytes: mostAgentOutput,
      ...(stdout === undefined ? {} : { onStdout: stdout.hear }),
      ...(stderr === undefined ? {} : { onStderr: stderr.hear }),
      timeoutMs: door.timeoutMs,
      signal: door.signal,
      marker: `FACTORY_RUN_MARKER=${door.marker}`,
      started: door.spawned,
    });
  } finally {
    stdout?.end();
    stderr?.end();
    // Of an answer that is no file the agent says so itself.
    reopen(door.nodeDir, nodeLayout(door.nodeDir).response);
    if (hidden.length > 0) {
      const made =
        covered === undefined ? await bringBack(door.workspace, place) : await madeInCovers(covered, hidden);
      door.wasHidden(hidden, made);
    }
  }
}

/** The program itself, behind the links that a package manager makes of it. */
function realOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** Why a place that a program declares cannot be shown: by a link it leads to what no stage may see, or to a folder around
 *  it. What is masked is masked under its own name only. */
function leadsInside(home: AgentProgram['home'], masks: Confinement['masks']): string | undefined {
  const within = (path: string, folder: string) =>
    path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
  for (const { path } of home) {
    const is = realOf(path);
    if (is === path) continue;
    const shown = masks.map(realOf).find((mask) => within(is, mask) || within(mask, is));
    if (shown !== undefined)
      return `it is to see ${path}, a way to ${shown}, which no stage may see: name the place that it needs, without that link`;
  }
  return undefined;
}

/** What the agent must not read, with what its node lets it read. */
function narrowed(unread: ReadScope | undefined, scope: readonly string[]): ReadScope | undefined {
  if (scope.length === 0) return unread;
  const clean = scope.map((path) => path.replace(/^(?:\.\/)+/, '').replace(/\/+$/, ''));
  const within = (path: string, folder: string) =>
    folder === '' || folder === '.' || path === folder || path.startsWith(`${folder}/`);
  const { only } = unread ?? {};
  const both =
    only === undefined
      ? clean
      : [
          ...clean.filter((path) => only.some((other) => within(path, other))),
          ...only.filter((path) => clean.some((other) => within(path, other))),
        ];
  return { hidden: unread?.hidden ?? [], only: both };
}

/** What a program is started with once paths are out of its sight; `covered` where covers do that. */
type Sight = {
  readonly hidden: readonly string[];
  readonly confinement: Confinement | undefined;
  readonly covered?: Confinement;
};

/** Each mount is made at the cost of all that are there already, and bubblewrap takes some 3,000 at most: more paths than
 *  this are moved away, where no sandbox shows them. */
const mostCovers = 300;

async function putAway(
  workspace: string,
  place: HidingPlace,
  away: OutOfSight,
  planned: Confinement | undefined,
): Promise<Sight> {
  if (planned?.rung === 'bwrap') {
    const hidden = await pathsToHide(workspace, away);
    const over = covering(workspace, hidden);
    const covered = { ...planned, ...over };
    const few = over.covers.length + over.pinned.length <= mostCovers;
    // Over a link nothing can be laid: it would lie over what the link leads to, which may be in sight, or not there.
    const plain = hidden.every((path) => look(workspace, path)?.kind !== 'link');
    if (few && plain) return { hidden, confinement: covered, covered };
  }
  const hidden = await hide(workspace, place, away);
  // With access=run the program sees the place too.
  const seen = planned?.inside.some(({ path }) => path === dirname(place.folder)) === true;
  const confinement =
    planned === undefined || !seen ? planned : { ...planned, covers: [place.folder, place.list] };
  return { hidden, confinement };
}

/** Hidden paths are covered where they are. The folders above them are pinned: one that could be renamed would take what
 *  is under the cover to a place where the next agent sees it. */
function covering(workspace: string, hidden: readonly string[]): Pick<Confinement, 'covers' | 'pinned'> {
  const above = new Set<string>();
  for (const path of hidden)
    for (let at = dirname(path); at !== '.'; at = dirname(at)) above.add(join(workspace, at));
  return { covers: hidden.map((path) => join(workspace, path)), pinned: [...above].sort() };
}

/** Bytes as they arrive become text, with no character cut in two. */
function listener(
  told: ((text: string) => void) | undefined,
): { hear(bytes: Buffer): void; end(): void } | undefined {
  if (told === undefined) return undefined;
  const decoder = new StringDecoder('utf8');
  const tell = (text: string) => {
    if (text !== '') told(text);
  };
  return { hear: (bytes) => tell(decoder.write(bytes)), end: () => tell(decoder.end()) };
}
