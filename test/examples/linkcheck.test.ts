/** The bundled example: its script fits its specification, and the product of the answers works. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyProposal } from '../../src/builder/apply.ts';
import { parseProposal } from '../../src/builder/proposal.ts';
import type { AgentScript } from '../../src/model/agent-script.ts';
import { parseAgentScript } from '../../src/model/agent-script.ts';
import { WorkOrder } from '../../src/model/work-order.ts';
import { checkPlan } from '../../src/planner/compile.ts';
import { withExemptions } from '../../src/planner/exempt.ts';
import { plannedCommandProblem } from '../../src/policy/verification-command.ts';
import { splitWords } from '../../src/policy/words.ts';

const example = fileURLToPath(new URL('../../examples/linkcheck/', import.meta.url));
const read = (name: string): Promise<string> => readFile(join(example, name), 'utf8');

/** The result of one proposal. */
type Attempt = {
  readonly order: string;
  readonly ended: 'done' | 'write_scope_violation' | 'verify_failed' | 'acceptance_failed' | string;
  /** The output of the failure, or why no file was written. */
  readonly said: string;
};

let script: AgentScript;
let orders: readonly WorkOrder[] = [];
let attempts: readonly Attempt[] = [];
let temporary = '';
let built = '';

beforeAll(async () => {
  const parsed = parseAgentScript('agent.json', await read('agent.json'));
  if ('diagnostics' in parsed) throw new Error(JSON.stringify(parsed.diagnostics, null, 2));
  script = parsed.script;
  orders = (await planIn('revise')).map((order) => WorkOrder.parse(order));
  temporary = await mkdtemp(join(tmpdir(), 'factory-linkcheck-'));
  built = join(temporary, 'built');
  await mkdir(built);
  attempts = await build();
}, 120_000);

afterAll(() => rm(temporary, { recursive: true, force: true }));

describe('the agent script', () => {
  test('was made for the specification and the plan next to it', async () => {
    expect(script.inputs).toEqual({
      spec: sha256(await read('spec.md')),
      plan: sha256(await read('plan.json')),
    });
  });

  test('uses every answer file once, and names no missing file', async () => {
    const named = Object.values(script.answers)
      .flat()
      .map((answer) => answer.file);
    const there = (await readdir(join(example, 'answers'))).map((name) => `answers/${name}`);
    expect(named.toSorted()).toEqual(there.toSorted());
  });

  test('answers for the model calls of a build, and for no others', () => {
    expect(Object.keys(script.answers)).toEqual(['plan', 'revise', 'propose']);
  });
});

