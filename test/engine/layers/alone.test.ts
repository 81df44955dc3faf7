/** Which stages of branches may run at the same time where the run has a holdout. */
import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import { alone } from '../../../src/engine/layers/alone.ts';
import type { Run } from '../../../src/engine/run-context.ts';
import { sealedHoldout } from '../../../src/holdout/mount.ts';
import { temp } from '../../platform/temp.ts';
import { rig } from './rig.ts';

const kinds = {
  tool: 'shape=parallelogram, tool_command="x"',
  blind: 'shape=parallelogram, tool_command="x", sees_holdout=false',
  agent: 'prompt="x"',
};
type Word = keyof typeof kinds;

const confinement = (noBwrap: string | undefined): Partial<Run> => ({
  confinement: {
    able: { noBwrap, noNetwork: true, loopback: true, prlimit: true, root: false },
    ...{ flag: undefined, environment: undefined, workdir: '', own: [], nests: async () => true },
  },
});

/** What begins and ends when these stages begin in this order, each in its branch, and end when nothing more begins. */
async function order(words: readonly Word[], more: Partial<Run>, abort?: number): Promise<string> {
  await using it = await temp();
  const sealed = sealedHoldout(
    { holdout: { paths: ['scenarios'], from: 'workdir' } } as never,
    [],
    Buffer.alloc(32),
  );
  const said: string[] = [];
  const ends: (() => void)[] = [];
  const stops = words.map(() => new AbortController());
  const stages = await Promise.all(
    words.map(async (word, n) => {
      const run = { branch: `b${n}`, sealed, ...more };
      return rig(it.at(String(n)), kinds[word], { run, signal: stops[n]?.signal as AbortSignal });
    }),
  );
  const running: Promise<unknown>[] = [];
  const turn = () => new Promise(setImmediate);
  for (const [n, stage] of stages.entries()) {
    const begun = stage.through(alone, async ({ before }) => {
      said.push(`+${n}`);
      await new Promise<void>((end) => ends.push(end));
      said.push(`-${n}`);
      return { outcome: succeeded(), snapshot: before };
    });
    running.push(begun.then(({ outcome }) => outcome.status === 'fail' && said.push(`x${n}`)));
    await turn();
  }
  for (let left = words.length; left > 0; left--) {
    await turn();
    if (abort !== undefined) stops[abort]?.abort();
    await turn();
    ends.shift()?.();
  }
  await Promise.all(running);
  for (const stage of stages) await stage.close();
  return said.join(' ');
}

const without = confinement('not installed');
test.for<readonly [string, Word[], Partial<Run>, string]>([
  [
    'without a sandbox a stage with the holdout runs alone',
    ['tool', 'tool', 'agent'],
    without,
    '+0 -0 +1 -1 +2 -2',
  ],
  ['and waits for those that run', ['agent', 'blind', 'tool', 'agent'], without, '+0 +1 -0 -1 +2 -2 +3 -3'],
  ['others run side by side', ['agent', 'blind', 'agent'], without, '+0 +1 +2 -0 -1 -2'],
  ['in a sandbox all do', ['tool', 'agent', 'tool'], confinement(undefined), '+0 +1 +2 -0 -1 -2'],
  [
    'without a holdout too',
    ['tool', 'agent', 'tool'],
    { ...without, sealed: undefined },
    '+0 +1 +2 -0 -1 -2',
  ],
])('%s', async ([, words, more, expected]) => {
  expect(await order(words, more)).toBe(expected);
});

test('a stage that waits is cancelled with its branch, and those behind it go on', async () => {
  expect(await order(['tool', 'tool', 'agent'], without, 1)).toBe('+0 x1 -0 +2 -2');
});
