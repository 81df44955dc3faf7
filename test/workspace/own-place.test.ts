import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { namesPlace } from '../../src/workspace/own-place.ts';
import { house } from '../support/house.ts';

test.for([
  ['/home/ada/app', 'HOME=/home/ada/app', true],
  ['/home/ada/app', '-I/home/ada/app/include', true],
  ['/home/ada/app', '/home/ada/app-old and /home/ada/apple, then "/home/ada/app"', true],
  ['/home/ada/app', '/home/ada/app-old /home/ada/apple /home/ada/app.bak /home/ada/appé', false],
  ['/home/ada/app', '/home/ada', false],
  ['/home/ada/app', '\0 /home/ada/app/src/a.c', false],
  ['/home/ada/größe', 'cd /home/ada/größe\n', true],
  ['/app', 'cp /app/x src/app/y', true],
  ['/app', 'cp src/app/x https://example.org/app', false],
  ['/src/app', 'packages/src/app/x', false],
  ['/src/app', 'cc -I/src/app/include', true],
  ['/', '/ and /usr', false],
  ['/home/ada/app', '', false],
] as const)('%s in %j: %s', ([place, text, names]) => {
  expect(namesPlace(place)(Buffer.from(text))).toBe(names);
});

test('files that contain the path of the copied folder are reported; .factoryignore leaves them out', async () => {
  await using it = await house({
    'p.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare]
      t [shape=parallelogram, tool_command="pwd > here"] start -> t -> exit }`,
    'w/same.txt': 'nothing',
  });
  const workdir = join(it.path, 'w');
  mkdirSync(join(workdir, 'build'));
  for (const name of ['a', 'b', 'c', 'd']) writeFileSync(join(workdir, 'build', name), `at=${workdir}/src\n`);
  writeFileSync(join(workdir, 'other'), `${workdir}-too\n`);
  mkdirSync(join(workdir, '.factory'));
  writeFileSync(join(workdir, '.factory/notes'), `${workdir}\n`);
  const words = 'but contains the path';
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1' });
  expect(ran.err).toContain(
    `${words} ${workdir}: a node that uses it works there, not in the copy: build/a, build/b, build/c and 1 more`,
  );
  writeFileSync(join(workdir, '.factoryignore'), 'build/\n');
  const again = await it.run('p.dot', { workdir: 'w', runId: 'r3' });
  expect([again.code, again.err]).toEqual([0, expect.not.stringContaining(words)]);
});
