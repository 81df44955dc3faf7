/** A node's folder between two visits, while another engine takes the run over. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openVisit } from '../../src/engine/node-dir.ts';
import { fence, Superseded } from '../../src/system/fence.ts';
import { temp } from '../system/temp.ts';

const pictureOf = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map(
      (name) => `${name} ${statSync(join(dir, name)).isFile() ? readFileSync(join(dir, name), 'utf8') : ''}`,
    );

// As for an engine that is stopped there: what it has asked leave for is done by then, or is not done.
test.each([1, 2, 3, 4, 5])(
  'nothing is under way in a node’s folder when the run is taken over after look %i at whose it is',
  async (look) => {
    await using it = await temp();
    const dir = it.at('check');
    mkdirSync(dir);
    const stage = { schema_version: 1, visit: 1, attempt: 1, marker: 'm', process: null };
    for (const [name, text] of Object.entries({ 'status.json': '{}', 'stage.json': JSON.stringify(stage) }))
      writeFileSync(join(dir, name), text);
    let looks = 0;
    let taken: readonly string[] | undefined;
    const open = fence(it.dir, () => {
      if (taken !== undefined) throw new Superseded('taken');
      looks += 1;
      if (looks === look)
        queueMicrotask(() => {
          taken = pictureOf(dir);
        });
    });
    await openVisit(dir, 2, 'm').catch((error: unknown) => {
      if (!(error instanceof Superseded)) throw error;
    });
    open();
    if (taken !== undefined) expect(pictureOf(dir)).toEqual(taken);
  },
);
