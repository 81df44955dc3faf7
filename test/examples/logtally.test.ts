/** The second bundled example, whose plan has levels: its prepared answers fit its specification and plan, and each of them is
 *  accepted at its turn. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, expect, test } from 'vitest';
import { parseAgentScript } from '../../src/agents/script.ts';
import { parseProposal } from '../../src/builder/proposal.ts';
import { verifyFactsIn } from '../../src/core/orders/verify-deciders.ts';
import { orderLevels } from '../../src/core/orders/waits.ts';
import { workOrderSchema } from '../../src/core/orders/work-order.ts';
import { splitWords } from '../../src/core/policy/words.ts';
import { checkPlan } from '../../src/planner/compile.ts';
import { cleanEnv, type Home, home, root } from '../support/cli.ts';

const example = join(root, 'examples/logtally');
const read = (name: string): Promise<string> => readFile(join(example, name), 'utf8');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const scriptOf = async () => {
  const parsed = parseAgentScript('agent.json', await read('agent.json'));
  if ('diagnostics' in parsed) throw new Error(JSON.stringify(parsed.diagnostics, null, 2));
  return parsed.script;
};
const ordersOf = async () => {
  const { plan, findings } = checkPlan(await read('plan.json'), { repoFiles: [], strict: true });
  expect(findings).toEqual([]);
  return (plan?.work_orders ?? []).map((order) => workOrderSchema().parse(order));
};

let it: Home;
beforeAll(async () => {
  it = await home();
  return () => it[Symbol.asyncDispose]();
});
const run = ([program = '', ...args]: readonly string[], env: Record<string, string> = {}) =>
  execa(program, args, { cwd: it.path, env: cleanEnv(env), extendEnv: false, reject: false });

test('the agent script was made for the specification and the plan next to it, and names every answer once', async () => {
  const { inputs, answers } = await scriptOf();
  expect(inputs).toEqual({ spec: sha256(await read('spec.md')), plan: sha256(await read('plan.json')) });
  const named = Object.values(answers)
    .flat()
    .map(({ file }) => file);
  const files = (await readdir(join(example, 'answers'))).map((name) => `answers/${name}`);
  expect(named.toSorted()).toEqual(files.toSorted());
  expect(await read('answers/plan-1.json')).toBe(await read('plan.json'));
});

test('the plan has eight orders on three levels', async () => {
  expect(orderLevels(await ordersOf(), verifyFactsIn([], ''))).toEqual([
    ['WO-01'],
    ['WO-02', 'WO-03', 'WO-04', 'WO-05'],
    ['WO-06', 'WO-07', 'WO-08'],
  ]);
});

test('each answer is accepted at its turn, and the product passes its verification and its scenarios', async () => {
  const { answers } = await scriptOf();
  for (const [at, order] of (await ordersOf()).entries()) {
    const parsed = parseProposal(await read(answers['propose']?.[at]?.file ?? ''));
    if ('stage' in parsed) throw new Error(parsed.reason);
    const { writes } = parsed.proposal;
    expect(writes.map(({ path }) => path)).toEqual(order.allowed_files);
    for (const { path, content } of writes) {
      await mkdir(dirname(join(it.path, path)), { recursive: true });
      await writeFile(join(it.path, path), content);
    }
    for (const command of order.acceptance_commands) {
      const split = splitWords(command);
      const ran = await run('words' in split ? split.words : []);
      expect(ran.exitCode, `${order.id}: ${command}\n${ran.stderr}`).toBe(0);
    }
  }
  const verified = await run(['bash', 'scripts/verify.sh']);
  expect(verified.exitCode, verified.stdout).toBe(0);
  const { stdout } = await run(['node', 'bin/logtally.js', 'sample/access.log']);
  for (const text of [await read('spec.md'), await it.read('README.md')])
    expect(text).toContain(`\n${stdout}\n\`\`\`\n`);
  const judge = (mode: string, app: string) =>
    run(['bash', join(example, 'scenarios/logtally_user_scenarios.sh'), app], { SCENARIO_MODE: mode });
  expect((await judge('selftest', 'nowhere')).exitCode).toBe(0);
  expect(await judge('live', '.')).toMatchObject({ exitCode: 0 });
  await writeFile(join(it.path, 'src/size.js'), 'export const sizeText = (bytes) => `${bytes} B`;\n');
  expect(await judge('live', '.')).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('two logs, --top 3: the report'),
  });
});
