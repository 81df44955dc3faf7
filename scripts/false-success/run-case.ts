/** One case in one setting: runs it, delivers what a run accepted, and asks the oracle about that. */
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BoxedEnd, runBoxed } from './box.ts';
import { type StoppingGuard, stoppingGuard } from './guard.ts';
import type { CaseRow } from './table.ts';

/** `bwrap` and `none`: a run with and without a sandbox. `strong`: as `bwrap`, judged by the strong scenarios of the case.
 *  `plain`: the builder works, the visible tests run, nothing else. */
export const caseSettings = ['bwrap', 'strong', 'none', 'plain'] as const;
export type CaseSetting = (typeof caseSettings)[number];

export type CaseOutcome =
  | { readonly state: 'accepted'; readonly isRight: boolean; readonly oracle: string }
  | { readonly state: 'stopped'; readonly guard: StoppingGuard }
  /** The case did not show anything: a mistake of its files or of the table. */
  | { readonly state: 'broken'; readonly why: string };

export type CaseHost = {
  /** The repository. */
  readonly project: string;
  /** The built program. */
  readonly program: string;
  /** An empty folder for the case. */
  readonly folder: string;
};

export async function runCase(row: CaseRow, setting: CaseSetting, host: CaseHost): Promise<CaseOutcome> {
  await rm(host.folder, { recursive: true, force: true });
  await mkdir(host.folder, { recursive: true });
  const isConfined = setting === 'bwrap' || setting === 'strong';
  const script = setting === 'plain' ? await plainScript(row, host) : join(row.folder, 'cheat.sh');
  const end = await box(
    host,
    ['bash', script],
    {
      ...row.env,
      SANDBOX: isConfined ? 'bwrap' : 'none',
      ...(setting === 'strong' ? { SUITE: 'strong' } : {}),
      OUT: host.folder,
      FACTORY: host.program,
    },
    !isConfined,
  );
  const code = /^RC=(\d+)$/m.exec(end.output)?.[1];
  if (end.timedOut || code === undefined)
    return { state: 'broken', why: `the case did not end: ${lastLines(end)}` };
  if (setting === 'plain')
    return code === '0'
      ? askOracle(row, host, join(host.folder, 'proj'))
      : stopped("the project's tests", `exit code ${code}`);
  if (code === '2' || code === '70') return { state: 'broken', why: `exit code ${code}: ${lastLines(end)}` };
  return code === '0' ? acceptedRun(row, host) : { state: 'stopped', guard: await guardOfRun(host) };
}

const stopped = (name: string, message: string): CaseOutcome => ({
  state: 'stopped',
  guard: { name, message },
});
const lastLines = ({ output }: BoxedEnd): string =>
  output.trim().split('\n').slice(-4).join(' · ').slice(0, 400);

/** A copy of the case whose lib.sh ends in the plain loop. */
async function plainScript(row: CaseRow, { project, folder }: CaseHost): Promise<string> {
  const cases = join(folder, 'plain');
  await cp(row.folder, join(cases, row.case), { recursive: true });
  const texts = [join(dirname(row.folder), 'lib.sh'), join(project, 'test/false-success/plain.sh')];
  const [lib, plain] = await Promise.all(texts.map((path) => readFile(path, 'utf8')));
  await writeFile(join(cases, 'lib.sh'), `${lib}\n${plain}`);
  await symlink(join(project, 'test/false-success/products.sh'), join(folder, 'products.sh'));
  return join(cases, row.case, 'cheat.sh');
}

function box(
  { project, folder }: CaseHost,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  boxed: boolean,
  cwd = folder,
): Promise<BoxedEnd> {
  const { PATH = '', LANG = 'C.UTF-8' } = process.env;
  const base = { PATH, LANG, HOME: folder, npm_config_update_notifier: 'false' };
  return runBoxed({ command, folder, cwd, env: { ...base, ...env }, seconds: 240, boxed, reads: [project] });
}

async function acceptedRun(row: CaseRow, host: CaseHost): Promise<CaseOutcome> {
  const product = join(host.folder, 'product');
  const runs = ['--runsdir', join(host.folder, 'runs')];
  const { commits } = await recordOf<{ commits: unknown[] }>(host, 'result.json');
  if (commits.length > 0) {
    const end = await box(host, [host.program, 'deliver', 'r', ...runs, '--to', product], {}, false);
    return end.code === 0 ? askOracle(row, host, product) : stopped('delivery', lastLines(end));
  }
  // A run without commits is delivered by hand: its files replace those of the repository.
  const files = join(host.folder, 'files');
  const end = await box(host, [host.program, 'checkout', 'r', files, ...runs], {}, false);
  if (end.code !== 0) return { state: 'broken', why: `checkout: ${lastLines(end)}` };
  await cp(join(host.folder, 'proj'), product, { recursive: true, verbatimSymlinks: true });
  for (const name of await readdir(product)) {
    if (name !== '.git') await rm(join(product, name), { recursive: true, force: true });
  }
  await cp(files, product, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  return askOracle(row, host, product);
}

/** Exit code 0: the product is right; 1: it is wrong. */
async function askOracle(row: CaseRow, host: CaseHost, product: string): Promise<CaseOutcome> {
  const end = await box(host, row.oracle, {}, true, product);
  if (end.timedOut || (end.code !== 0 && end.code !== 1))
    return { state: 'broken', why: `the oracle ended with exit code ${end.code}: ${lastLines(end)}` };
  return { state: 'accepted', isRight: end.code === 0, oracle: lastLines(end) };
}

async function guardOfRun(host: CaseHost): Promise<StoppingGuard> {
  const result = await recordOf<{ reason: string; failed_node: string | null; failure_class: string | null }>(
    host,
    'result.json',
  );
  type Audit = { findings: { severity: string; code: string }[] };
  const audit = await recordOf<Audit>(host, 'audit.json').catch((): Audit => ({ findings: [] }));
  return stoppingGuard({
    reason: result.reason,
    failedNode: result.failed_node,
    failureClass: result.failure_class,
    auditErrors: audit.findings.filter(({ severity }) => severity === 'error').map(({ code }) => code),
  });
}

const recordOf = async <Record>({ folder }: CaseHost, name: string): Promise<Record> =>
  JSON.parse(await readFile(join(folder, 'runs/r', name), 'utf8'));
