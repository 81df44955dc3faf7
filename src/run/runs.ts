/** The runs directory: its runs, their names and their status. */
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { lstat, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ulid } from 'ulid';
import * as z from 'zod';
import { nothingSpent, type Spent, spentSchema } from '../core/budget/usage.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { own, parseJson } from '../core/json.ts';
import { once } from '../core/once.ts';
import { isPaused, parkedSchema, pausedWords } from '../core/outcome.ts';
import { quoteWord } from '../core/policy/words.ts';
import { type EndCause, endedSchema, journalMarkSchema } from '../core/records/checkpoint.ts';
import { layout } from '../core/records/layout.ts';
import { type Manifest, manifestSchema } from '../core/records/manifest.ts';
import { nodeId, runIdForm } from '../core/records/names.ts';
import { journalVersion } from '../core/records/visit.ts';
import { BadJsonRecord } from '../platform/files/json-record.ts';
import { readPlain } from '../platform/files/read.ts';
import { isCode, isMissing, makeFolder } from '../platform/files/write.ts';
import { lostText, manifestHash, manifestText, storedText } from './inputs.ts';
import { journalLines, readLine } from './journal-read.ts';
import { livingOwners, ownerOf } from './lock.ts';
import { readRun } from './run-journal.ts';
import { messageOf, otherVersion, schemaProblems, type Unreadable, unreadableFile } from './unreadable.ts';

const longestId = 100;

/** Why a new run cannot have that id, or undefined. */
export const newRunIdProblem = (id: string): string | undefined =>
  backOf(id) === 1 ? `"${id}" names the run that was started last` : validRunId(id);

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
  return started.sort((a, b) => order(b.at, a.at) || order(b.id, a.id)).map(({ id }) => id);
}

const some = (ids: readonly string[]): string => ids.slice(0, 5).join(', ') + (ids.length > 5 ? ', …' : '');

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

async function isRun(dir: string): Promise<boolean> {
  const { manifest, checkpoint } = layout(dir);
  return (await isFile(manifest)) || (await isFile(checkpoint));
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (is) => is.isFile(),
    // A directory that this user may not read may be a run; its reader reports that.
    (error: unknown) => isCode(error, 'EACCES'),
  );

const statusWords = ['running', 'completed', 'failed', 'interrupted', ...pausedWords] as const;
const savedSchema = once(() =>
  z.object({
    status: z.enum(statusWords),
    // The status counts even if the checkpoint lacks these.
    next_node: z.string().nullish().catch(null),
    elapsed_ms: z.number().catch(0),
    cut_ms: z.number().optional().catch(undefined),
    ended: endedSchema().pick({ reason: true, cause: true }).nullish().catch(null),
    last_failure: z.object({ node: nodeId() }).nullish().catch(null),
    spent: spentSchema().optional().catch(undefined),
    parked: parkedSchema().optional().catch(undefined),
    journal: journalMarkSchema().optional().catch(undefined),
  }),
);
const storySchema = once(() =>
  z.object({
    started_at: z.string(),
    pipeline_path: z.string(),
    forked_from: z
      .object({ run_id: z.string(), node: z.string(), visit: z.number(), before: z.boolean() })
      .optional()
      .catch(undefined),
    replay_of: z.object({ run_id: z.string(), live: z.boolean().optional() }).optional().catch(undefined),
  }),
);
type ForkLink = NonNullable<z.infer<ReturnType<typeof storySchema>>['forked_from']>;

export type RunSummary = {
  readonly id: string;
  readonly dir: string;
  /** Status of the checkpoint; `running` also if the run has just been resumed, `crashed` if it says running and the run has
   *  no owner; `unreadable` without a valid checkpoint or manifest. */
  readonly status: (typeof statusWords)[number] | 'crashed' | 'unreadable';
  /** RFC 3339; empty if the manifest cannot be read. */
  readonly startedAt: string;
  readonly pipeline: string;
  /** Until its last checkpoint. */
  readonly elapsedMs: number;
  readonly spent: Spent;
  /** When a run that is suspended for a quota resumes (RFC 3339); null for any other. */
  readonly wakeAt: string | null;
  /** Why it failed, or what it waits for; empty otherwise. */
  readonly reason: string;
  /** What ended it, where the next command depends on it. */
  readonly cause: EndCause | undefined;
  /** The next node; empty if the run has reached an exit. */
  readonly nextNode: string;
  /** Its next node had begun when it was interrupted or suspended. */
  readonly cut: boolean;
  /** The node of the latest failure; empty without one. */
  readonly failedNode: string;
  /** The checkpoint of another run that it started from; null if it is not a fork. */
  readonly forkedFrom: ForkLink | null;
  /** The recorded run of a replay; null for any other. */
  readonly replayOf: string | null;
  /** A replay without agents that diverged: a resume ends at the same place unless it has --live. */
  readonly offline: boolean;
};

