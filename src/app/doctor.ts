/** Environment checks behind `factory doctor`. Each is tried, not guessed. */
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  statfsSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { chooseAgent } from '../agents/choose.ts';
import { readClaudeSettings } from '../agents/claude-settings.ts';
import { readCodexSettings } from '../agents/codex-settings.ts';
import type { ServerProbe } from '../agents/openai/probe.ts';
import { findExecutable } from '../agents/program/executable.ts';
import { sizeWords } from '../core/amounts.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { sandboxAccount, sandboxRequest, sandboxWords } from '../core/policy/confinement.ts';
import { namedSecrets, secretsOf } from '../core/policy/secrets.ts';
import { databaseBinding, databaseNeeded } from '../fleet/postgres-binding.ts';
import { checkDatabase } from '../fleet/postgres-check.ts';
import { keysAmongRuns } from '../holdout/seal.ts';
import { homeProblem, keysFix, placeOfKeys } from '../holdout/vault.ts';
import { realClock } from '../platform/clock.ts';
import { diskError } from '../platform/files/disk-error.ts';
import { allows, isFolder } from '../platform/files/read.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { isCode, systemWords, writeFileAtomic } from '../platform/files/write.ts';
import { gitMissing, sourceGit } from '../platform/git.ts';
import { proxyFor, proxyProblem } from '../platform/outgoing.ts';
import { sandboxCapabilities } from '../platform/sandbox/capabilities.ts';
import { providersFound } from './doctor-providers.ts';
import { modelServersFor, onlyBuiltIn, runProviderOf } from './model-servers.ts';
import { ableBy } from './sandbox.ts';

/** `good`: nothing to do · `less`: runs work with restrictions · `bad`: runs fail · `absent`: only nodes that use it fail. */
export type EnvironmentFinding = {
  readonly what:
    | 'node'
    | 'git'
    | 'sandbox'
    | 'runs'
    | 'temporary'
    | 'keys'
    | 'secrets'
    | 'agent'
    | 'providers'
    | 'probe'
    | 'codex'
    | 'claude'
    | 'queue';
  readonly state: 'good' | 'less' | 'bad' | 'absent';
  readonly says: string;
  readonly more: readonly string[];
  readonly fix?: string;
  /** What a provider that was asked can do. */
  readonly probe?: {
    readonly provider: string;
    readonly model: string;
    readonly price: 'known' | 'unknown' | 'tokens not counted';
  } & Pick<ServerProbe, 'api' | 'schema' | 'streaming' | 'tools'>;
};

/** Runs all checks. `runsDir` is absolute and need not exist. Leaves nothing behind. */
export async function checkEnvironment(where: {
  readonly cwd: string;
  readonly runsDir: string;
  readonly env: Environment;
  /** The URL of the database of the queue. */
  readonly db?: string | undefined;
  /** The providers are asked, which costs a few tokens of each. */
  readonly probe?: { readonly clock: Clock; readonly provider?: string; readonly model?: string };
}): Promise<readonly EnvironmentFinding[]> {
  const { cwd, runsDir, env, db, probe } = where;
  const temporary = temporaryOf(env);
  return [
    { what: 'node', state: 'good', says: process.version, more: [] },
    await git(cwd, env),
    await sandbox(env),
    await disk('runs', runsDir),
    await disk('temporary', temporary),
    await keys(runsDir, env),
    secrets(env),
    agent(cwd, env),
    providersFound(cwd, env),
    ...(probe === undefined ? [] : await probes({ ...probe, cwd, env })),
    await program('codex', cwd, env),
    await program('claude', cwd, env),
    ...(await queueDatabase(cwd, runsDir, db)),
  ];
}

/** Loaded only by those who ask for it. */
async function probes(
  given: Parameters<typeof import('./doctor-probe.ts').probesFound>[0],
): Promise<readonly EnvironmentFinding[]> {
  return (await import('./doctor-probe.ts')).probesFound(given);
}

