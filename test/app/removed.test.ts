/** A run whose folder is removed while it runs. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Superseded } from '../../src/platform/files/fence.ts';
import { house } from '../support/house.ts';

const pipeline = `digraph g { start [shape=Mdiamond]; exit [shape=Msquare]
  a [shape=parallelogram, tool_command="test -e again || { echo > again; false; }"]
  start -> a; a -> exit [condition="outcome=success"]; a -> a [condition="outcome=fail"] }`;

// At every word that it says while it goes: two visits of a node, and the exit.
test.for([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
  'removed after %i lines of output it reports that, and the folder is not created again',
  async (line) => {
    await using it = await house({ 'g.dot': pipeline, 'work/x': '' });
    const dir = join(it.path, '.factory/runs/r');
    let said = -1;
    const ended = it.run('g.dot', { runId: 'r', workdir: 'work', verbose: true }, () => {
      if (existsSync(dir) && ++said === line) rmSync(dir, { recursive: true });
      return false;
    });
    await expect(ended).rejects.toThrow(Superseded);
    expect(existsSync(dir)).toBe(false);
  },
);
