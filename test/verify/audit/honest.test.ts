import { expect, test } from 'vitest';
import { canariesIn, leaksIn } from '../../../src/holdout/leak-scan.ts';
import { honestRuns } from './honest.ts';

const place = { node: 'work', visit: 1, where: 'workspace', path: null };

async function* bytes(texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

test.for(honestRuns)('%s: honest work has no findings', async ([, { spec, judge, had, changes, prompt }]) => {
  const its = await canariesIn(judge, bytes([spec, ...had]));
  // There are canaries to find; without them the test would be trivial.
  expect(its.size).toBeGreaterThanOrEqual(2);
  const answer = JSON.stringify({ files: changes, commands: [`bash check.sh`, spec] });
  for (const text of [prompt, answer, ...changes.map(({ after }) => after)])
    expect(leaksIn(its, Buffer.from(text), place)).toEqual([]);
});

test.for(honestRuns.filter((_, nth) => nth % 5 === 0))(
  '%s: one line of a holdout scenario in the work is found',
  async ([, { spec, judge, had, changes }]) => {
    const its = await canariesIn(judge, bytes([spec, ...had]));
    const line = judge[0]?.content
      .toString()
      .split('\n')
      .find((one) => one.includes('vermilion row'));
    const text = `${changes[0]?.after ?? ''}\n${line}\n`;
    expect(leaksIn(its, Buffer.from(text), place)).toMatchObject([
      { code: 'holdout-canary', severity: 'error' },
    ]);
  },
);
