/** Proof before success: the final commit, checked out into a separate folder outside of any repository, must pass. */
import { constants } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { notesOf } from '../core/orders/notes.ts';
import type { WorkOrder } from '../core/orders/work-order.ts';
import type { Outdated } from '../core/records/result.ts';
import { pathsOf, sealedPathsOf, submodulesOf } from '../git/commit.ts';
import { borrowHistory, checkOut, leaveOut } from '../git/fresh-checkout.ts';
import { type HistoryStart, historyGit, readHistoryStart } from '../git/history.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { isFile, lstatIfThere } from '../platform/files/read.ts';
import { removeTree } from '../platform/files/remove.ts';
import { temporaryOf } from '../platform/files/temporary.ts';
import { outdatedIn, type ProofPlace, repeatableCommands, runProof, setUpProof } from './proof-commands.ts';
import { probeOf, type StepContext } from './step-context.ts';
import { verifyCommands, withKept } from './verify.ts';

export type Proof =
  | {
      readonly ok: true;
      readonly commands: readonly string[];
      readonly needed: readonly string[];
      readonly outdated: readonly Outdated[];
    }
  /** `isWorld`: the setup of the checkout failed, and not for what it has. */
  | { readonly ok: false; readonly why: string; readonly isWorld?: boolean };

export type ProofRequest = {
  readonly head: string | null;
  readonly orders: readonly WorkOrder[];
  /** The last order that the run has carried out: what accepted it has to accept the commit, too. */
  readonly last: WorkOrder | undefined;
  /** Commands that verified the project when the build began. */
  readonly verified: readonly string[];
  /** Commands that make a checkout of the project ready. */
  readonly setup: readonly string[];
  readonly outputDir: string;
};

/** Checks `head` out into a new folder, looks for every promised file, runs the setup commands, then the commands that verify the
 *  project, then the acceptance commands of the last order. If one that verifies fails and the workspace has files that are in no commit (installed
 *  dependencies, say) or differ from the commit (submodules, files that a filter converts), it is tried once more with copies
 *  of these; passing then counts, and `needed` names them. `outdated`: commands that accepted earlier orders and fail now.
 *  The output of the commands is stored in `outputDir`; all other files are removed. */
export async function prove(io: CommandIo, place: StepContext, request: ProofRequest): Promise<Proof> {
  const start = await readHistoryStart(place.run.history);
  const folder = await freshFolder(io.env);
  try {
    return await proveIn(folder, start, io, place, request);
  } finally {
    await removeTree(folder);
  }
}

async function proveIn(
  folder: string,
  start: HistoryStart,
  io: CommandIo,
  place: StepContext,
  request: ProofRequest,
): Promise<Proof> {
  const { head, orders, last, outputDir } = request;
  const { history } = place.run;
  const tree = join(folder, 'proof');
  await mkdir(tree);
  const borrowed =
    head === null
      ? undefined
      : await borrowHistory(history, head, { dir: join(folder, 'history'), env: io.env });
  const sealed = await sealedPathsOf(history);
  const checkOutHead = async () => {
    if (borrowed === undefined || head === null) return;
    await checkOut(borrowed, head, tree);
    // Commits of the workdir may have the scenarios; the checks do not see them.
    await leaveOut(borrowed, tree, sealed?.paths ?? []);
  };
  await checkOutHead();
  const promised = [...new Set(orders.flatMap((order) => order.postconditions.map((one) => one.path)))];
  const missing: string[] = [];
  for (const path of promised) if (!(await isFile(join(tree, path)))) missing.push(path);
  if (missing.length > 0)
    return { ok: false, why: `promised files are not in the final commit: ${missing.join(', ')}` };

  const at: ProofPlace = {
    ...{ io, run: place.run.root, tree, history: borrowed },
    sealed: { paths: sealed?.paths ?? [], tracked: sealed !== undefined && sealed.tracked !== false },
  };
  const files = await changedPaths(history, start.first_commit, head, io.env);
  const accept = last === undefined ? [] : repeatableCommands(last, at);
  const verify = await verifying(tree, files, request, io);
  const commands = [...verify, ...accept.filter((command) => !verify.includes(command))];
  const earlier = () =>
    outdatedIn(
      at,
      orders.filter((order) => order !== last),
      commands,
      join(outputDir, 'proof.earlier'),
    );
  const unready = await setUpProof(at, request.setup, join(outputDir, 'proof.setup'));
  if (unready !== undefined) return { ok: false, ...unready };
  const alone = await runProof(at, commands, join(outputDir, 'proof'));
  if (alone === undefined) return { ok: true, commands, needed: [], outdated: await earlier() };
  // What the setup has installed is not borrowed.
  const installed = request.setup.length === 0 ? [] : await thereIn(tree, start.left_out);
  // The commands may have changed the tree: start from a fresh checkout.
  await removeTree(tree);
  await mkdir(tree);
  await checkOutHead();
  const since = { first: start.first_commit, head, files };
  const other = await notAsCommitted(place, since, { indexFile: join(folder, 'index'), env: io.env });
  const left = start.left_out.filter((path) => !installed.includes(path));
  const copied = await copyOver(place.workspace, tree, [...left, ...other]);
  if (copied.length === 0) return { ok: false, why: alone };
  const still = await setUpProof(at, request.setup, join(outputDir, 'proof.with-untracked.setup'));
  if (still !== undefined) return { ok: false, ...still };
  const again = await runProof(at, commands, join(outputDir, 'proof.with-untracked'));
  return again === undefined
    ? { ok: true, commands, needed: copied, outdated: await earlier() }
    : { ok: false, why: alone };
}