describe('the plans', () => {
  test('the first one has two mistakes', async () => {
    const { findings } = checkPlan(await answer('plan', 0), { repoFiles: [] });
    expect(findings.map(({ code, wo_id, field }) => ({ code, wo_id, field }))).toEqual([
      { code: 'E003', wo_id: 'WO-04', field: 'acceptance_commands' },
      { code: 'E101', wo_id: 'WO-03', field: 'preconditions' },
    ]);
  });

  test('the revised one has none, not even a warning', async () => {
    expect(checkPlan(await answer('revise', 0), { repoFiles: [] })).toMatchObject({
      findings: [],
      parseError: false,
    });
  });

  test('the plan next to the specification is the revised one', async () => {
    expect(await read('plan.json')).toBe(await answer('revise', 0));
  });

  test('the revision changes only the findings', async () => {
    const before = (await answer('plan', 0)).split('\n');
    const after = (await answer('revise', 0)).split('\n');
    expect(before.filter((line) => !after.includes(line))).toHaveLength(2);
    expect(after.filter((line) => !before.includes(line))).toHaveLength(2);
  });

  test('every step is verified as a whole: none is exempt', async () => {
    const { plan } = checkPlan(await answer('revise', 0), { repoFiles: [] });
    expect(plan && withExemptions(plan, []).map((order) => order['verify_exempt'])).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  test('the acceptance commands may be run', () => {
    const refused = orders.flatMap((order) => order.acceptance_commands.map(plannedCommandProblem));
    expect(refused.filter((problem) => problem !== undefined)).toEqual([]);
  });
});

describe('the proposals', () => {
  test('one leaves its scope, one fails acceptance, the others are right', () => {
    expect(attempts.map(({ order, ended }) => `${order} ${ended}`)).toEqual([
      'WO-01 done',
      'WO-02 write_scope_violation',
      'WO-02 done',
      'WO-03 acceptance_failed',
      'WO-03 done',
      'WO-04 done',
    ]);
  });

  test('each of them is needed', () => {
    expect(attempts).toHaveLength(script.answers['propose']?.length ?? 0);
  });

  test('the one outside its scope is refused for package.json', () => {
    expect(attempts[1]?.said).toContain('package.json');
  });

  test('the one that fails acceptance takes addresses as they are written, and the output shows it', () => {
    expect(attempts[3]?.said).toMatch(/actual: \[\s+'getting%20started\.md',/);
  });
});

describe('the product', () => {
  test('passes its own tests', async () => {
    const { code, output } = await run(['node', '--test', '--test-reporter=tap'], built);
    expect(code, output).toBe(0);
    expect(output).toMatch(/^# pass 2\d$/m);
    expect(output).toMatch(/^# fail 0$/m);
  });

  test('contains only files that the work orders allow', async () => {
    const files = await readdir(built, { recursive: true, withFileTypes: true });
    const found = files.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const allowed = new Set(orders.flatMap((order) => order.allowed_files));
    expect(found.toSorted()).toEqual([...allowed].map((file) => join(built, file)).toSorted());
  });

  test.for(['spec.md', 'README.md'])('prints what %s shows', async (page) => {
    const text = page === 'spec.md' ? await read(page) : await readFile(join(built, page), 'utf8');
    const shown = await run(['node', 'bin/linkcheck.js', 'sample'], built);
    expect(shown.code).toBe(1);
    expect(text).toContain(`\n${shown.output}\`\`\`\n`);
  });

  test('distinguishes usage errors from findings by exit code', async () => {
    const codes = [['README.md'], ['sample'], ['nowhere.md'], ['--unknown']].map(
      async (args) => (await run(['node', 'bin/linkcheck.js', ...args], built)).code,
    );
    expect(await Promise.all(codes)).toEqual([0, 1, 2, 2]);
  });
});

/** Carries out the orders with the prepared answers, like a build: a failed attempt leaves no changes. */
async function build(): Promise<readonly Attempt[]> {
  const made: Attempt[] = [];
  for (const order of orders) {
    for (let ended = ''; ended !== 'done'; ) {
      const before = join(temporary, `before-${made.length}`);
      await cp(built, before, { recursive: true });
      const attempt = await attemptAt(order, await answer('propose', made.length));
      made.push(attempt);
      ended = attempt.ended;
      if (ended === 'done') continue;
      await rm(built, { recursive: true });
      await cp(before, built, { recursive: true });
    }
  }
  return made;
}

async function attemptAt(order: WorkOrder, text: string): Promise<Attempt> {
  const end = (ended: string, said = ''): Attempt => ({ order: order.id, ended, said });
  const parsed = parseProposal(text);
  if ('stage' in parsed) return end(parsed.stage, parsed.reason);
  const { failure } = await applyProposal(built, order, parsed.proposal);
  if (failure !== undefined) return end(failure.stage, failure.reason);

  const verified = await run(['bash', 'scripts/verify.sh'], built);
  if (verified.code !== 0) return end('verify_failed', verified.output);
  for (const { path } of order.postconditions) await access(join(built, path));
  for (const command of order.acceptance_commands) {
    const split = splitWords(command);
    if ('problem' in split) return end('acceptance_failed', split.problem);
    const accepted = await run(split.words, built);
    if (accepted.code !== 0) return end('acceptance_failed', accepted.output);
  }
  return end('done');
}

async function answer(node: string, index: number): Promise<string> {
  const file = script.answers[node]?.[index]?.file;
  if (file === undefined) throw new Error(`the script has no answer ${index + 1} for ${node}`);
  return read(file);
}

async function planIn(node: string) {
  const { plan, findings } = checkPlan(await answer(node, 0), { repoFiles: [] });
  if (plan === undefined) throw new Error(JSON.stringify(findings, null, 2));
  return plan.work_orders;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Runs a program without a shell; returns standard output followed by standard error. */
function run(
  words: readonly string[],
  cwd: string,
): Promise<{ readonly code: number; readonly output: string }> {
  const [program = '', ...args] = words;
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { cwd, env }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ code: child.exitCode ?? -1, output: stdout + stderr });
    });
  });
}
