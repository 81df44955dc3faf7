/** Proof before success: the final commit, checked out into a separate folder outside of any repository, must pass. */
import { constants } from 'node:fs';
import { cp, lstat, mkdir, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { failureExcerpt, mostReadOfStream } from '../core/failure-excerpt.ts';
import type { WorkOrder } from '../core/orders/work-order.ts';
import { commandEnvironment } from '../core/policy/confinement.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import { splitWords } from '../core/policy/words.ts';
import { checkOut, pathsOf, submodulesOf } from '../git/commit.ts';
import { historyGit, readHistoryStart } from '../git/history.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { readEnds } from '../platform/files/read.ts';
import { removeTree } from '../platform/files/remove.ts';
import { temporaryOf } from '../platform/files/temporary.ts';
import { isMissing } from '../platform/files/write.ts';
import { withoutGit } from '../platform/git.ts';
import { isConfined, without } from '../platform/sandbox/nested.ts';
import { probeOf, type StepContext } from './step-context.ts';
import { spoken } from './unittest.ts';
import { verifyCommands } from './verify.ts';

export type Proof =
  | { readonly ok: true; readonly commands: readonly string[]; readonly needed: readonly string[] }
  | { readonly ok: false; readonly why: string };

/** Checks `head` out into a new folder, looks for every promised file and runs the commands that verify the project. If
 *  that fails and the workspace has files that are in no commit (installed dependencies, say) or differ from the commit
 *  (submodules, files that a filter converts), it is tried once more with copies of these; passing then counts, and
 *  `needed` names them. The output of the commands is stored in `outputDir`; all other files are removed. */
export async function prove(
  io: CommandIo,
  place: StepContext,
  wanted: { readonly head: string | null; readonly orders: readonly WorkOrder[]; readonly outputDir: string },
): Promise<Proof> {
  const history = place.run.history;
  const start = await readHistoryStart(history);
  const folder = await freshFolder(io.env);
  try {
    const tree = join(folder, 'proof');
    await mkdir(tree);
    const made = { indexFile: join(folder, 'index'), env: io.env };
    if (wanted.head !== null) await checkOut(history, wanted.head, tree, made);
    const promised = [
      ...new Set(wanted.orders.flatMap((order) => order.postconditions.map((promise) => promise.path))),
    ];
    const missing: string[] = [];
    for (const path of promised) if (!(await isFile(join(tree, path)))) missing.push(path);
    if (missing.length > 0)
      return { ok: false, why: `promised files are not in the final commit: ${missing.join(', ')}` };

    const files = await changedPaths(history, start.first_commit, wanted.head, io.env);
    const check = { files, probe: probeOf(io) };
    // If the last order was exempt from verification, the project need not pass it yet.
    const verify_exempt = wanted.orders.at(-1)?.verify_exempt === true;
    const commands = await verifyCommands(tree, { verify_exempt }, check);
    const run = place.run.root;
    const alone = await runAll(io, run, tree, commands, join(wanted.outputDir, 'proof'));
    if (alone === undefined) return { ok: true, commands, needed: [] };
    // The commands may have changed the tree: start from a fresh checkout.
    await removeTree(tree);
    await mkdir(tree);
    if (wanted.head !== null) await checkOut(history, wanted.head, tree, made);
    const { left_out, first_commit } = start;
    const other = await notAsCommitted(place, { first: first_commit, head: wanted.head, files }, made);
    const copied = await copyOver(place.workspace, tree, [...left_out, ...other]);
    if (copied.length > 0) {
      const again = await runAll(io, run, tree, commands, join(wanted.outputDir, 'proof.with-untracked'));
      if (again === undefined) return { ok: true, commands, needed: copied };
    }
    return { ok: false, why: alone };
  } finally {
    await removeTree(folder);
  }
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
    if (await isThere(join(at, '.git'))) return true;
    if (at === dirname(at)) return false;
  }
}

/** Bytes of each stream in the reason of a failed proof. */
const mostInReason = 2000;

/** The first failure; undefined if every command exits with 0. */
async function runAll(
  io: CommandIo,
  run: string,
  cwd: string,
  commands: readonly string[],
  output: string,
): Promise<string | undefined> {
  // Commands that check the product must not see the run.
  const visible = Object.entries(withoutGit(io.env)).filter(
    ([name]) => /^FACTORY_RUN_(MARKER$|EPOCH_)/.test(name) || !name.startsWith('FACTORY_'),
  );
  const env = {
    ...Object.fromEntries(visible),
    ...commandEnvironment(io.env),
    PWD: cwd,
    GIT_CEILING_DIRECTORIES: dirname(cwd),
    FACTORY_PROOF: cwd,
  };
  const mask = textsToMask(io.env);
  const isApart = isConfined() && !cwd.startsWith(`${run}/`);
  const hidden = isApart ? await without(run, cwd, { spawn: io.spawn, env }) : [];
  for (const [n, command] of commands.entries()) {
    const split = splitWords(command);
    const [program, ...words] = 'words' in split ? split.words : [];
    if (program === undefined) return `${command} is not a command`;
    const stdoutFile = `${output}.${n}.stdout.txt`;
    const stderrFile = `${output}.${n}.stderr.txt`;
    const marker = `FACTORY_PROOF=${cwd}`;
    const [first = program, ...rest] = [...hidden, program, ...words];
    const argv: readonly [string, ...string[]] = [first, ...rest];
    const ended = await io.spawn.run({ argv, cwd, env, stdoutFile, stderrFile, mask, marker });
    if (ended.kind === 'exited' && ended.code === 0) continue;
    const how =
      ended.kind === 'exited' ? `exit=${ended.code}` : ended.kind === 'not_found' ? ended.why : ended.kind;
    const streams = [stderrFile, stdoutFile].map(async (file) =>
      failureExcerpt((await readEnds(file, mostReadOfStream)) ?? '', { most: mostInReason }),
    );
    const said = (await Promise.all(streams)).filter((text) => text !== '').join('\n');
    return `${spoken(command)} failed (${how})${said === '' ? '' : `:\n${said}`}`;
  }
  return undefined;
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

/** Copies `paths` from the workspace into the tree, replacing existing files; returns those that exist. */
async function copyOver(workspace: string, tree: string, paths: readonly string[]): Promise<string[]> {
  const copied: string[] = [];
  for (const path of paths) {
    const from = join(workspace, path);
    if (!(await isThere(from))) continue;
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

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
