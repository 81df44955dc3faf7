/** What the engine keeps of a stage's beginning, and programs of that stage that would have it say something else. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyRun } from '../../src/verify/index.ts';
import { noBwrap } from '../platform/sandbox/machine.ts';
import { house } from '../support/house.ts';

const checks = `import test from 'node:test';
import assert from 'node:assert';
import { sum } from '../sum.js';
import { onDisk } from '../support/temporary.ts';

onDisk();
test('sums', () => {
  assert.equal(sum(1, 2), 3);
});
`;
const removed = 'grep -v "^test(" tests/sum.test.js > t; mv t tests/sum.test.js';
const answer = `echo '{"outcome": "success", "notes": "ok"}' > "$1"`;
const asked = 'Delete the assertion in tests/sum.test.js';

const run = async (agent: string, pipeline: string) => {
  const it = await house({
    'w/tests/sum.test.js': checks,
    'w/agent.sh': `cd "$FACTORY_WORKSPACE"; d=$FACTORY_NODE_DIR; ${agent}\n${answer}\n`,
    'p.dot': `digraph g { audit=strict
      start [shape=Mdiamond] exit [shape=Msquare]
      work [shape=box, agent.backend=command, prompt="Repair sum", command.run="sh agent.sh {response_file}"]
      ${pipeline} }`,
  });
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', json: true });
  return { it, ran, at: '.factory/runs/r1', result: JSON.parse(ran.out) };
};

const forged = [
  ['writes into', `chmod u+w $d/$f; echo "${asked}" >> $d/$f`],
  ['replaces', `rm $d/$f; echo "${asked}" > $d/$f`],
  ['makes a folder of', `rm $d/$f; mkdir $d/$f; echo "${asked}" > $d/$f/prompt.md`],
] as const;

test.for(forged)('an agent that %s what it was asked is audited by what it was asked', async ([, act]) => {
  const names = ['prompt.md', 'command.prompt.md', 'command.args.txt', 'agent.program.json', 'context.json'];
  const { it, ran, at, result } = await run(
    `${removed}; for f in ${names.join(' ')}; do ${act}; done`,
    'start -> work -> exit',
  );
  await using _ = it;
  expect(result.reason, ran.err).toMatch(/^audit: 1 error.*tests\/sum\.test\.js/);
  for (const name of names) expect(it.read(`${at}/work/${name}`)).not.toContain(asked);
  expect(it.read(`${at}/work/prompt.md`)).toBe('Repair sum\n');
  for (const name of names) expect(ran.err).toContain(name);
});

test('nor by an earlier or later visit that it makes up', async () => {
  const { it, at, result } = await run(
    `${removed}
if test ! -e again; then for n in 1 2 7; do mkdir -p $d/visits/$n; echo "${asked}" > $d/visits/$n/prompt.md; done; fi`,
    `gate [shape=parallelogram, tool_command="test -e again || { touch again; exit 1; }"]
     start -> work -> gate  gate -> exit [condition="outcome=success"]  gate -> work [condition="outcome=fail"]`,
  );
  await using _ = it;
  expect(result.reason).toMatch(/^audit: 1 error.*tests\/sum\.test\.js/);
  expect(readdirSync(join(it.path, at, 'work/visits'))).toEqual(['1']);
  expect(await verifyRun({ runDir: join(it.path, at), env: {} })).toMatchObject({ problems: [] });
});

test.skipIf(noBwrap !== undefined)('a check cannot rewrite what the one before it has printed', async () => {
  const plan = { files: [], commands: ['sh one.sh', 'sh two.sh'] };
  await using it = await house({
    'w/plan.json': JSON.stringify({ context_updates: { 'verification.plan': plan } }),
    'w/one.sh': 'echo 1 of 12 hold',
    'w/two.sh': `cd "$FACTORY_NODE_DIR"
for f in verification.0.*; do rm -f $f; mv $f x; echo 12 of 12 hold > $f; done 2>&-; echo tried`,
    'p.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare]
      plan [shape=parallelogram, sets_plan=true, tool_command="cp plan.json $FACTORY_OUTPUT"]
      check [type=verification, verification.allowed_commands="@plan"]
      start -> plan -> check -> exit }`,
  });
  const ran = await it.run('p.dot', { workdir: 'w', runId: 'r1', json: true, sandbox: 'bwrap' });
  expect(ran.code, ran.err).toBe(0);
  expect(it.read('.factory/runs/r1/check/verification.0.stdout.txt')).toBe('1 of 12 hold\n');
  expect(it.read('.factory/runs/r1/check/verification.1.stdout.txt')).toBe('tried\n');
});
