/** A pull request of a run with sealed scenarios, on a server and repositories of our own, and what follows it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { emptySha } from '../builder/support.ts';
import { root } from './cli.ts';
import { earlier, type FakePull, fakeToken, startGitHub, textsOf } from './github-server.ts';
import { house } from './house.ts';

export const git = (folder: string, ...args: string[]) =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=e', ...args], {
    encoding: 'utf8',
  }).trim();

const order = (path: string) => ({
  ...{ id: 'WO-01', title: `Write ${path}`, intent: 'A file.', preconditions: [] },
  ...{ postconditions: [{ kind: 'file_exists', path }], allowed_files: [path], forbidden: [] },
  ...{ acceptance_commands: [`grep -q 1 ${path}`], context_files: [path], notes: null },
});
export const plan = (path: string) =>
  JSON.stringify({ system_overview: ['A file.'], verify_contract: null, work_orders: [order(path)] });
const answers = (path: string) => {
  const json = { summary: 's', writes: [{ path, base_sha256: emptySha, content: '1\n' }] };
  return JSON.stringify({ format: 'factory-script/1', answers: { propose: [{ json }] } });
};
const files = {
  'work/keep.txt': 'kept\n',
  'spec.md': '# The alarm\n\nIt rings.\n',
  'plan.json': plan('f.txt'),
  'build.json': answers('f.txt'),
  'suite/a.sh': '# a sealed scenario\n',
  // The plan of a test becomes commits.
  'make.dot': readFileSync(join(root, 'pipelines/build.dot'), 'utf8')
    .replaceAll('@../', `@${root}/`)
    .replace('../examples', `${root}/examples`)
    .replace('vars="', 'vars="spec=@spec.md, '),
};

const judged = (text: string, judge: string): string =>
  text.replace('  proof -> exit [', '  proof -> judge [').replace(
    /}\s*$/,
    `  judge [shape=parallelogram, ${judge}]
  unfit [shape=Msquare, outcome=fail]
  judge -> exit [condition="outcome=success"]
  judge -> unfit [condition="outcome=fail"]
}
`,
  );

/** Its words are seen nowhere outside of the run's records. */
export const secretWords = 'the-bell-rings-thrice';
/** Fails as soon as the product has a file `bad.txt`. */
const scenario = `# canary: ${secretWords}
[ "$SCENARIO_MODE" = selftest ] && exit 0
if [ "$("$APP_RUN" cat f.txt)" != 1 ] || [ -e "$1/bad.txt" ]; then
  printf 'FAIL: ${secretWords}\n  expected: no bad.txt\n  observed: one\n'
  echo failure_class=product >&2
  exit 1
fi
`;

export const comment = (id: number, author: string, body: string, more: object = {}) => ({
  ...{ id, author, body, createdAt: earlier },
  ...more,
});

export const usualJudge = 'tool_command="factory scenario run scripts/scenarios --app . --live"';

/** Pull request 7 of `my-org/app`, of the branch that `RUN1` has pushed. `judge`: the attributes of the node that judges, if one does;
 *  `holdout`: the path of the scenarios. */
export async function followedPull({
  withJudge = false,
  judge = usualJudge,
  holdout = 'scripts/scenarios',
  suite = scenario,
} = {}) {
  const github = await startGitHub();
  const repo = github.repository('my-org/app');
  const env = (path: string) => ({
    ...{ FACTORY_SANDBOX: 'none', FACTORY_KEYS: join(path, 'keys') },
    ...{ GITHUB_API_URL: github.url, GITHUB_TOKEN: fakeToken },
  });
  const make = judged(files['make.dot'], judge).replace('vars="', `holdout="${holdout}", vars="`);
  const given = { 'make.dot': make, 'suite/a.sh': suite };
  const it = await house(withJudge ? { ...files, ...given } : files, env);
  const at = (...names: string[]) => join(it.path, ...names);
  const pushed = (branch = 'factory/RUN1') => git(at('origin.git'), 'rev-parse', `refs/heads/${branch}`);
  mkdirSync(at('origin.git'));
  git(at('origin.git'), 'init', '-q', '--bare');
  git(at('work'), 'init', '-q', '-b', 'main');
  git(at('work'), 'add', '.');
  git(at('work'), 'commit', '-qm', 'first');
  git(at('work'), 'remote', 'add', 'origin', at('origin.git'));
  const flags = { runId: 'RUN1', workdir: 'work', holdout: 'suite', agent: 'scripted', script: 'build.json' };
  const built = await it.run('make.dot', { ...flags, var: ['plan=plan.json'] });
  if (built.code !== 0) throw new Error(built.err + built.out);
  const delivered = await it.called(['deliver', 'RUN1'], { push: true });
  if (delivered.code !== 0) throw new Error(delivered.err);
  const texts = { title: 't', body: '', base: 'main', draft: false, state: 'open' as const, merged: false };
  const pull: FakePull = {
    number: 7,
    head: 'my-org:factory/RUN1',
    ...texts,
    sha: () => pushed(),
    comments: [],
  };
  repo.pulls.push(pull);
  git(at('work'), 'push', '-q', 'origin', 'main');
  repo.branches['main'] = () => pushed('main');
  /** Someone merges something else into the base. */
  const moveBase = (name: string, text: string) => {
    rmSync(at('other'), { recursive: true, force: true });
    git(at(), 'clone', '-q', '-b', 'main', at('origin.git'), 'other');
    writeFileSync(at('other', name), text);
    git(at('other'), 'add', '.');
    git(at('other'), 'commit', '-qm', `base: ${name}`);
    git(at('other'), 'push', '-q');
  };
  // What built the first commit is gone: the scenarios come from the run's seal.
  rmSync(at('suite'), { recursive: true });

  const followed = async (flags: Record<string, string | boolean | string[]> = {}, target = 'RUN1') => {
    const told = await it.called(['follow', target], {
      ...{ repo: 'my-org/app', script: 'build.json', look: true, json: true },
      ...flags,
    });
    if (told.out === '') throw new Error(told.err);
    return { code: told.code, ...JSON.parse(told.out) };
  };
  async function jobs<T>(
    work: (queue: Exclude<Awaited<ReturnType<typeof openQueue>>, { problems: unknown }>) => Promise<T>,
  ) {
    const queue = await openQueue(at('.factory/runs'), { clock: realClock, env: {} });
    if ('problems' in queue) throw new Error('no queue');
    const done = await work(queue);
    await queue.close();
    return done;
  }
  const queuedIds = () => jobs(async (queue) => (await queue.list()).map(({ job }) => job.run_id));
  /** Executes the run of a round as a worker does. */
  async function worked(id: string): Promise<number> {
    const job = await jobs((queue) => queue.get(id));
    const { code } = await it.called(['run', ...(job?.job.request.run ?? []), `--run-id=${id}`]);
    await jobs((queue) => queue.cancel(id));
    return code;
  }
  const ask = (path: string) => {
    writeFileSync(at('plan.json'), plan(path));
    writeFileSync(at('build.json'), answers(path));
  };
  const ours = () => textsOf(pull).filter(({ author }) => author === 'factory-user');
  const spec = (round = 1) => it.read(`.factory/runs/github/follows/RUN1/RUN1-round-${round}.md`);
  return {
    ...{ github, repo, it, at, pull, pushed, followed, jobs, queuedIds, worked, ask, ours, spec, moveBase },
    env: env(it.path),
    async [Symbol.asyncDispose]() {
      await github[Symbol.asyncDispose]();
      await it[Symbol.asyncDispose]();
    },
  };
}
