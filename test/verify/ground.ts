/** Runs to verify, with tools, checks and a scripted agent, made in this process. */
import { chmodSync, existsSync, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyRun } from '../../src/verify/index.ts';
import { emptySha } from '../builder/support.ts';
import { root } from '../support/cli.ts';
import { house } from '../support/house.ts';

const long = 'good '.repeat(600);

const order = (id: string, path: string) => ({
  id,
  title: 'One file',
  intent: 'A file.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path }],
  allowed_files: [path],
  forbidden: [],
  acceptance_commands: [`grep -q 1 ${path}`],
  context_files: [path],
  notes: null,
});
const proposal = (path: string) => ({
  json: { summary: 's', writes: [{ path, base_sha256: emptySha, content: '1\n' }] },
});

/** One wrong answer, so that there are earlier executions; a large file, a long answer, a file variable; a plan of two orders. */
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
    plan [shape=parallelogram, sets_plan=true, tool_command="printf '%01100000d' 0 > big.bin; echo said > $FACTORY_NODE_DIR/own.txt; echo '{\\"context_updates\\":{\\"verification.plan\\":{\\"files\\":[\\"out.txt\\"],\\"commands\\":[\\"grep -c good out.txt\\"]}}}' > $FACTORY_OUTPUT"]
    verify [type=verification, verification.allowed_commands="grep -c good"]
    start -> write -> check; check -> plan [condition="outcome=success"]; check -> write [condition="outcome=fail"]
    plan -> verify -> done }`,
  'fails.dot': `digraph f { start [shape=Mdiamond]; done [shape=Msquare]
    check [shape=parallelogram, tool_command="echo no >&2; exit 3"]
    start -> check; check -> done [condition="outcome=success"] }`,
  'plan.json': JSON.stringify({
    system_overview: ['Two files.'],
    verify_contract: null,
    work_orders: [order('WO-01', 'f.txt'), order('WO-02', 'g.txt')],
  }),
  'build.json': JSON.stringify({
    format: 'factory-script/1',
    answers: { propose: [proposal('f.txt'), proposal('g.txt')] },
  }),
} as const;

export type Ground = Awaited<ReturnType<typeof ground>>;

/** A folder with these files; runs have no sandbox and a separate key store. */
export async function ground(
  more: Readonly<Record<string, string>> = {},
  env: Readonly<Record<string, string>> = {},
) {
  const it = await house({ ...files, ...more }, (path) => ({
    FACTORY_SANDBOX: 'none',
    FACTORY_KEYS: join(path, 'keys'),
    ...env,
  }));
  const dir = (id: string) => join(it.path, '.factory/runs', id);
  const verify = (id: string, chain?: string) =>
    verifyRun({ runDir: dir(id), env: { PATH: process.env['PATH'] }, chain });
  /** The problems of a run with one change, which is undone afterwards. */
  async function changed(id: string, name: string, change: (path: string) => void) {
    const path = join(dir(id), name);
    const top = join(dir(id), name.split('/')[0] ?? '');
    const [kept, elsewhere] = [join(it.path, 'kept'), join(it.path, 'elsewhere')];
    const is = lstatSync(path, { throwIfNoEntry: false });
    const hadTop = existsSync(top);
    if (is?.isFile() === true) {
      writeFileSync(kept, readFileSync(path));
      chmodSync(path, is.mode | 0o200);
    }
    change(path);
    try {
      const { problems, unchecked } = await verify(id);
      return { found: problems.map(({ code, where }) => `${code} ${where}`), problems, unchecked };
    } finally {
      if (existsSync(elsewhere)) {
        rmSync(path);
        renameSync(elsewhere, path);
      } else if (is === undefined) rmSync(hadTop ? path : top, { recursive: true, force: true });
      if (is?.isFile() === true) {
        rmSync(path, { force: true });
        writeFileSync(path, readFileSync(kept), { mode: is.mode });
        chmodSync(path, is.mode);
      }
    }
  }
  return {
    ...it,
    dir,
    verify,
    changed,
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
  };
}
