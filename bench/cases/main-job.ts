/** The main job with its prepared answers, and one trivial work order: what people wait for. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Bench, type Case, factory, figuresOf, type Program, versus, versusAtMost } from '../case.ts';
import { Failed, measure } from '../measure.ts';

/** As in use: nodes run in the sandbox where there is one. */
const confined = (bench: Bench): Bench => {
  const { FACTORY_SANDBOX: _, ...env } = bench.env;
  return { ...bench, env };
};

/** The package that a program belongs to, for its own pipelines; ours where it has none. */
function packageOf(program: Program, bench: Bench): string {
  for (let at = dirname(program.argv.at(-1) ?? ''); at !== dirname(at); at = dirname(at))
    if (existsSync(join(at, 'pipelines/compile-and-build.dot'))) return at;
  return bench.project;
}

/** `limit`: of our wall beside an earlier build's. */
const jobCase = (name: string, where: string, placed: (bench: Bench) => Bench, limit: number): Case => ({
  name,
  title: () => `the main job with prepared answers, ${where}`,
  rounds: [5, 1],
  prepare: (bench) => ({
    program: async (program, id) => {
      const pipeline = join(packageOf(program, bench), 'pipelines/compile-and-build.dot');
      const runs = join(bench.folder, `runs-${program.name}`);
      const words = ['run', pipeline, '--runsdir', runs, '--run-id', id];
      return { sample: figuresOf(await measure([...program.argv, ...words], placed(bench))) };
    },
    beside: {},
  }),
  comparisons: [
    { what: 'wall of the main job', how: 'value', of: [factory, 'wall_ms'] },
    ...versusAtMost(limit, 'wall_ms'),
    ...versus('cpu_ms', 'peak_mib'),
  ],
});

export const mainJob = jobCase('main-job', 'in the sandbox', confined, 0.92);
export const openJob = jobCase('open-job', 'without a sandbox', (bench) => bench, 1);

export const workOrder: Case = {
  name: 'work-order',
  title: () => '`order run` of one trivial work order, in the sandbox',
  rounds: [7, 1],
  prepare: (bench) => {
    const orderFile = join(bench.folder, 'WO-01.json');
    const script = join(bench.folder, 'script.json');
    writeFileSync(orderFile, JSON.stringify(trivialOrder));
    writeFileSync(script, JSON.stringify({ format: 'factory-script/1', answers: { propose: [proposal] } }));
    return {
      program: async (program, id) => {
        const repo = repository(join(bench.folder, id));
        const words = ['order', 'run', '--repo', repo, '--work-order', orderFile, '--branch', 'work/x'];
        const agent = ['--agent', 'scripted', '--script', script, '--no-push'];
        const places = [
          '--runsdir',
          join(bench.folder, `runs-${id}`),
          '--artifacts-dir',
          join(bench.folder, `art-${id}`),
        ];
        const ran = await measure([...program.argv, ...words, ...agent, ...places], confined(bench));
        if (git(repo, 'log', '-1', '--format=%s') !== 'WO-01: One file')
          throw new Failed('the work order is not on its branch');
        return { sample: figuresOf(ran) };
      },
      beside: {},
    };
  },
  comparisons: [
    { what: 'wall of the order', how: 'value', of: [factory, 'wall_ms'] },
    ...versus('wall_ms', 'cpu_ms'),
  ],
};

const trivialOrder = {
  id: 'WO-01',
  title: 'One file',
  intent: 'One file.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: 'one.txt' }],
  allowed_files: ['one.txt'],
  forbidden: [],
  acceptance_commands: ['grep -q 1 one.txt'],
  context_files: ['one.txt'],
  notes: null,
};
/** SHA-256 of no bytes: the file is not there yet. */
const absent = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const proposal = {
  json: { summary: 'one', writes: [{ path: 'one.txt', base_sha256: absent, content: '1\n' }] },
};

const git = (repo: string, ...words: string[]): string =>
  execFileSync('git', ['-C', repo, ...words], { encoding: 'utf8' }).trim();

/** A new repository with one commit that can be verified. */
function repository(folder: string): string {
  mkdirSync(join(folder, 'scripts'), { recursive: true });
  writeFileSync(join(folder, 'scripts/verify.sh'), 'exit 0\n');
  git(folder, 'init', '-q', '-b', 'main');
  git(folder, 'add', '.');
  git(folder, '-c', 'user.name=bench', '-c', 'user.email=bench@localhost', 'commit', '-q', '-m', 'start');
  return folder;
}