/** The runs of a directory, newest first; damaged runs are listed as unreadable. */
export async function listRuns(runsDir: string, clock: Clock): Promise<RunSummary[]> {
  const runs: RunSummary[] = [];
  // One after the other: a directory of thousands of runs must not open thousands of files at once.
  for (const id of await runIds(runsDir)) {
    const dir = join(runsDir, id);
    const run = await summaryOf(id, dir, clock);
    // A run that was removed in the meantime is not damaged.
    if (run.status !== 'unreadable' || (await isRun(dir))) runs.push(run);
  }
  return runs.sort((a, b) => order(b.startedAt, a.startedAt) || order(b.id, a.id));
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Status of one run; `dir` is its directory. */
export const summaryOf = async (id: string, dir: string, clock: Clock): Promise<RunSummary> =>
  (await summaryWithFiles(id, dir, clock)).summary;

/** The same with the two files that it was read from, as JSON; undefined for one that is none. */
export type SummaryWithFiles = {
  readonly summary: RunSummary;
  readonly manifest: unknown;
  readonly checkpoint: unknown;
};

export async function summaryWithFiles(id: string, dir: string, clock: Clock): Promise<SummaryWithFiles> {
  const at = layout(dir);
  const manifest = manifestJson(dir);
  const story = storySchema().safeParse(manifest);
  const checkpoint = jsonOf(at.checkpoint);
  const isEarlier = !existsSync(at.journal);
  const inFile = savedSchema().safeParse(isEarlier ? undefined : checkpoint);
  let owned = mayRun(inFile) ? await isOwnedBySomebody(dir, clock) : false;
  // An owner keeps its checkpoint up to date; its journal need not be read.
  const { saved, why = '' } = isEarlier || owned === true ? { saved: inFile } : await savedIn(dir, inFile);
  if (mayRun(saved) && !mayRun(inFile)) owned = await isOwnedBySomebody(dir, clock);
  const said = saved.success ? saved.data.status : 'unreadable';
  const isOwned = owned === true;
  // Its engine may have ended between the two reads.
  if (said === 'running' && owned === false && !isDeepStrictEqual(jsonOf(at.checkpoint), checkpoint))
    return summaryWithFiles(id, dir, clock);
  // The status of another version is not interpreted, and the run cannot be resumed.
  const other = isOwned ? undefined : otherVersion(checkpoint);
  const damaged =
    other !== undefined || owned === 'unknown' || !story.success || otherVersion(manifest) !== undefined;
  const status = isOwned ? 'running' : damaged ? 'unreadable' : said === 'running' ? 'crashed' : said;
  const summary: RunSummary = {
    id,
    dir,
    status,
    startedAt: story.success ? story.data.started_at : '',
    pipeline: story.success ? story.data.pipeline_path : '',
    elapsedMs: saved.success ? saved.data.elapsed_ms : 0,
    spent: (saved.success && saved.data.spent) || nothingSpent,
    wakeAt: (saved.success && isPaused(status) && saved.data.parked?.wake_at) || null,
    reason:
      (other !== undefined && `${other.fix}: it ${other.what}`) ||
      (isEarlier && 'it was begun by an earlier version of factory: it has no journal.jsonl') ||
      why ||
      (saved.success &&
        !isOwned &&
        !damaged &&
        (saved.data.ended?.reason ?? (isPaused(status) ? saved.data.parked?.reason : ''))) ||
      '',
    cause: saved.success ? saved.data.ended?.cause : undefined,
    nextNode: (saved.success && saved.data.status !== 'completed' && saved.data.next_node) || '',
    cut: saved.success && saved.data.cut_ms !== undefined,
    failedNode: (saved.success && saved.data.last_failure?.node) || '',
    forkedFrom: (story.success && story.data.forked_from) || null,
    replayOf: (story.success && story.data.replay_of?.run_id) || null,
    offline: story.success && story.data.replay_of?.live === false,
  };
  return { summary, manifest, checkpoint };
}

type Saved = z.ZodSafeParseResult<z.infer<ReturnType<typeof savedSchema>>>;

/** Whether an owner would make the run a running one: a resumed run has its previous status until its first node has finished. */
const mayRun = ({ data }: Saved): boolean =>
  data !== undefined && data.status !== 'completed' && (data.status === 'running' || data.next_node != null);

/** Whether a process executes the run, or waits to resume it: of a suspended run the lock is free, and its owner may wait all the
 *  same; any other whose lock is free has ended. */
export const isAtWork = ({ status, dir }: Pick<RunSummary, 'status' | 'dir'>): boolean =>
  status === 'running' || (isPaused(status) && livingOwners(dir).length > 0);

/** The state of the run: the checkpoint's, or the journal's where a crash left an older checkpoint or none. A checkpoint
 *  without the journal that it was written from says nothing; `why` names what is wrong with the journal then. */
async function savedIn(dir: string, saved: Saved): Promise<{ readonly saved: Saved; readonly why?: string }> {
  const size = statSync(layout(dir).journal, { throwIfNoEntry: false })?.size;
  if (saved.success && saved.data.journal?.bytes === size) return { saved };
  const history = await readRun(dir);
  if (history.ok) return { saved: savedSchema().safeParse(history.checkpoint) };
  return { saved: savedSchema().safeParse(undefined), why: history.why };
}

/** A run that cannot be read does not hide the others. */
const isOwnedBySomebody = (dir: string, clock: Clock): Promise<boolean | 'unknown'> =>
  ownerOf(dir, clock).then(
    (owner) => owner !== undefined,
    () => 'unknown',
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
    // A list only marks a damaged run; `readManifest` and `readRun` give the reason.
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