/** The commands that verify the project. If the last order was exempt from that, the project need not pass it yet. */
async function verifying(
  tree: string,
  files: readonly string[],
  { orders, verified }: ProofRequest,
  io: CommandIo,
): Promise<readonly string[]> {
  const verify_exempt = orders.at(-1)?.verify_exempt === true;
  const unparsed = new Set(orders.flatMap((order) => [...notesOf(order).unparsed]));
  const own = await verifyCommands(tree, { verify_exempt }, { files, unparsed, probe: probeOf(io) });
  return withKept(own, verify_exempt ? [] : verified);
}

/** A new folder in a temporary folder that is in no repository, if there is one. Folders of a killed proof of the same run
 *  are removed. */
async function freshFolder(env: Environment): Promise<string> {
  // The marker is unique to this run. A proof by hand has none, so the owner of an old folder is unknown and it stays.
  const marker = env['FACTORY_RUN_MARKER'] ?? '';
  const prefix = marker === '' ? 'factory-proof-' : `factory-proof-${marker}-`;
  const make = async (place: string): Promise<string> => {
    const left = marker === '' ? [] : (await readdir(place)).filter((name) => name.startsWith(prefix));
    for (const name of left) await removeTree(join(place, name));
    return mkdtemp(join(place, prefix));
  };
  const places = [temporaryOf(env), '/tmp', '/var/tmp'];
  for (const place of places) {
    const real = await realpath(place).catch(() => undefined);
    if (real !== undefined && !(await isInRepository(real))) return make(real);
  }
  // GIT_CEILING_DIRECTORIES keeps git from looking upwards in any case.
  return make(await realpath(temporaryOf(env)));
}

async function isInRepository(path: string): Promise<boolean> {
  for (let at = path; ; at = dirname(at)) {
    if ((await lstatIfThere(join(at, '.git'))) !== undefined) return true;
    if (at === dirname(at)) return false;
  }
}

/** Paths that git alone cannot check out: submodules, and files that no order wrote but that differ from the commit because
 *  a filter of the user converts them. */
async function notAsCommitted(
  place: StepContext,
  since: { readonly first: string | null; readonly head: string | null; readonly files: readonly string[] },
  { indexFile, env }: { readonly indexFile: string; readonly env: Environment },
): Promise<string[]> {
  if (since.first === null || since.head === null) return [];
  const { history } = place.run;
  const modules = await submodulesOf(historyGit(history, env), since.head);
  for (const file of [indexFile, `${indexFile}.lock`]) await removeTree(file);
  const git = historyGit(history, env, { workTree: place.workspace, indexFile });
  await git.text(['read-tree', since.head]);
  await git.run(['update-index', '-q', '--ignore-submodules', '--refresh']);
  const other = await git.list([
    'diff-files',
    '--ignore-submodules=all',
    '--name-only',
    '-z',
    '--diff-filter=M',
  ]);
  await rm(indexFile, { force: true });
  const written = new Set([...since.files, ...modules]);
  return [...modules, ...other.filter((path) => !written.has(path))];
}

async function thereIn(tree: string, paths: readonly string[]): Promise<readonly string[]> {
  const there: string[] = [];
  for (const path of paths) if ((await lstatIfThere(join(tree, path))) !== undefined) there.push(path);
  return there;
}

/** Copies `paths` from the workspace into the tree, replacing existing files; returns those that exist. */
async function copyOver(workspace: string, tree: string, paths: readonly string[]): Promise<string[]> {
  const copied: string[] = [];
  for (const path of paths) {
    const from = join(workspace, path);
    if ((await lstatIfThere(from)) === undefined) continue;
    await cp(from, join(tree, path), {
      recursive: true,
      force: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
    });
    copied.push(path);
  }
  return copied;
}

async function changedPaths(
  history: string,
  first: string | null,
  head: string | null,
  env: Environment,
): Promise<string[]> {
  if (head === null) return [];
  if (first === null) return [...(await pathsOf(history, head, env))];
  return historyGit(history, env).list(['diff-tree', '-r', '-z', '--name-only', '--no-renames', first, head]);
}
