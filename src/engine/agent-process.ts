/** Starts agent programs: their environment, their sandbox, the files hidden from them, and their logs. */
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { type AgentProgram, proxyVariables, type ReadScope } from '../core/contracts/agent.ts';
import type { Every } from '../core/contracts/clock.ts';
import type { Exit, ProcessId, Spawn } from '../core/contracts/process.ts';
import type { Confinement } from '../core/contracts/sandbox.ts';
import { confinedEnvironment } from '../core/policy/confinement.ts';
import { layout, nodeLayout } from '../core/records/layout.ts';
import { readPart } from '../platform/files/read.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { madeInCovers } from '../platform/sandbox/bwrap.ts';
import { unlockNodeDirectory } from '../run/node-directory.ts';
import { bringBack, type HidingPlace, hide, type OutOfSight, pathsToHide } from '../workspace/hide.ts';
import { look } from '../workspace/walk.ts';
import { isInBranchFolder } from './branch-folder.ts';

/** Bytes of one output stream of an agent program that are written to its log. */
export const mostAgentOutput = 256 * 1024 * 1024;

/** The place in a run directory for files that are hidden from an agent; those of a branch's folder are next to it. */
export const hidingPlace = (runDir: string, workspace = layout(runDir).workspace): HidingPlace =>
  isInBranchFolder({ runDir, workspace })
    ? { folder: `${workspace}.hidden`, list: `${workspace}.hidden.json` }
    : { folder: layout(runDir).hidden, list: layout(runDir).hiddenList };

export type AgentProcess = {
  readonly spawn: Spawn;
  readonly runDir: string;
  readonly workspace: string;
  readonly nodeDir: string;
  /** The node's environment with the secrets of these names, and the values to mask in output. `servers` are secrets only where
   *  they hold a password. */
  readonly environment: (
    keys: readonly string[],
    servers: readonly string[],
  ) => {
    readonly env: Readonly<Record<string, string>>;
    readonly mask: readonly string[];
  };
  /** The sandbox settings for a program with these declarations. */
  readonly confinement?: (program: {
    readonly network: boolean;
    readonly home: AgentProgram['home'];
    readonly file: string | undefined;
  }) => Confinement;
  /** Paths of the workspace that the node lets it read; empty for all. */
  readonly readScope?: readonly string[];
  readonly keep: (name: string, content: string) => Promise<void>;
  /** Milliseconds that the program may take. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What the environment of its processes holds, as `NAME=value`. */
  readonly marker: string;
  readonly spawned: (process: ProcessId) => Promise<void>;
  readonly beforeSpawn: () => Promise<void>;
  /** Looks at files that grow while the program runs; without it they are read when it has ended. */
  readonly every?: Every | undefined;
  /** Called when a secret was masked in the program's standard output. */
  readonly printedSecret?: () => void;
  /** Receives the hidden paths, and the files that the program created in their place; those are removed already. */
  readonly wasHidden: (hidden: readonly string[], made: readonly string[]) => void;
};

/** Runs an agent's program to its end; paths that it must not read are hidden meanwhile. */
export async function runAgentProgram(program: AgentProgram, agent: AgentProcess): Promise<Exit> {
  const [first] = program.argv;
  const servers = program.network ? [...proxyVariables, ...(program.servers ?? [])] : [];
  const { env: whole, mask } = agent.environment(program.keys, servers);
  const planned = agent.confinement?.({
    network: program.network,
    home: program.home,
    file: first.startsWith('/') ? realOf(first) : undefined,
  });
  const exposed = planned?.rung === 'bwrap' ? leadsInside(program.home, planned.masks) : undefined;
  if (exposed !== undefined) return { kind: 'not_found', program: first, why: exposed };
  const unread = narrowed(program.unread, agent.readScope ?? []);
  const env = planned?.rung === 'bwrap' ? confinedEnvironment(whole, planned) : whole;
  await keepDeclaration(program, agent, { env, planned, unread });
  if (agent.timeoutMs <= 0) return { kind: 'timed_out', afterMs: 0 };
  let sight: Sight = { hidden: [], confinement: planned };
  try {
    if (unread !== undefined)
      sight = await putAway(agent.workspace, hidingPlace(agent.runDir, agent.workspace), unread, planned);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return { kind: 'not_found', program: first, why: error.message };
  }
  try {
    return await start(program, agent, { env, mask, confinement: sight.confinement });
  } finally {
    // The agent itself reports an answer that is not a regular file.
    unlockNodeDirectory(agent.nodeDir, nodeLayout(agent.nodeDir).response);
    await takeBack(sight, agent);
  }
}

/** A record of what the program was allowed to do. */
function keepDeclaration(
  program: AgentProgram,
  agent: AgentProcess,
  {
    env,
    planned,
    unread,
  }: {
    readonly env: Readonly<Record<string, string>>;
    readonly planned: Confinement | undefined;
    readonly unread: ReadScope | undefined;
  },
): Promise<void> {
  const declared = {
    argv: program.argv,
    cwd: program.cwd,
    keys: program.keys.filter((name) => env[name] !== undefined),
    home: program.home.map(({ text, ...place }) => (text === undefined ? place : { ...place, copy: true })),
    network: planned?.network ?? program.network,
    sandbox: planned?.rung ?? 'group',
    unread: unread ?? { hidden: [] },
  };
  return agent.keep('agent.program.json', `${JSON.stringify(declared, null, 2)}\n`);
}

