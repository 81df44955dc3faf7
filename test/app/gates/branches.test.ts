/** Questions, waits, limits and changes of a run whose branches are open. */
import { expect, test } from 'vitest';
import { resumeRun } from '../../../src/app/run/index.ts';
import { openQuestions, suspensions } from '../../../src/core/fork.ts';
import { pipelineIn, plainFlags } from '../../support/host.ts';
import { gateGraph, gateRun } from './gate-run.ts';

const hour = 3_600_000;

/** Two branches that ask, one that waits for two hours, one that works. */
const four = (attributes = '') =>
  gateGraph(`graph [${attributes}]; fan [shape=component, max_parallel=1]; meet [shape=tripleoctagon]
  first [shape=hexagon, label="First?"]; second [shape=hexagon, label="Second?"]
  pause [shape=insulator, duration="2h"]; work [shape=parallelogram, tool_command="echo worked > out.txt"]
  yes [shape=parallelogram, tool_command="echo yes > yes.txt"]; no [shape=parallelogram, tool_command="exit 1"]
  start -> fan; fan -> first; fan -> pause; fan -> second; fan -> work
  first -> yes [label="[Y] Yes"]; first -> no [label="[N] No"]; yes -> meet; no -> meet [condition="outcome=fail"]
  second -> meet [label="[Y] Yes"]; pause -> meet; work -> meet; meet -> done`);

test('a suspension stops only its branch, and the run is suspended when none can continue, with all reasons', async () => {
  await using it = await gateRun(four());
  const asked = await it.start();
  expect(asked.code).toBe(75);
  for (const reason of ['First?', 'Second?', 'a wait of 2h00m'])
    expect(asked.result.reason).toContain(reason);
  const { checkpoint } = it.history();
  expect(openQuestions(checkpoint).map(({ id }) => id)).toEqual(['first@1', 'second@1']);
  expect(suspensions(checkpoint).map(({ node }) => node)).toEqual(['first', 'pause', 'second']);
  expect(it.path()).toBe('start fan work');
  expect(await it.problems()).toEqual([]);

  await it.answer({ question: 'second@1', choice: 'y' });
  expect((await it.resume({ now: true })).code).toBe(75);
  expect(it.path()).toBe('start fan work second');
  await it.answer({ question: 'first@1', choice: 'y' });
  it.clock.pass(2 * hour);
  const ended = await it.resume();
  expect(ended).toMatchObject({ code: 0, result: { status: 'completed', answers: { people: 2 } } });
  expect(it.visits().at(-2)).toMatchObject({ node: 'meet', outcome: { status: 'success' }, joined: 'fan' });
  expect(await it.problems()).toEqual([]);
});

test('a failure that a person lets pass in a branch makes a success overridden', async () => {
  await using it = await gateRun(
    gateGraph(`fan [shape=component]; meet [shape=diamond]
      a [shape=parallelogram, tool_command="exit 1"]; ask [shape=hexagon, label="Ship?"]
      b [shape=diamond]; start -> fan -> a; a -> ask [condition="outcome=fail"]
      fan -> b -> meet; ask -> meet [label="[Y] Yes"]; meet -> done`),
  );
  await it.start();
  await it.answer({ choice: 'y' });
  expect((await it.resume()).result).toMatchObject({ status: 'overridden', exit_code: 5 });
});

test.for(['first', 'last'] as const)(
  'a limit of the run that is reached %s ends it, though a branch asks; with the limit raised it asks again',
  async (when) => {
    const [ask, spend] = ['fan -> ask', 'fan -> a'];
    const edges = when === 'first' ? `${spend}; ${ask}` : `${ask}; ${spend}`;
    await using it = await gateRun(
      gateGraph(`graph [max_steps=3]; fan [shape=component, max_parallel=1]; meet [shape=diamond]
        ask [shape=hexagon, label="Ship?"]; a [shape=parallelogram, tool_command="echo a"]; a2 [shape=parallelogram, tool_command="echo b"]
        start -> fan; ${edges}; a -> a2 -> meet; ask -> meet [label="[Y] Yes"]; meet -> done`),
    );
    const limited = await it.start();
    expect(limited).toMatchObject({ code: 1, result: { status: 'failed' } });
    expect(limited.result.reason).toContain('max_steps');
    const asked = await it.resume({ max_steps: 20 });
    expect(asked.code).toBe(75);
    await it.answer({ choice: 'y' });
    expect((await it.resume()).code).toBe(0);
    expect(it.path()).toBe('start fan a a2 ask meet done');
    expect(await it.problems()).toEqual([]);
  },
);

test('while branches are open a changed pipeline may not have others, and the fork that begins them anew is named', async () => {
  await using it = await gateRun(four());
  await it.start();
  const graph = await pipelineIn(
    it.dir,
    four().replace('fan -> work', 'more [shape=diamond]; fan -> more -> meet; fan -> work'),
  );
  const refused = await resumeRun(
    it.runDir,
    graph,
    { ...plainFlags, acceptChanges: true, now: true },
    it.host,
  );
  expect(refused).toMatchObject({
    problems: [
      {
        code: 'resume-branches',
        message: expect.stringContaining('it has another branch "more"'),
        fix: expect.stringMatching(/factory fork r1 .*--at fan --before --pipeline/),
      },
    ],
  });
});
