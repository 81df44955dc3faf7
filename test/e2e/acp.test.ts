/** Whole runs of an agent that speaks the Agent Client Protocol, installed in the project it works on. */
import { chmodSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { noBwrap } from '../platform/sandbox/machine.ts';
import { home, root } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const graph = `digraph g {
  start [shape=Mdiamond] exit [shape=Msquare]
  a [prompt="Do it", max_retries=0, agent=acp, acp.command="stand-in"]
  start -> a
  a -> exit [condition="outcome=success"]
}`;

/** A project with the stand-in in its `node_modules`, of which it needs another package, and a link to it. */
async function project(sandbox: 'bwrap' | 'none') {
  const it = await home({
    'p.dot': graph,
    'w/README.md': 'read me\n',
    'w/node_modules/words/index.js': 'globalThis.words = "from a package";\n',
    'outside.txt': 'the-outside\n',
  });
  const packages = join(it.path, 'w/node_modules');
  for (const name of ['stand-in', '.bin']) mkdirSync(join(packages, name));
  await build({
    ...{ bundle: true, platform: 'node', format: 'esm', external: ['words'], logLevel: 'warning' },
    stdin: {
      contents: "#!/usr/bin/env node\nimport 'words';\nimport './acp-stand-in.mjs';",
      resolveDir: join(root, 'test/support'),
    },
    outfile: join(packages, 'stand-in/cli.mjs'),
  });
  chmodSync(join(packages, 'stand-in/cli.mjs'), 0o755);
  symlinkSync('../stand-in/cli.mjs', join(packages, '.bin/stand-in'));
  const PATH = [join(packages, '.bin'), process.env['PATH'] ?? ''].join(delimiter);
  const env = (STAND_IN: string) => ({ PATH, STAND_IN, FACTORY_SANDBOX: sandbox });
  return {
    ...it,
    run: (does: string, watch?: Parameters<typeof it.factory>[1]) =>
      it.factory(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w'], { ...watch, env: env(does) }),
    resume: (does: string) => it.factory(['resume', 'r1'], { env: env(does) }),
    result: () => it.json('.factory/runs/r1/result.json'),
    [Symbol.asyncDispose]: it[Symbol.asyncDispose],
  };
}

const asks = `{ async prompt() {
  const { existsSync, writeFileSync } = process.getBuiltinModule("fs");
  writeFileSync("looked.txt", String([globalThis.words, existsSync(process.env.HOME + "/outside.txt"), existsSync(process.env.HOME + "/w/README.md")]));
  await call("c", { kind: "execute", rawInput: { command: "make" } });
  if ((await ask({ toolCallId: "c" })) === "o-allow_once") { writeFileSync("made.txt", "made"); await settle("c"); await ok(); }
} }`;

describe.skipIf(noBwrap !== undefined)('in the sandbox', () => {
  test('a program of the project works with its packages, sees nothing else of the machine, and is allowed what it asks for', async () => {
    await using it = await project('bwrap');
    const ran = await it.run(asks);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await it.read('.factory/runs/r1/workspace/made.txt')).toBe('made');
    expect(await it.read('.factory/runs/r1/workspace/looked.txt')).toBe('from a package,false,false');
    const acted = (await it.records('.factory/runs/r1/events.jsonl')).filter(
      ({ type }) => type === 'AgentActed',
    );
    expect(acted).toMatchObject([{ action: 'command', detail: 'make', status: 'completed' }]);
    const verified = await it.factory(['verify', 'r1']);
    expect(verified.code, verified.stdout + verified.stderr).toBe(0);
  });

  test('a run that was killed in the turn is resumed with a turn of its own', async () => {
    await using it = await project('bwrap');
    const begun = join(it.path, '.factory/runs/r1/workspace/begun');
    const killed = await it.run(
      '{ async prompt() { process.getBuiltinModule("fs").writeFileSync("begun", ""); await new Promise(() => {}); } }',
      {
        watch(line, engine) {
          if (!line.includes('node started node=a')) return;
          const look = setInterval(() => {
            if (!existsSync(begun)) return;
            clearInterval(look);
            engine.kill('SIGKILL');
          }, 20);
        },
      },
    );
    expect(killed.signal).toBe('SIGKILL');
    const resumed = await it.resume(asks);
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(existsSync(begun)).toBe(false);
    expect(await it.read('.factory/runs/r1/workspace/made.txt')).toBe('made');
  });
});

test('without a sandbox it is refused what it asks for, and the run says so', async () => {
  await using it = await project('none');
  const ran = await it.run(asks);
  expect(ran.code).not.toBe(0);
  expect(existsSync(join(it.path, '.factory/runs/r1/workspace/made.txt'))).toBe(false);
  expect(ran.stderr).toContain('it was refused $ make, and said nothing after that');
  expect(JSON.stringify(await it.result())).toContain('$ make');
});
