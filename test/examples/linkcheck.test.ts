/** The bundled example: its prepared answers fit its specification and plan, and its product prints what the pages show.
 *  A build with them is in `test/e2e/main-job.test.ts`. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type AgentScript, parseAgentScript } from '../../src/agents/script.ts';
import { parseProposal } from '../../src/builder/proposal.ts';
import { workOrderSchema } from '../../src/core/orders/work-order.ts';
import { plannedCommandProblem } from '../../src/core/policy/commands.ts';
import { checkPlan } from '../../src/planner/compile.ts';
import { withExemptions } from '../../src/planner/emit.ts';
import { type Home, home, root } from '../support/cli.ts';

const example = join(root, 'examples/linkcheck');
const read = (name: string): Promise<string> => readFile(join(example, name), 'utf8');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let script: AgentScript;
beforeAll(async () => {
  const parsed = parseAgentScript('agent.json', await read('agent.json'));
  if ('diagnostics' in parsed) throw new Error(JSON.stringify(parsed.diagnostics, null, 2));
  script = parsed.script;
});
const answer = (node: string): Promise<string> => read(script.answers[node]?.[0]?.file ?? '');

describe('the agent script', () => {
  test('was made for the specification and the plan next to it', async () => {
    const [spec, plan] = [sha256(await read('spec.md')), sha256(await read('plan.json'))];
    expect(script.inputs).toEqual({ spec, plan });
  });

  test('answers the model calls of a build, and of its questions in both pipelines, with every answer file', async () => {
    expect(Object.keys(script.answers)).toEqual(['clarify.ask', 'ask', 'plan', 'revise', 'propose']);
    const { 'clarify.ask': inBuild = [], ask, ...build } = script.answers;
    expect(ask).toEqual(inBuild);
    const named = [...inBuild, ...Object.values(build).flat()].map(({ file }) => file);
    const files = (await readdir(join(example, 'answers'))).map((name) => `answers/${name}`);
    expect(named.toSorted()).toEqual(files.toSorted());
  });
});

describe('the plans', () => {
  test('the first one has two mistakes', async () => {
    const { findings } = checkPlan(await answer('plan'), { repoFiles: [] });
    expect(findings.map(({ code, wo_id, field }) => [code, wo_id, field])).toEqual([
      ['E003', 'WO-04', 'acceptance_commands'],
      ['E101', 'WO-03', 'preconditions'],
    ]);
  });

  test('the revised one is the plan next to the specification; it has no finding, and no order is exempt', async () => {
    const revised = await answer('revise');
    expect(await read('plan.json')).toBe(revised);
    const { plan, findings } = checkPlan(revised, { repoFiles: [] });
    expect(findings).toEqual([]);
    expect(plan && withExemptions(plan, []).some((order) => order['verify_exempt'])).toBe(false);
    const commands =
      plan?.work_orders.flatMap((order) => workOrderSchema().parse(order).acceptance_commands) ?? [];
    expect(commands.filter((command) => plannedCommandProblem(command) !== undefined)).toEqual([]);
  });
});

describe('the product', () => {
  let it: Home;
  beforeAll(async () => {
    it = await home();
    // All answers in order: later ones overwrite mistakes of earlier ones.
    for (const { file = '' } of script.answers['propose'] ?? []) {
      const parsed = parseProposal(await read(file));
      if ('stage' in parsed) throw new Error(parsed.reason);
      for (const { path, content } of parsed.proposal.writes) {
        await mkdir(dirname(join(it.path, path)), { recursive: true });
        await writeFile(join(it.path, path), content);
      }
    }
    return () => it[Symbol.asyncDispose]();
  });
  const linkcheck = (...args: readonly string[]) =>
    new Promise<{ readonly code: number | null; readonly output: string }>((resolve) => {
      const child = execFile('node', ['bin/linkcheck.js', ...args], { cwd: it.path }, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, output: stdout + stderr }),
      );
    });

  test('prints what the specification and its README show', async () => {
    const { output } = await linkcheck('sample');
    for (const text of [await read('spec.md'), await it.read('README.md')])
      expect(text).toContain(`\n${output}\`\`\`\n`);
  });

  test('distinguishes usage errors from findings by exit code', async () => {
    const codes = ['README.md', 'sample', 'nowhere.md', '--unknown'].map(
      async (arg) => (await linkcheck(arg)).code,
    );
    expect(await Promise.all(codes)).toEqual([0, 1, 2, 2]);
  });
});
