/** Runs of the built command line with a real agent program, in a home with nothing of its user's. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'vitest';
import { noBwrap } from '../platform/sandbox/machine.ts';
import { home } from './cli.ts';
import type { Desk, Step } from './real-programs.ts';

export const rungs = noBwrap === undefined ? (['bwrap', 'none'] as const) : (['none'] as const);
export type Rung = (typeof rungs)[number];

/** Node `a` works by these attributes; a tool looks at what it made. */
export const workPipeline = (attributes: string) => `digraph g {
  park_after="2s"
  start [shape=Mdiamond] exit [shape=Msquare]
  a [prompt="Do it", max_retries=0, ${attributes}]
  t [shape=parallelogram, tool_command="cat made.txt"]
  start -> a
  a -> t [condition="outcome=success"]
  t -> exit [condition="outcome=success"]
}`;

/** A step that leaves a process behind. */
export const detached = {
  run: '(setsid sh -c "sleep 3001" > /dev/null 2>&1 < /dev/null &); sleep 0.2; printf made > made.txt',
};

/** A project, its user's home around it, and the program of `path` on PATH. */
export async function realRun<D extends Omit<Desk, 'counted'>>(
  desk: D,
  path: string,
  sandbox: Rung,
  {
    pipeline = workPipeline,
    files = {},
    uid,
  }: {
    readonly pipeline?: (attributes: string) => string;
    readonly files?: Readonly<Record<string, string>>;
    readonly uid?: number | undefined;
  } = {},
) {
  const it = await home({
    'p.dot': pipeline(desk.attributes),
    'w/README.md': 'read me\n',
    'w/scripts/scenarios/judge.sh': 'the-judge\n',
    'outside.txt': 'the-outside\n',
    'tmp/x': '',
    ...desk.files,
    ...files,
  });
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${uid}`, it.path]);
  const as = uid === undefined ? {} : { uid };
  const env = {
    ...desk.env,
    PATH: [dirname(path), process.env['PATH'] ?? ''].join(delimiter),
    FACTORY_SANDBOX: sandbox,
    // Not everywhere may everybody write to the system's.
    TMPDIR: join(it.path, 'tmp'),
    NODE_EXTRA_CA_CERTS: '',
  };
  return {
    ...it,
    desk,
    env,
    run: (options: Parameters<typeof it.factory>[1] = {}) =>
      it.factory(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w'], {
        ...options,
        ...as,
        env: { ...env, ...options.env },
      }),
    status: () => it.json('.factory/runs/r1/a/status.json'),
    /** Command lines of the processes that have this home in their environment. */
    left: () => processesOf(it.path),
    async [Symbol.asyncDispose]() {
      await desk[Symbol.asyncDispose]();
      await it[Symbol.asyncDispose]();
    },
  };
}

/** The steps of `worksOnUsedHome`. */
export const makesTwice: readonly Step[] = [0, 1].flatMap(() => [
  { run: 'printf made > made.txt' },
  { answer: {} },
]);

/** A run in the sandbox succeeds where a run without it, before, has left what the program writes into its home. */
export async function worksOnUsedHome({ factory, env }: Awaited<ReturnType<typeof realRun>>): Promise<void> {
  for (const sandbox of ['none', 'bwrap']) {
    const ran = await factory(['run', 'p.dot', '--run-id', `used-${sandbox}`, '--workdir', 'w'], {
      env: { ...env, FACTORY_SANDBOX: sandbox },
    });
    expect(ran.code, ran.stderr).toBe(0);
  }
}

function processesOf(path: string): readonly string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
        return environment.includes(path) ? [readFileSync(`/proc/${pid}/cmdline`, 'latin1')] : [];
      } catch {
        return [];
      }
    });
}