/** Of a queue in a database; one that is in the runs directory is there with it. */
async function queueDatabase(
  cwd: string,
  runsDir: string,
  db: string | undefined,
): Promise<readonly EnvironmentFinding[]> {
  const what = 'queue';
  const bad = ([problem]: Refusal['problems']): readonly EnvironmentFinding[] => {
    const { message = '', fix } = problem ?? {};
    return [{ what, state: 'bad', says: message, more: [], ...(fix === undefined ? {} : { fix }) }];
  };
  if (db === undefined) {
    const bound = databaseBinding(runsDir);
    if (bound === undefined) return [];
    return bad('problems' in bound ? bound.problems : databaseNeeded(runsDir, bound).problems);
  }
  const found = await checkDatabase(runsDir, db, { cwd, clock: realClock });
  if ('problems' in found) return bad(found.problems);
  const { place, server, release, roundTripMs, workersLeft } = found;
  const says = `${place}: PostgreSQL ${server}, pg-boss ${release}, ${Math.max(1, Math.round(roundTripMs))} ms`;
  const room = `connections for ${workersLeft} more worker${workersLeft === 1 ? '' : 's'}`;
  if (workersLeft > 0) return [{ what, state: 'good', says: `${says}, ${room}`, more: [] }];
  return [{ what, state: 'less', says, more: [`no ${room}`], fix: 'raise max_connections of the server' }];
}

async function git(cwd: string, env: Environment): Promise<EnvironmentFinding> {
  const found = await sourceGit(allows(cwd, constants.X_OK) ? cwd : '/', env).run(['--version']);
  if (found.ok) return { what: 'git', state: 'good', says: found.text, more: [] };
  return {
    what: 'git',
    state: 'bad',
    says: found.missing ? gitMissing : found.why,
    more: ['only pipelines that plan and build need it'],
    ...(found.missing ? { fix: 'install git' } : {}),
  };
}

async function sandbox(env: Environment): Promise<EnvironmentFinding> {
  const variable = env['FACTORY_SANDBOX']?.trim() ?? '';
  const word = sandboxWords.find((one) => one === variable);
  const what = 'sandbox';
  if (variable !== '' && word === undefined)
    return {
      what,
      state: 'bad',
      says: `FACTORY_SANDBOX is "${variable}", which is not one of ${sandboxWords.join(', ')}`,
      more: [],
      fix: 'set it to one of these, or unset it',
    };
  const ladder = await sandboxCapabilities(env);
  const { used, why, missing } = sandboxAccount(sandboxRequest({ environment: word }), ableBy(ladder));
  const more = missing.map((one) => `not enforced: ${one}`);
  if (word === 'bwrap' && 'missing' in ladder.bwrap)
    return { what, state: 'bad', says: why, more, fix: 'set FACTORY_SANDBOX=auto, or make bubblewrap work' };
  return {
    what,
    state: used === 'bwrap' ? 'good' : 'less',
    says: `${used}: ${why}`,
    more,
    ...(used === 'bwrap' ? {} : { fix: 'see docs/sandbox.md for what bubblewrap needs' }),
  };
}

/** Bytes below which a run is likely to fill the disk. */
const littleRoom = 1024 ** 3;

/** The key store: without it, pipelines with a holdout are refused. */
async function keys(runsDir: string, env: Environment): Promise<EnvironmentFinding> {
  const what = 'keys';
  const less = (says: string): EnvironmentFinding => ({
    what,
    state: 'less',
    says,
    more: ['pipelines with holdout scenarios, such as the main job, are refused; others run'],
    fix: keysFix,
  });
  const homeless = homeProblem(env);
  if (homeless !== undefined) {
    const { message, fix = keysFix } = homeless;
    return { what, state: 'bad', says: message, more: ['no run starts'], fix };
  }
  const place = placeOfKeys(env);
  if ('problem' in place) return less(place.problem.message);
  const among = unlessOutOfReach(() => keysAmongRuns(runsDir, env));
  if (among !== undefined) return less(among);
  const tried = await disk(what, place.folder);
  return tried.state === 'bad' ? less(tried.says) : { what, state: 'good', says: place.folder, more: [] };
}

/** Undefined if the runs directory cannot be examined: its own check reports that. */
function unlessOutOfReach<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (diskError(error) === undefined) throw error;
    return undefined;
  }
}

const elsewhere = {
  runs: 'name another folder with --runsdir',
  temporary: 'set TMPDIR to another folder',
  keys: keysFix,
} as const;

