/** The runs directory: its runs, their names and their status. */
import { randomBytes } from 'node:crypto';
import { lstat, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { monotonicFactory, ulid } from 'ulid';
import * as z from 'zod';
import type { Clock } from '../core/contracts/clock.ts';
import { forkChanges } from '../core/fork-words.ts';
import { own, parseJson } from '../core/json.ts';
import { once } from '../core/once.ts';
import { quoteWord } from '../core/policy/words.ts';
import { layout } from '../core/records/layout.ts';
import { type Manifest, manifestSchema } from '../core/records/manifest.ts';
import { folded, runIdForm, sharedFolders } from '../core/records/names.ts';
import { journalVersion } from '../core/records/visit.ts';
import { BadJsonRecord } from '../platform/files/json-record.ts';
import { readPlain } from '../platform/files/read.ts';
import { isCode, isMissing, makeFolder } from '../platform/files/write.ts';
import { lostText, manifestHash, manifestText, storedText } from './inputs.ts';
import { journalLines, readLine } from './journal-read.ts';
import { messageOf, otherVersion, schemaProblems, type Unreadable, unreadableFile } from './unreadable.ts';

const longestId = 100;

/** Why a new run cannot have that id, or undefined. */
export function newRunIdProblem(id: string): string | undefined {
  if (backOf(id) === 1) return `"${id}" names the run that was started last`;
  if (Object.values(sharedFolders).some((name) => name === folded(id)))
    return `"${id}" is the name of a folder that all runs share`;
  return validRunId(id);
}

/** Why a run id is invalid, or undefined. An id is a directory name: it must not lead out of the runs directory, nor look
 *  like an option or a hidden file. */
export function validRunId(id: string): string | undefined {
  if (id === '') return 'the run id is empty';
  if (id.length > longestId) return `the run id is longer than ${longestId} characters`;
  if (!runIdForm.test(id)) {
    return `the run id ${JSON.stringify(id.length > 60 ? `${id.slice(0, 60)}…` : id)} may only have letters, digits, ".", "_" and "-", and begins with a letter or digit`;
  }
  return undefined;
}

/** A new run id: a ULID, so that ids sort by time. */
export function newRunId(clock: Clock): string {
  // One call for the bytes of its sixteen random letters.
  const random = randomBytes(16).values();
  // ULIDs have no time before 1970.
  return ulid(Math.max(0, clock.now().getTime()), () => (random.next().value ?? 0) / 256);
}

/** Several ids at once, which sort in their order. */
export function newRunIds(clock: Clock, many: number): readonly string[] {
  const next = monotonicFactory();
  const now = Math.max(0, clock.now().getTime());
  return Array.from({ length: many }, () => next(now));
}

/** Creates the runs directory. For the default one (`.factory/runs`) `.factory/.gitignore` keeps runs out of `git status`;
 *  nothing is written to the runs directory itself. */
export async function makeRunsDir(runsDir: string): Promise<void> {
  const path = resolve(runsDir);
  makeFolder(path);
  if (basename(path) !== 'runs' || basename(dirname(path)) !== '.factory') return;
  const ignore = join(dirname(path), '.gitignore');
  // An existing one is left alone, unless it is shorter than ours: a killed process leaves it so.
  const is = await lstat(ignore).catch(() => undefined);
  if (is === undefined || (is.isFile() && is.size < 2)) await writeFile(ignore, '*\n', { flush: true });
}

export type RunDir = { readonly ok: true; readonly id: string; readonly dir: string };

/** The run as an argument of a command in `cwd`. */
export function namedRun(runDir: string, cwd: string): string {
  const runs = resolve(runDir, '..');
  // A copied or renamed directory is found by its present name, else by its path.
  const name = basename(resolve(runDir));
  if (!runIdForm.test(name)) return quoteWord(resolve(runDir));
  return `${name}${placeOf(runs, cwd)}`;
}

const placeOf = (runsDir: string, cwd: string): string =>
  runsDir === resolve(cwd, '.factory/runs') ? '' : ` --runsdir ${quoteWord(runsDir)}`;

/** The command that lists the runs of a directory. */
export const listingOf = (runDir: string, cwd: string): string =>
  `factory runs${placeOf(resolve(cwd, runDir, '..'), cwd)}`;

/** Finds a run by its id, `latest` (also `-1`; `-2` is the one started before it), a unique prefix of its id, or the path of its
 *  directory. */
export async function findRun(runsDir: string, nameOrPath: string): Promise<RunDir | Unreadable> {
  const look = '`factory runs` lists the runs; --runsdir says where they are';
  if (nameOrPath === '') return unreadableFile('the run id is empty', look);
  const back = backOf(nameOrPath);
  if (back !== undefined && !(await isRun(join(runsDir, nameOrPath)))) {
    const ids = await idsByStart(runsDir);
    const id = ids[back - 1];
    if (id !== undefined) return { ok: true, id, dir: join(runsDir, id) };
    const there = ids.length === 0 ? 'no runs' : `only ${ids.length} ${ids.length === 1 ? 'run' : 'runs'}`;
    return unreadableFile(`there is no run "${nameOrPath}": ${runsDir} has ${there}`, look);
  }
  if (validRunId(nameOrPath) === undefined) {
    const ids = await runIds(runsDir);
    const fits = ids.includes(nameOrPath) ? [nameOrPath] : ids.filter((id) => id.startsWith(nameOrPath));
    const [id] = fits;
    if (id !== undefined && fits.length === 1) return { ok: true, id, dir: join(runsDir, id) };
    if (fits.length > 1)
      return unreadableFile(
        `${fits.length} run ids begin with "${nameOrPath}": ${some(fits)}`,
        'give more of the id',
      );
  }
  if (await isRun(nameOrPath)) {
    // By its real path: the runs directory is not next to a link.
    const dir = await realpath(nameOrPath);
    return { ok: true, id: basename(dir), dir };
  }
  const ids = await runIds(runsDir);
  const there = ids.length === 0 ? 'it has no runs' : `it has: ${some(ids.toReversed())}`;
  return unreadableFile(`there is no run "${nameOrPath}" in ${runsDir} (${there})`, look);
}

/** How many runs back, from 1, the name says; undefined for another name. */
function backOf(name: string): number | undefined {
  if (name === 'latest') return 1;
  return /^-[1-9]\d{0,8}$/.test(name) ? Number(name.slice(1)) : undefined;
}

/** Ids of the runs, the one that was started last first. */
async function idsByStart(runsDir: string): Promise<string[]> {
  const started: { readonly id: string; readonly at: string }[] = [];
  for (const id of await runIds(runsDir)) {
    const story = storySchema().safeParse(manifestJson(join(runsDir, id)));
    started.push({ id, at: story.data?.started_at ?? '' });
  }
  return started.sort((a, b) => byWord(b.at, a.at) || byWord(b.id, a.id)).map(({ id }) => id);
}

/** For sorting. */
export const byWord = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const some = (ids: readonly string[]): string => ids.slice(0, 5).join(', ') + (ids.length > 5 ? ', …' : '');

/** What a list of runs says of a manifest. */
export const storySchema = once(() =>
  z.object({
    started_at: z.string(),
    pipeline_path: z.string(),
    forked_from: z
      .object({
        ...{ run_id: z.string(), node: z.string(), visit: z.number(), before: z.boolean() },
        changed: z.array(z.string()).catch([]),
        set: z.array(z.string()).catch([]),
      })
      .transform(({ changed, set, ...from }) => ({ ...from, changed: [...forkChanges({ changed, set })] }))
      .optional()
      .catch(undefined),
    replay_of: z.object({ run_id: z.string(), live: z.boolean().optional() }).optional().catch(undefined),
  }),
);
/** Ids of the runs in a runs directory, sorted. */
export async function runIds(runsDir: string): Promise<string[]> {
  let names: string[];
  try {
    names = await readdir(runsDir);
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ENAMETOOLONG', 'ELOOP')) return [];
    throw error;
  }
  const candidates = names.filter((name) => validRunId(name) === undefined).sort();
  const are = await Promise.all(candidates.map((name) => isRun(join(runsDir, name))));
  return candidates.filter((_, at) => are[at] === true);
}

export async function isRun(dir: string): Promise<boolean> {
  const { manifest, checkpoint } = layout(dir);
  return (await isFile(manifest)) || (await isFile(checkpoint));
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (is) => is.isFile(),
    // A directory that this user may not read may be a run; its reader reports that.
    (error: unknown) => isCode(error, 'EACCES'),
  );

/** Message for a run whose journal begins with a line of another version, or whose manifest and checkpoint are both of one; if
 *  only one is, it is damaged. */
export async function otherVersionOf(runDir: string): Promise<ReturnType<typeof otherVersion>> {
  const { checkpoint, journal } = layout(runDir);
  const [first] = journalLines(journal);
  const line = first === undefined ? { why: '' } : readLine(first.bytes);
  const other = 'record' in line ? otherVersion(line.record, journalVersion) : undefined;
  return other ?? (otherVersion(jsonOf(checkpoint)) && otherVersion(manifestJson(runDir)));
}

/** A plain file as JSON; undefined if it is none. */
export const jsonOf = (path: string): unknown => jsonIn(() => readPlain(path));

/** The same of a run's manifest. */
export const manifestJson = (runDir: string): unknown => jsonIn(() => manifestText(runDir));

function jsonIn(plain: () => ReturnType<typeof readPlain>): unknown {
  try {
    const read = plain();
    return read.kind === 'text' ? parseJson(read.text) : undefined;
  } catch {
    // A list only marks a damaged run; its reader gives the reason.
    return undefined;
  }
}

/** A manifest, with the hash by which the journal knows it. */
export type ReadManifest = { readonly ok: true; readonly manifest: Manifest; readonly sha256: string };

/** The manifest of the run in `runDir`, or why it is invalid. Rejects only if it may not be read. */
export async function readManifest(runDir: string): Promise<ReadManifest | Unreadable> {
  const path = layout(runDir).manifest;
  const broken = (what: string): Unreadable =>
    unreadableFile(`${path} ${what}`, 'put back a copy of the file if there is one, else start a new run');
  const found = manifestText(runDir);
  if (found.kind === 'missing')
    return unreadableFile(`there is no ${path}, so ${runDir} is no run`, 'check the run id and --runsdir');
  if (found.kind === 'none') return broken(found.why);
  let value: unknown;
  try {
    value = parseJson(found.text);
  } catch (error) {
    return broken(`is not JSON (${messageOf(error)})`);
  }
  const other = otherVersion(value);
  if (other !== undefined) return unreadableFile(`${path} ${other.what}`, other.fix);
  const read = manifestSchema().safeParse(value);
  return read.success
    ? { ok: true, manifest: read.data, sha256: manifestHash(value as object) }
    : broken(`is no manifest of this version (${schemaProblems(read.error)})`);
}

/** A JSON text that the run was started with, by its name in the manifest, checked against `schema`; undefined where it has none.
 *  Rejects with a BadRecord where the text is damaged. */
export async function readStoredJson<T extends z.ZodType>(
  runDir: string,
  name: string,
  schema: T,
): Promise<z.infer<T> | undefined> {
  const read = await readManifest(runDir);
  const hash = read.ok && read.manifest.texts !== undefined ? own(read.manifest.texts, name) : undefined;
  if (hash === undefined) return undefined;
  const text = storedText(runDir, hash);
  const parsed = text === undefined ? undefined : schema.safeParse(JSON.parse(text));
  if (parsed?.success !== true) throw new BadJsonRecord(lostText(runDir, name));
  return parsed.data;
}
