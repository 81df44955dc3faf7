/** Kills of `factory intake`, `pr` and `follow` at their writes and requests, and what GitHub, the remote and the queue must be after the
 *  same command has done the rest. */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnv } from '../support/cli.ts';
import { comment, followedPull, git } from '../support/followed-pull.ts';
import type { FakeRequest } from '../support/github-server.ts';

/** `write`: the k-th operation of the process on disk or with a program; `request`, `answer`: the k-th request, before and after it is
 *  carried out. */
export type KillPoint = {
  readonly at: 'write' | 'request' | 'answer';
  readonly k: number;
  readonly action: 'kill' | 'after' | 'power';
};
export const spellKill = ({ at, k, action }: KillPoint): string => `${at} ${k} ${action}`;

type World = Awaited<ReturnType<typeof followedPull>>;

/** A command, from what it begins with to what must hold at its end. */
export type KilledStory = {
  readonly name: string;
  readonly words: readonly string[];
  /** Makes the state that it begins with. */
  readonly begin: (world: World) => Promise<void>;
  /** All that must be the same with and without a kill. */
  readonly facts: (world: World) => Promise<unknown>;
};

const look = ['follow', 'RUN1', '--look', '--repo=my-org/app', '--script=build.json', '--json'];
const record = '.factory/runs/github/follows/RUN1/follow.json';

const reflog = ({ at }: World, branch = 'factory/RUN1'): number =>
  git(at('origin.git'), 'reflog', 'show', `refs/heads/${branch}`).split('\n').filter(Boolean).length;

async function factsOf(world: World): Promise<unknown> {
  const { it, pull, pushed, queuedIds, ours, repo } = world;
  const { rounds } = it.json(record);
  const branch = pushed();
  return {
    queued: [...(await queuedIds())].sort(),
    pushes: reflog(world),
    tree: git(world.at('origin.git'), 'rev-parse', `${branch}^{tree}`),
    pulls: repo.pulls.length,
    marks: ours()
      .map(({ body }) => body.split('\n')[0]?.replace(/[0-9a-f]{40}/, 'COMMIT'))
      .sort(),
    texts: pull.comments?.length,
    rounds: rounds.map(({ run_id, requests, ended, answered, queued }: Record<string, unknown>) => ({
      ...{
        run_id,
        requests,
        answered,
        queued,
        isPushed: (ended as { commit: unknown } | null)?.commit != null,
      },
    })),
  };
}

/** Three comments, one of them in a thread. */
async function asked({ pull, ask, followed }: World): Promise<void> {
  await followed();
  pull.comments = [comment(1, 'ada', 'Write g.txt.'), comment(2, 'ada', 'Only that.')];
  pull.threads = [{ isResolved: false, path: 'f.txt', comments: [comment(3, 'ada', 'As here.')] }];
  ask('g.txt');
}

async function moved(world: World, name: string): Promise<void> {
  await world.followed();
  world.moveBase(name, 'x\n');
}

export const killedStories: readonly KilledStory[] = [
  {
    name: 'intake',
    words: ['intake', 'github', 'my-org/app', '--workdir=work', '--json'],
    begin: async ({ repo }) => void repo.issue({ number: 3 }),
    facts: async ({ it, repo, queuedIds }) => ({
      queued: await queuedIds(),
      comments: repo.issues.map(({ comments }) => comments.map(({ body }) => body)),
      spec: it.read('.factory/runs/github/specs/gh-my-org-app-3.md'),
      isRecorded: it.json('.factory/runs/github/issues/gh-my-org-app-3.json').comment !== null,
    }),
  },
  {
    name: 'pr',
    words: ['pr', 'RUN1', '--repo=my-org/app', '--json'],
    async begin({ repo, at }) {
      repo.pulls.length = 0;
      git(at('origin.git'), 'update-ref', '-d', 'refs/heads/factory/RUN1');
      git(at('work'), 'update-ref', '-d', 'refs/heads/factory/RUN1');
      git(at('work'), 'update-ref', '-d', 'refs/remotes/origin/factory/RUN1');
    },
    facts: async (world) => ({
      pulls: world.repo.pulls.map(({ head, title, body }) => ({ head, title, body })),
      pushes: reflog(world),
      head: world.pushed(),
    }),
  },
  { name: 'look that begins a round', words: look, begin: asked, facts: factsOf },
  {
    name: 'look that ends a round',
    words: look,
    async begin(world) {
      await asked(world);
      await world.followed();
      await world.worked('RUN1-round-1');
    },
    facts: factsOf,
  },
  {
    name: 'look that merges the base',
    words: look,
    begin: (world) => moved(world, 'other.txt'),
    facts: factsOf,
  },
  {
    name: 'look that pushes a merge',
    words: look,
    async begin(world) {
      await moved(world, 'other.txt');
      await world.followed();
      await world.worked('RUN1-round-1');
    },
    facts: factsOf,
  },
  {
    name: 'look that reports a merge',
    words: look,
    async begin(world) {
      await moved(world, 'bad.txt');
      await world.followed();
      await world.worked('RUN1-round-1');
    },
    facts: factsOf,
  },
];

