/** The example of an own node type, as a stranger copies it; with the built program, which loads modules itself. */
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { home, root } from '../support/cli.ts';

const example = join(root, 'examples/custom-node');

test('its own test passes', async () => {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--test', 'json-check.test.mjs'], { cwd: example });
  expect(stdout).toMatch(/# pass 2\n# fail 0/);
}, 60_000);

test.for([
  ['const a = ;', "json-check.mjs cannot be loaded: Unexpected token ';'", 1],
  ['const a = 1;\n\nthrow new Error("oh")', 'json-check.mjs cannot be loaded: oh', 3],
] as const)('a copy with a module that is %s is refused at its line', async ([text, message, line]) => {
  await using it = await home();
  await cp(example, it.path, { recursive: true });
  await writeFile(join(it.path, 'json-check.mjs'), text);
  const { code, stderr: err } = await it.factory(['validate', 'pipeline.dot']);
  expect(code).toBe(2);
  expect(err).toContain(message);
  expect(err).toMatch(new RegExp(`--> .*/json-check\\.mjs:${line}:`));
});

test('the program runs it, and explains its type', async () => {
  await using it = await home();
  await cp(example, it.path, { recursive: true });
  const ran = await it.factory(['run', 'pipeline.dot', '--run-id', 'r1']);
  expect(ran.code, ran.stderr).toBe(0);
  const config = await readFile(join(it.path, '.factory/runs/r1/workspace/config.json'), 'utf8');
  expect(JSON.parse(config)).toEqual({ name: 'demo', version: 1 });
  expect((await it.factory(['explain', 'json.check'])).stdout).toContain('json.check: own node type');
});
