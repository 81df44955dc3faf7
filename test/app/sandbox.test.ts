/** What the stages of a pipeline are kept from. */
import { expect, test } from 'vitest';
import { sandboxOf } from '../../src/app/sandbox.ts';
import { graphOf } from '../support/graph.ts';

const judgeOf = async (attributes: string, workdir: string, holdoutFrom?: string) => {
  const graph = graphOf(`${attributes} start [type=start]`);
  const found = await sandboxOf(graph, { runsDir: '/r', workdir, holdoutFrom }, 'none', {
    env: { FACTORY_KEYS: '/keys' },
  });
  return 'problems' in found ? found : found.confinement.judge;
};

test('the holdout of a workdir that may contain factory itself is named too', async () => {
  expect(await judgeOf('holdout="examples/a/, b.sh"', '/w')).toEqual(['/keys', '/w/examples/a', '/w/b.sh']);
  expect(await judgeOf('', '/w', '/j')).toEqual(['/keys', '/j', '/w/scripts/scenarios']);
  expect(await judgeOf('', '')).toEqual(['/keys']);
});
