/** Proof before success: the final commit by itself, in a folder that is part of nothing, has to hold. */

import { constants } from 'node:fs';
import { cp, lstat, mkdir, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { WorkOrder } from '../model/work-order.ts';
import { checkEnvironment } from '../policy/check-environment.ts';
import { splitWords } from '../policy/words.ts';
import { isMissing } from '../system/files.ts';
import { type Environment, withoutGit } from '../system/git.ts';
import { readSome } from '../system/read.ts';
import { removeTree } from '../system/remove.ts';
import { isConfined, without } from '../system/sandbox/without.ts';
import { temporaryOf } from '../system/temporary.ts';
import { excerpt } from './brief.ts';
import { checkOut, pathsOf, submodulesOf } from './commit.ts';
import { historyGit, readHistoryStart, writeProof } from './in-history.ts';
import { type CommandIo, type Place, probeOf } from './tool.ts';
import { spoken } from './unittest.ts';
import { verifyCommands } from './verify.ts';

export type Proof =
  | { readonly ok: true; readonly commands: readonly string[]; readonly needed: readonly string[] }
  | { readonly ok: false; readonly why: string };

/** Checks `head` out into a fresh folder, looks for every promised file and runs the commands that check the whole.
 *  When that fails and the workdir had files that no commit holds (dependencies that were installed, say), or holds
 *  otherwise (submodules, what a filter converts), it is tried once more with those laid beside; passing then counts, and
 *  `needed` names them. What the commands print is kept in
 *  `outputDir`; nothing else stays behind. */
export async function prove(
  io: CommandIo,
  place: Place,
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
    // What the last order was spared, the whole cannot pass yet.
    const verify_exempt = wanted.orders.at(-1)?.verify_exempt === true;
    const commands = await verifyCommands(tree, { verify_exempt }, check);
    const run = place.run.root;
    const alone = await runAll(io, run, tree, commands, join(wanted.outputDir, 'proof'));
    // What is told to the engine is in its own records, where no command of the product's could have written it.
    const record = (needed: readonly string[]): Promise<void> =>
      wanted.head === null || (io.env['FACTORY_OUTPUT'] ?? '') !== ''
        ? Promise.resolve()
        : writeProof(history, { version: 1, commit: wanted.head, needed: [...needed] });
    if (alone === undefined) {
      await record([]);
      return { ok: true, commands, needed: [] };
    }
    // The tree may have been changed by the commands: begin again.
    await removeTree(tree);
    await mkdir(tree);
    if (wanted.head !== null) await checkOut(history, wanted.head, tree, made);
    const { left_out, first_commit } = start;
    const other = await notAsCommitted(place, { first: first_commit, head: wanted.head, files }, made);
    const beside = await layBeside(place.workspace, tree, [...left_out, ...other]);
    if (beside.length > 0) {
      const again = await runAll(io, run, tree, commands, join(wanted.outputDir, 'proof.with-untracked'));
      if (again === undefined) {
        await record(beside);
        return { ok: true, commands, needed: beside };
      }
    }
    return { ok: false, why: alone };
  } finally {
    await removeTree(folder);
  }
}

/** A folder below the system's temporary one that lies in no repository, where there is such a place. One that was
 *  left there by a proof of the same run that was killed goes. */
async function freshFolder(env: Environment): Promise<string> {
  // The marker is this run's alone; by hand there is none, and nothing to tell whose a folder is.
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
  // Git is kept from looking upwards in any case.
  return make(await realpath(temporaryOf(env)));
}

async function isInRepository(path: string): Promise<boolean> {
  for (let at = path; ; at = dirname(at)) {
    if (await isThere(join(at, '.git'))) return true;
    if (at === dirname(at)) return false;
  }
}

/** What failed, or undefined when every command exits with 0. */
async function runAll(
  io: CommandIo,
  run: string,
  cwd: string,
  commands: readonly string[],
  output: string,
): Promise<string | undefined> {
  // Whoever checks the product must not see the run.
  const ours = Object.entries(withoutGit(io.env)).filter(
    ([name]) => /^FACTORY_RUN_(MARKER$|EPOCH_)/.test(name) || !name.startsWith('FACTORY_'),
  );
  const env = {
    ...Object.fromEntries(ours),
    ...checkEnvironment(io.env),
    PWD: cwd,
    GIT_CEILING_DIRECTORIES: dirname(cwd),
    FACTORY_PROOF: cwd,
  };
  const isApart = isConfined() && !cwd.startsWith(`${run}/`);
  const hidden = isApart ? await without(run, cwd, { spawn: io.spawn, env }) : [];
  for (const [n, command] of commands.entries()) {
    const split = splitWords(command);
    const [program, ...words] = 'words' in split ? split.words : [];
    if (program === undefined) return `${command} is no command`;
    const stdoutFile = `${output}.${n}.stdout.txt`;
    const stderrFile = `${output}.${n}.stderr.txt`;
    const marker = `FACTORY_PROOF=${cwd}`;
    const [first = program, ...rest] = [...hidden, program, ...words];
    const ended = await io.spawn.run({ argv: [first, ...rest], cwd, env, stdoutFile, stderrFile, marker });
    if (ended.kind === 'exited' && ended.code === 0) continue;
    const how =
      ended.kind === 'exited' ? `exit=${ended.code}` : ended.kind === 'not_found' ? ended.why : ended.kind;
    const tails = [await readSome(stderrFile, 2000, 'tail'), await readSome(stdoutFile, 2000, 'tail')];
    const said = tails
      .map((text) => (text ?? '').trim())
      .filter((text) => text !== '')
      .join('\n');
    return `${spoken(command)} failed (${how})${said === '' ? '' : `:\n${excerpt(said)}`}`;
  }
  return undefined;
}

/** Paths that a checkout by git alone cannot give: submodules, and files that no order wrote and that stand in the
 *  workspace otherwise than in the commit, because a filter of the user's made them. */
async function notAsCommitted(
  place: Place,
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

/** Copies those of `paths` that are in the workspace, over what the tree has; answers with which. */
async function layBeside(workspace: string, tree: string, paths: readonly string[]): Promise<string[]> {
  const laid: string[] = [];
  for (const path of paths) {
    const from = join(workspace, path);
    if (!(await isThere(from))) continue;
    await cp(from, join(tree, path), {
      recursive: true,
      force: true,
      verbatimSymlinks: true,
      mode: constants.COPYFILE_FICLONE,
    });
    laid.push(path);
  }
  return laid;
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