async function start(
  program: AgentProgram,
  agent: AgentProcess,
  {
    env,
    mask,
    confinement,
  }: {
    readonly env: Readonly<Record<string, string>>;
    readonly mask: readonly string[];
    readonly confinement: Confinement | undefined;
  },
): Promise<Exit> {
  const stdout = listener(program.onStdout);
  const stderr = listener(program.onStderr);
  const grown = program.grows && growingText(join(agent.nodeDir, program.grows.name), program.grows.onText);
  let stop: (() => void) | undefined;
  try {
    await agent.beforeSpawn();
    stop = grown && agent.every?.(lookMs, () => grown.look());
    return await agent.spawn.run({
      argv: program.argv,
      cwd: program.cwd,
      env: { ...env, ...program.env },
      ...(confinement === undefined ? {} : { confinement }),
      ...(program.stdin === undefined ? {} : { stdin: program.stdin }),
      ...(program.talk === undefined ? {} : { talk: program.talk }),
      stdoutFile: join(agent.nodeDir, program.stdoutName),
      stderrFile: join(agent.nodeDir, program.stderrName),
      mask,
      ...(agent.printedSecret === undefined ? {} : { onMaskedStdout: agent.printedSecret }),
      mostBytes: mostAgentOutput,
      ...(stdout === undefined ? {} : { onStdout: stdout.hear }),
      ...(stderr === undefined ? {} : { onStderr: stderr.hear }),
      timeoutMs: agent.timeoutMs,
      signal: program.enough === undefined ? agent.signal : AbortSignal.any([agent.signal, program.enough]),
      marker: agent.marker,
      started: agent.spawned,
    });
  } finally {
    stop?.();
    grown?.end();
    stdout?.end();
    stderr?.end();
  }
}

/** Puts hidden files back. */
async function takeBack(
  { hidden, covered }: Sight,
  { workspace, runDir, wasHidden }: AgentProcess,
): Promise<void> {
  if (hidden.length === 0) return;
  const made =
    covered === undefined
      ? await bringBack(workspace, hidingPlace(runDir, workspace))
      : await madeInCovers(covered, hidden);
  wasHidden(hidden, made);
}

/** The program's file: package managers install programs as symbolic links. */
function realOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** Why a path that a program declares cannot be shown to it: a symbolic link there leads to a masked path or to a folder that
 *  contains one. A mask covers a path under its real name only. */
function leadsInside(home: AgentProgram['home'], masks: Confinement['masks']): string | undefined {
  const within = (path: string, folder: string) =>
    path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
  for (const { path } of home) {
    const is = realOf(path);
    if (is === path) continue;
    const shown = masks.map(realOf).find((mask) => within(is, mask) || within(mask, is));
    if (shown !== undefined)
      return `it asks for ${path}, a link that leads to ${shown}, which no node may see: name the path that it needs, without that link`;
  }
  return undefined;
}

/** The agent's own read restrictions combined with those of its node. */
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

/** How a program is started after paths were hidden; `covered` is set if mounts hide them. */
type Sight = {
  readonly hidden: readonly string[];
  readonly confinement: Confinement | undefined;
  readonly covered?: Confinement;
};

/** Each mount costs as much time as there are mounts already, and bubblewrap takes some 3,000 at most: with more paths than
 *  this, the files are moved out of the workspace instead. */
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
    // A mount over a symbolic link would cover the link's target, which may be visible or missing.
    const plain = hidden.every((path) => look(workspace, path)?.kind !== 'link');
    if (few && plain) return { hidden, confinement: covered, covered };
  }
  const hidden = await hide(workspace, place, away);
  // With access=run the program could see the hidden files' folder too.
  const seen = planned?.inside.some(({ path }) => path === dirname(place.folder)) === true;
  const confinement =
    planned === undefined || !seen ? planned : { ...planned, covers: [place.folder, place.list] };
  return { hidden, confinement };
}

/** Hidden paths are covered in place. The folders above them are pinned: renaming one would move the covered files to a path
 *  where the next agent sees them. */
function covering(workspace: string, hidden: readonly string[]): Pick<Confinement, 'covers' | 'pinned'> {
  const above = new Set<string>();
  for (const path of hidden)
    for (let at = dirname(path); at !== '.'; at = dirname(at)) above.add(join(workspace, at));
  return { covers: hidden.map((path) => join(workspace, path)), pinned: [...above].sort() };
}

/** Milliseconds between two looks at a file that grows, and bytes that are read of it at once and in all. */
const lookMs = 250;
const [mostAtLook, mostInAll] = [1024 * 1024, 64 * 1024 * 1024];

/** What a program adds to a file, without splitting a character. A link or a pipe in its place is not read. */
function growingText(path: string, onText: (text: string) => void): { look(): boolean; end(): void } {
  const heard = listener(onText);
  let at = 0;
  const look = (): boolean => {
    try {
      const part = at < mostInAll ? readPart(path, at, at + mostAtLook) : undefined;
      if (part === undefined || part.bytes.length === 0) return false;
      at += part.bytes.length;
      heard?.hear(part.bytes);
      return true;
    } catch {
      // A file that the program locked is no reason to lose its work.
      return false;
    }
  };
  return {
    look,
    end() {
      while (look());
      heard?.end();
    },
  };
}

/** Decodes output as it arrives, without splitting a character. */
function listener(
  onText: ((text: string) => void) | undefined,
): { hear(bytes: Buffer): void; end(): void } | undefined {
  if (onText === undefined) return undefined;
  const decoder = new StringDecoder('utf8');
  const report = (text: string) => {
    if (text !== '') onText(text);
  };
  return { hear: (bytes) => report(decoder.write(bytes)), end: () => report(decoder.end()) };
}
