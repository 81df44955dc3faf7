/** A line of the judge, planted wherever an agent or a tool could leave it: the run ends there. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { base, done, inDot, judge, line, pipeline, script, wrote } from '../support/sealed-run.ts';

const at = '.factory/runs/r1';

/** Where a leak is planted, and what the run says of it. */
const leaks: readonly (readonly [string, Parameters<typeof pipeline>[0], object[], string])[] = [
  [
    'in a prompt',
    { prompt: inDot(`Mind this: ${line}`) },
    [done()],
    'the prompt of node "work" shows line 4',
  ],
  ['in an answer', {}, [done({ notes: `I saw: ${line}` })], 'what node "work" reports shows line 4'],
  [
    'in a context update',
    {},
    [done({ context_updates: { seen: ['zx81-blue-heron'] } })],
    'a context update of node "work" shows line 3',
  ],
  [
    'in a file',
    {},
    [wrote('src/notes.md', `so:\n\n    ${line}\n`)],
    'src/notes.md:3, written by node "work", shows line 4',
  ],
  [
    'in a file, in base64',
    {},
    [wrote('src/data.txt', Buffer.from(judge).toString('base64'))],
    'src/data.txt, written by node "work", shows line ',
  ],
  [
    'by a tool that sees it',
    { tool: 'tail -n 4 scripts/scenarios/judge.sh > src/copied.sh' },
    [done()],
    'src/copied.sh:3, written by node "tool", shows line 8',
  ],
];

test.for(leaks)(
  'a line of the judge %s ends the run, and nothing of it stays',
  async ([, more, answers, said]) => {
    await using it = await house({ ...base, 'p.dot': pipeline(more), 'agent.json': script(...answers) });
    const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', quiet: true, json: true });
    expect(ran.code, ran.err + ran.out).toBe(1);
    const result = JSON.parse(ran.out);
    expect(result).toMatchObject({ status: 'failed', exit_node: null, failure_class: 'guardrail' });
    expect(result.reason).toContain(`holdout_leak: ${said}`);
    expect(result.reason).not.toContain('judge');
    expect(ran.out + ran.err).not.toMatch(/kittiwake berthed|zx81/);
    expect(readdirSync(join(it.path, at, 'workspace/src'))).toEqual(['app.py']);
    const told = it.records(`${at}/events.jsonl`);
    expect(told.at(-1)).toMatchObject({ type: 'PipelineFailed', error: result.reason });
  },
);