/** A story whose state can be restored, and its command in a process that is killed at a point. */
export async function killedStory(cli: string, story: KilledStory) {
  const world = await followedPull({ withJudge: story.name.endsWith('merge') });
  const { github, repo, it, at } = world;
  git(at('origin.git'), 'config', 'core.logAllRefUpdates', 'always');
  await story.begin(world);
  const saved = mkdtempSync(join(tmpdir(), 'factory-saved-'));
  cpSync(it.path, saved, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  const functions = repo.pulls.map(({ sha }) => sha);
  const lists = structuredClone({
    pulls: repo.pulls.map(({ sha: _, ...pull }) => pull),
    issues: repo.issues,
  });
  function restore(): void {
    rmSync(it.path, { recursive: true, force: true });
    mkdirSync(it.path);
    cpSync(saved, it.path, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    const { pulls, issues } = structuredClone(lists);
    // The world keeps the pull request itself.
    repo.pulls.length = pulls.length;
    for (const [n, pull] of pulls.entries()) {
      const was = repo.pulls[n] ?? world.pull;
      for (const key of Object.keys(was)) if (key !== 'sha') delete (was as Record<string, unknown>)[key];
      repo.pulls[n] = Object.assign(was, pull, functions[n] === undefined ? {} : { sha: functions[n] });
    }
    repo.issues.splice(0, repo.issues.length, ...issues);
  }
  /** Calls the command once; how often it wrote and asked, and how it ended. */
  async function once(point?: KillPoint) {
    const folder = mkdtempSync(join(tmpdir(), 'factory-kills-'));
    let asked = 0;
    let kill = () => {};
    const at = (what: KillPoint['at']) => (_: FakeRequest) => {
      if (what === 'request') asked++;
      if (point?.at === what && point.k === asked) kill();
    };
    Object.assign(github, { onRequest: at('request'), onAnswer: at('answer') });
    const crash = point?.at === 'write' ? { CRASH_POINT: `engine:any:${point.k}:${point.action}` } : {};
    const env = cleanEnv({ HOME: it.path, ...world.env, ...crash, CRASH_FOLDER: folder, CRASH_SEED: '1' });
    const child = spawn(process.execPath, [cli, ...story.words], {
      ...{ cwd: it.path, env, stdio: ['ignore', 'ignore', 'pipe'] },
    });
    kill = () => void child.kill('SIGKILL');
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const ended = await new Promise<string>((done) =>
      child.on('exit', (code, signal) => done(signal ?? String(code))),
    );
    Object.assign(github, { onRequest: undefined, onAnswer: undefined });
    const writes = readFileSync(join(folder, 'engine.ops'), 'utf8').split('\n').filter(Boolean).length;
    rmSync(folder, { recursive: true, force: true });
    return { ended, said, writes, asked };
  }
  return {
    /** Every point of the undisturbed command, and what is to hold after it. */
    async undisturbed() {
      const { writes, asked: requests } = await once();
      const facts = await story.facts(world);
      const points: KillPoint[] = [];
      for (let k = 1; k <= writes; k++)
        for (const action of ['kill', 'after', 'power'] as const) points.push({ at: 'write', k, action });
      for (let k = 1; k <= requests; k++)
        for (const place of ['request', 'answer'] as const) points.push({ at: place, k, action: 'kill' });
      return { points, facts };
    },
    /** The facts after a kill there and the same command again. */
    async killedAt(point: KillPoint) {
      restore();
      const { ended, said } = await once(point);
      const again = await once();
      return { ended, said: `${said}${again.said}`, facts: await story.facts(world) };
    },
    async [Symbol.asyncDispose]() {
      rmSync(saved, { recursive: true, force: true });
      await world[Symbol.asyncDispose]();
    },
  };
}
