import { expect, test } from 'vitest';
import { realSpawn } from '../../../src/platform/process/spawn.ts';
import { nests } from '../../../src/platform/sandbox/capabilities.ts';
import { without } from '../../../src/platform/sandbox/nested.ts';
import { onDisk } from '../../support/temporary.ts';
import { ladder, machine, noBwrap, secret } from './machine.ts';

onDisk();

test.skipIf(noBwrap !== undefined)(
  "a stage with the run's own directory can keep it from what it starts",
  async ({ skip }) => {
    // Some systems let nobody but root.
    const able = process.getuid?.() === 0 || (await nests(ladder, process.env));
    skip(!able, 'no sandbox works in another one here');
    await using it = await machine();
    const { runDir } = it.places;
    const words = await without(runDir, '/', { spawn: realSpawn, env: { PATH: process.env['PATH'] ?? '' } });
    expect(words).not.toEqual([]);
    const started = `${words.map((word) => `'${word}'`).join(' ')} ls -A '${runDir}'`;
    const { said } = await it.stage(`cat ../checkpoint.json; ${started} && echo nothing`, {
      wanted: { access: 'run' },
    });
    expect(said).toBe(`${secret}\nnothing\n`);
  },
);

test('where there is no bubblewrap, a program is started unchanged', async () => {
  expect(await without('/tmp', '/', { spawn: realSpawn, env: { PATH: '/nowhere' } })).toEqual([]);
});
