/** Runs to verify, with tools, checks and a scripted agent, made in this process. */
import { join } from 'node:path';
import { verifyRun } from '../../src/verify/verify.ts';
import { root } from '../support/cli.ts';
import { house } from '../support/house.ts';

const long = 'good '.repeat(600);

/** One wrong answer, so that there are earlier executions; a large file, a long answer, a file variable. */
export const files = {
  'work/keep.txt': 'kept\n',
  'spec.md': 'Write something good.\n',
  'ask.md': 'Please write out.txt.\n',
  'script.json': JSON.stringify({
    format: 'factory-script/1',
    answers: { write: [{ text: 'bad' }, { text: long }] },
  }),
  'p.dot': `digraph p { vars="spec=@spec.md"; audit=report
    start [shape=Mdiamond]; done [shape=Msquare]
    write [prompt="@ask.md", response_file="out.txt"]
    check [shape=parallelogram, tool_command="grep -q good out.txt"]
    plan [shape=parallelogram, tool_command="printf '%01100000d' 0 > big.bin; echo said > $FACTORY_NODE_DIR/own.txt; echo '{\\"context_updates\\":{\\"verification.plan\\":{\\"files\\":[\\"out.txt\\"],\\"commands\\":[\\"grep -c good out.txt\\"]}}}' > $FACTORY_OUTPUT"]
    verify [type=verification, verification.allowed_commands="grep -c good"]
    start -> write -> check; check -> plan [condition="outcome=success"]; check -> write [condition="outcome=fail"]
    plan -> verify -> done }`,
  'fails.dot': `digraph f { start [shape=Mdiamond]; done [shape=Msquare]
    check [shape=parallelogram, tool_command="echo no >&2; exit 3"]
    start -> check; check -> done [condition="outcome=success"] }`,
} as const;

export type Ground = Awaited<ReturnType<typeof ground>>;

/** A folder with these files; runs have no sandbox and a separate key store. */
export async function ground(more: Readonly<Record<string, string>> = {}) {
  const it = await house({ ...files, ...more }, (path) => ({
    FACTORY_SANDBOX: 'none',
    FACTORY_KEYS: join(path, 'keys'),
  }));
  const dir = (id: string) => join(it.path, '.factory/runs', id);
  return {
    ...it,
    dir,
    start: (id: string, pipeline = 'p.dot', stop?: (line: string) => boolean) =>
      it.run(
        pipeline,
        {
          runId: id,
          workdir: 'work',
          ...(pipeline === 'p.dot' ? { agent: 'scripted', script: 'script.json' } : {}),
        },
        stop,
      ),
    /** Builds the commits of `plan.json` with the answers of `build.json`. */
    async build(id: string): Promise<void> {
      const ended = await it.run(join(root, 'pipelines/build.dot'), {
        runId: id,
        agent: 'scripted',
        script: 'build.json',
        var: ['plan=plan.json'],
      });
      if (ended.code !== 0) throw new Error(ended.err + ended.out);
    },
    verify: (id: string, more: { readonly chain?: string; readonly keys?: string } = {}) =>
      verifyRun({
        runDir: dir(id),
        env: { PATH: process.env['PATH'], FACTORY_KEYS: more.keys ?? join(it.path, 'keys') },
        chain: more.chain,
      }),
  };
}