async function disk(what: keyof typeof elsewhere, path: string): Promise<EnvironmentFinding> {
  const fix = elsewhere[what];
  const bad = (why: string): EnvironmentFinding => ({
    what,
    state: 'bad',
    says: `${path}: ${why}`,
    more: [],
    fix,
  });
  // The temporary folder is never created.
  if (what === 'temporary' && !isThere(path)) return bad('there is no such folder');
  let folder = path;
  for (; !isFolder(folder); folder = dirname(folder))
    if (isThere(folder)) return bad(`${folder} is not a folder, or cannot be reached`);
  let own: string | undefined;
  try {
    own = await makeTemporary(folder, '.factory-doctor');
    await writeFileAtomic(join(own, 'one'), 'x');
    const { bavail, bsize } = statfsSync(own);
    const free = bavail * bsize;
    const tried = [
      `${sizeWords(free)} free`,
      ...(what === 'runs' ? [...links(own), copies(own), names(own)] : []),
    ].filter((words) => words !== '');
    return {
      what,
      state: free < littleRoom ? 'less' : 'good',
      says: `${path}: ${tried.join(', ')}`,
      more: [],
      ...(free < littleRoom ? { fix: `free disk space there, or ${fix}` } : {}),
    };
  } catch (error) {
    const trouble = diskError(error);
    if (trouble === undefined && !isCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) throw error;
    return bad(`nothing can be written there: ${systemWords(trouble?.error ?? error)}`);
  } finally {
    if (own !== undefined) await removeTree(own).catch(() => {});
  }
}

/** True for an entry of any kind, and for one that cannot be examined. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return !isCode(error, 'ENOTDIR');
  }
}

/** The kinds of links that the disk does not support. */
function links(folder: string): readonly string[] {
  const [one, other] = [join(folder, 'one'), join(folder, 'other')];
  const missing = (what: string, make: (path: string) => void): readonly string[] => {
    try {
      make(other);
      unlinkSync(other);
      return [];
    } catch (error) {
      if (isCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) return [what];
      throw error;
    }
  };
  return [
    ...missing('no hard links', (path) => linkSync(one, path)),
    ...missing('no symbolic links', (path) => symlinkSync('one', path)),
  ];
}

function copies(folder: string): string {
  try {
    copyFileSync(join(folder, 'one'), join(folder, 'copy'), constants.COPYFILE_FICLONE_FORCE);
    return 'copies share their blocks';
  } catch {
    return 'copies take time and space (no copy-on-write)';
  }
}

const names = (folder: string): string =>
  existsSync(join(folder, 'ONE')) ? 'case-insensitive file names' : '';

/** The variables that nodes do not get; their values are not shown. */
function secrets(env: Environment): EnvironmentFinding {
  const what = 'secrets';
  const named = namedSecrets(env);
  if ('bad' in named) {
    const says = `FACTORY_SECRETS: "${named.bad}" is not the name of a variable`;
    return { what, state: 'bad', says, more: [], fix: 'write names with commas between them' };
  }
  const names = secretsOf(env, named.names).map(({ name }) => name);
  const says = names.length === 0 ? 'none in the environment' : `withheld from nodes: ${names.join(', ')}`;
  const more = names.length === 0 ? [] : ['env_pass passes them; agents get their own keys'];
  return { what, state: 'good', says, more };
}

/** The agent of runs whose pipeline and flags set none. */
function agent(cwd: string, env: Environment): EnvironmentFinding {
  const given = modelServersFor(cwd, env);
  const known = 'problems' in given ? onlyBuiltIn : given;
  const runProvider = runProviderOf(undefined, {}, known, env);
  const chosen = chooseAgent({ env, servers: known.servers, runProvider });
  if ('plan' in chosen) {
    const { plan } = chosen;
    const says = `${plan.describe}, by ${plan.chosenBy}`;
    const problem = proxyProblem(env);
    if (problem !== undefined)
      return { what: 'agent', state: 'bad', says, more: [problem], fix: 'correct it, or unset it' };
    const proxy = proxyFor('https://somewhere', env);
    const through = `requests of factory go through the proxy of ${proxy}, except for this machine and NO_PROXY`;
    return { what: 'agent', state: 'good', says, more: proxy === undefined ? [] : [through] };
  }
  const { message, fix } = chosen.problem;
  return {
    what: 'agent',
    state: 'less',
    says: message,
    more: ['pipelines with prepared answers, and nodes that name their agent, run anyway'],
    ...(fix === undefined ? {} : { fix }),
  };
}

async function program(what: 'codex' | 'claude', cwd: string, env: Environment): Promise<EnvironmentFinding> {
  const read = (what === 'codex' ? readCodexSettings : readClaudeSettings)(
    { settings: {}, workspace: cwd },
    { env },
  );
  if ('problem' in read) return { what, state: 'less', says: read.problem, more: [] };
  const found = await findExecutable(what, read.settings.executable, env['PATH'], 'nodes that ask it fail');
  if ('problem' in found) return { what, state: 'absent', says: found.problem, more: [] };
  return { what, state: 'good', says: `${found.path} (its login is not checked)`, more: [] };
}
