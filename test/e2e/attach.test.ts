/** A run that is watched from another terminal, with what its nodes print. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { home } from '../support/in-process.ts';

const pipeline = `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  quick [shape=parallelogram, tool_command="printf 'in a moment\\nwithout an end'"]
  wait [shape=parallelogram, tool_command="echo it waits; until [ -e $FLAG ] || [ ! -e \${FLAG%/*} ]; do sleep 0.02; done; echo it is over >&2"]
  exit [shape=Msquare]
  start -> quick -> wait -> exit
}`;
const patient = { timeout: 30_000, interval: 5 };

test('an attached terminal shows the run, leaves it alone at Ctrl-C, and ends with its summary', async () => {
  await using it = await home({ 'p.dot': pipeline });
  const flag = join(it.path, 'flag');
  const runDir = join(it.path, '.factory/runs/r');
  const run = it.factory(['run', 'p.dot', '--run-id', 'r', '-q'], { env: { FLAG: flag } });
  const live = join(runDir, '.live.jsonl');
  await vi.waitFor(
    () => expect(existsSync(live) && readFileSync(live, 'utf8')).toContain('it waits'),
    patient,
  );

  let seen = '';
  const left = await it.factory(['attach', 'r', '--no-color'], {
    terminal: true,
    watch: (line, terminal) => {
      seen += `${line}\n`;
      if (line.includes('✓ quick')) terminal.kill('SIGINT');
    },
  });
  expect(left).toMatchObject({ code: 130, stdout: '' });
  // Each line may follow the removal of what was drawn below.
  expect(seen.replaceAll(/^.*\r\x1b\[2K/gm, '')).toMatch(
    /^run \.factory\/runs\/r: p\.dot\nstarting with agent none\n.* ✓ start .*\n.* ✓ quick /,
  );
  expect(left.stderr).toMatch(/detached; attach again: factory attach r\n$/);

  const follows = it.factory(['logs', 'r', '-f', '--output', '--no-color'], {});
  const attached = it.factory(['attach', 'r', '--no-color'], { terminal: true });
  writeFileSync(flag, '');
  expect((await run).code).toBe(0);
  const ended = await attached;
  expect(ended.code).toBe(0);
  expect(ended.stderr).toContain(' ✓ wait ');
  expect(ended.stdout).toContain('✓ success in');

  const outputs = (text: string) => text.split('\n').filter((line) => line.includes(' │ '));
  const all = ['quick │ in a moment', 'quick │ without an end', 'wait │ it waits', 'wait │ it is over'];
  const followed = await follows;
  expect(outputs(followed.stdout)).toEqual(all);
  expect(followed.stdout).toMatch(/wait │ it is over\n.* node completed node=wait/);
  const after = await it.factory(['logs', 'r', '--output', '--no-color'], {});
  expect(outputs(after.stdout)).toEqual(all);
  expect(
    outputs((await it.factory(['logs', 'r', '--output', '--node', 'quick', '--no-color'])).stdout),
  ).toEqual(all.slice(0, 2));

  const again = await it.factory(['attach', 'r', '--no-color'], { terminal: true });
  expect(again).toMatchObject({ code: 0, stdout: ended.stdout });
  expect(again.stderr).toContain('✓ wait');
  const piped = await it.factory(['attach', 'r', '--no-color']);
  expect(piped.code).toBe(0);
  // What happened is what logs prints.
  expect(piped.stdout).toMatch(/^✓ success in/);
  expect(piped.stdout).not.toContain('node completed');
  expect(await it.factory(['logs', 'r', '--output', '--json'])).toMatchObject({ code: 2 });
});
