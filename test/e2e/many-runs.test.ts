/** `factory runs` with very many runs. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/cli.ts';

test('ten thousand runs are listed in no more than 200 MiB', async () => {
  await using it = await home({
    'p.dot': 'digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }',
    'peak.cjs':
      "process.on('exit', () => require('fs').writeFileSync('peak.txt', String(process.resourceUsage().maxRSS)))",
  });
  const ran = await it.factory(['run', 'p.dot', '--run-id', 'first']);
  expect(ran.code, ran.stderr).toBe(0);
  const runs = join(it.path, '.factory/runs');
  const files = await Promise.all(
    ['manifest.json', 'checkpoint.json'].map(async (name) => [
      name,
      await it.read(`.factory/runs/first/${name}`),
    ]),
  );
  for (let at = 1; at < 10_000; at++) {
    const dir = join(runs, `run-${at}`);
    mkdirSync(dir);
    for (const [name = '', text = ''] of files) writeFileSync(join(dir, name), text);
  }
  const env = { NODE_OPTIONS: `--require ${join(it.path, 'peak.cjs')}` };
  const listed = await it.factory(['runs'], { env });
  expect(listed.code, listed.stderr).toBe(0);
  expect(listed.stdout.match(/^\S+ +completed /gm)).toHaveLength(10_000);
  // Kilobytes on every system.
  expect(Number(await it.read('peak.txt'))).toBeLessThanOrEqual(200 * 1024);
});
