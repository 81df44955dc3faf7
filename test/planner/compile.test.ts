import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxAnswerCharacters, strip } from '../../src/core/answer-json.ts';
import { asciiJson, canonicalHash, type JsonObject } from '../../src/core/json.ts';
import {
  normalizePath,
  relativePathProblem,
  workOrderSchema,
  workPlanSchema,
} from '../../src/core/orders/work-order.ts';
import { checkPlan } from '../../src/planner/compile.ts';
import { compileHash, emit, fileText } from '../../src/planner/emit.ts';
import { toDiagnostic } from '../../src/planner/findings.ts';
import { ordinaryModules } from '../../src/planner/javascript.ts';
import { normalizeOrder } from '../../src/planner/order-view.ts';
import {
  fill,
  listFiles,
  planPromptText,
  revisionPrompt,
  sameFindings,
  withDoctrine,
} from '../../src/planner/prompt.ts';
import { packageRoot } from '../../src/platform/package.ts';
import { noPython } from '../support/python.ts';

const order = (id: string, files: readonly string[], more: JsonObject = {}): JsonObject => ({
  id,
  title: `Step ${id}`,
  intent: 'Do one thing.',
  preconditions: [],
  postconditions: files.map((path) => ({ kind: 'file_exists', path })),
  allowed_files: [...files],
  forbidden: [],
  acceptance_commands: ['true'],
  context_files: [...files],
  notes: null,
  ...more,
});
const planOf = (...orders: readonly JsonObject[]) => JSON.stringify({ work_orders: orders });
const none = { repoFiles: [] };
const codes = (text: string, repoFiles: readonly string[] = []) =>
  checkPlan(text, { repoFiles }).findings.map(({ code }) => code);

describe('an answer that cannot be read', () => {
  const good = planOf(order('WO-01', ['a']));
  test.for([
    ['empty', '', 'is empty'],
    ['a fence around nothing', '```json\n```', 'is empty'],
    ['on one line with its fence', `\`\`\`${good}\`\`\``, 'is empty'],
    ['prose', `Here it is: ${good}`, 'begins with prose'],
    ['half of it', good.slice(0, 60), 'stops in the middle'],
    ['cut inside a text', good.slice(0, good.indexOf('one thing')), 'stops in the middle'],
    ['followed by more', `${good}\nHope this helps!`, 'has text after'],
    ['with a byte order mark', `\ufeff${good}`, 'byte order mark'],
    ['with a trailing comma', '{"work_orders": [],}', 'not valid JSON'],
    ['with NaN', '{"work_orders": NaN}', 'not valid JSON'],
    ['nested without end', '['.repeat(200_000), 'nested deeper'],
    ['too large', `"${'é'.repeat(maxAnswerCharacters)}"`, 'larger than'],
    ['too large in characters beyond the BMP', `"${'😀'.repeat(maxAnswerCharacters)}"`, 'larger than'],
  ] as const)('is refused with the reason: %s', ([, text, why]) => {
    const { plan, findings, parseError } = checkPlan(text, none);
    expect(plan).toBeUndefined();
    expect(parseError).toBe(true);
    expect(findings).toEqual([
      { code: 'E000', wo_id: null, field: null, message: expect.stringContaining(why) },
    ]);
    expect(findings[0]?.message).toMatch(/^JSON parse error: /);
  });

  test('size is counted in characters, not in UTF-16 units', () => {
    const pad = '😀'.repeat(maxAnswerCharacters - 30);
    expect(checkPlan(`{"work_orders":[],"p":"${pad}"}`, none).parseError).toBe(false);
  });
});

test('an accepted plan is accepted again in its written form, with the same hash', () => {
  const text = planOf(order('WO-01', [' ./a ', 'b//c'], { extra: { note: ' x ' } }), order('WO-02', ['a']));
  const first = checkPlan(text, none).plan;
  const again = first && checkPlan(fileText(first), none).plan;
  expect(again).toEqual(first);
});

test('an emitted order fits the schema', () => {
  const plan = checkPlan(planOf(order('WO-01', ['src/../a'], { verify_exempt: 'yes' })), none).plan;
  expect(workOrderSchema().parse(plan?.work_orders[0])).toMatchObject({
    allowed_files: ['a'],
    verify_exempt: true,
    notes: null,
  });
});

test('conditions, notes and exemption are optional', () => {
  const { preconditions: _a, postconditions: _b, notes: _c, ...bare } = order('WO-01', []);
  const { plan, findings } = checkPlan(planOf(bare), none);
  expect(findings).toEqual([]);
  expect(workOrderSchema().parse(plan?.work_orders[0])).toMatchObject({
    preconditions: [],
    postconditions: [],
    notes: null,
    verify_exempt: false,
  });
});

test('an exemption may be a word such as yes or no; other values are refused', () => {
  const read = (flag: unknown) =>
    workOrderSchema().safeParse({ ...order('WO-01', ['a']), verify_exempt: flag }).data;
  for (const yes of [true, 1, '1', 'on', 't', 'TRUE', 'y', 'Yes'])
    expect(read(yes)?.verify_exempt, `${yes}`).toBe(true);
  for (const no of [false, 0, '0', 'off', 'F', 'false', 'n', 'no'])
    expect(read(no)?.verify_exempt, `${no}`).toBe(false);
  for (const odd of [null, 2, '', 'maybe', [], {}]) expect(read(odd), `${odd}`).toBeUndefined();
});

test.for([
  ['[]', 'a list'],
  ['null', 'null'],
  ['1', 'a number'],
  ['"a"', 'a string'],
  ['true', 'a boolean'],
] as const)('%s is JSON but not a plan, and is described as %s', ([text, kind]) => {
  const message = expect.stringContaining(`the answer is ${kind}, not an object`);
  expect(checkPlan(text, none)).toMatchObject({
    findings: [{ code: 'E000', wo_id: null, field: null, message }],
    parseError: false,
  });
  const nested = checkPlan(`{"work_orders": [${text}]}`, none).findings;
  expect(nested).toEqual([
    { code: 'E000', wo_id: 'index-0', field: null, message: `is ${kind}, not an object` },
  ]);
  if (kind !== 'a list')
    expect(checkPlan(`{"work_orders": ${text}}`, none).findings[0]?.message).toContain(
      `is ${kind}, not a list`,
    );
});

test('an overview may be any value and is preserved; the default is an empty list', () => {
  const overview = (more: JsonObject) =>
    checkPlan(JSON.stringify({ ...more, work_orders: [order('WO-01', ['a'])] }), none).plan?.system_overview;
  expect(overview({})).toEqual([]);
  expect(overview({ system_overview: null })).toBeNull();
  expect(overview({ system_overview: ' a ' })).toBe(' a ');
});

test('a diagnostic begins with the order and field of the finding, if known', () => {
  const drawn = (wo_id: string | null, field: string | null) =>
    toDiagnostic({ code: 'E005', wo_id, field, message: 'm' }).message;
  expect(drawn('WO-01', 'id')).toBe('WO-01: id: m');
  expect(drawn('WO-01', null)).toBe('WO-01: m');
  expect(drawn('', 'id')).toBe('id: m');
  expect(drawn(null, null)).toBe('m');
});

test('a condition of another kind is an error and does not contradict others', () => {
  const preconditions = ['file_exists', 'file_there'].map((kind) => ({ kind, path: 'b' }));
  expect(codes(planOf(order('WO-01', ['a'], { preconditions })), ['b'])).toEqual(['E005']);
});

test('a finding about an id names the actual id, if there is one', () => {
  const message = (id: unknown) =>
    checkPlan(JSON.stringify({ work_orders: [{ ...order('WO-01', ['a']), id }] }), none).findings[0]?.message;
  expect(message('WO-1')).toBe('work order 1 has the id "WO-1", not WO-01');
  for (const id of ['', ' ', undefined, 4]) expect(message(id)).toBe('work order 1 has no id, not WO-01');
});

test('findings name each path, sorted for contradictions, and each place', () => {
  const both = (path: string) => [
    { kind: 'file_exists', path },
    { kind: 'file_absent', path },
  ];
  const messages = (text: string) => checkPlan(text, none).findings.map(({ message }) => message);
  const said = messages(planOf(order('WO-01', ['z'], { preconditions: [...both('b'), ...both('a')] })));
  expect(said.slice(0, 3)).toEqual([
    'a is required both to exist and to be absent',
    'b is required both to exist and to be absent',
    'b must exist, but nothing before this step provides it',
  ]);
  expect(messages('{}')).toEqual(['work_orders is missing']);
  expect(messages('{"work_orders": null}')).toEqual(['work_orders is null, not a list']);
  expect(messages(planOf(order('WO-01', ['a'], { title: {}, context_files: ['a', '../x'] })))).toEqual([
    expect.stringMatching(/^title: .*; context_files\[1\]: path "\.\.\/x" leads out of the repository$/),
  ]);
  const last = Array.from({ length: 100 }, (_, at) => order(`WO-${at + 1}`, [`f${at}`]));
  expect(messages(JSON.stringify({ work_orders: last })).at(-1)).toBe(
    'work order 100 is one too many: a plan has at most 99',
  );
});

test.for(['|', '||', '&&', ';', '>', '>>', '<', '<<'])(
  '%s alone is a shell operator, once per command',
  (word) => {
    const withCommands = (...acceptance_commands: string[]) =>
      codes(planOf(order('WO-01', ['a'], { acceptance_commands })));
    expect(withCommands(`a ${word} b ${word} c`)).toEqual(['E003']);
    expect(withCommands(word ?? '', `a '${word}'`)).toEqual(['E003', 'E003']);
    expect(withCommands(`a x${word}`)).toEqual([]);
  },
);

test('common modules and their submodules may be imported', ({ skip }) => {
  skip(noPython !== '', noPython);
  const modules = [...ordinaryModules];
  const imports = modules.flatMap((name) => [name, `${name}.x`, `${name}x`]);
  const { findings } = checkPlan(
    planOf(
      order('WO-01', ['a'], { acceptance_commands: imports.map((name) => `python -c "import ${name}"`) }),
    ),
    none,
  );
  expect(findings.map(({ code, message }) => [code, /^imports (\w+),/.exec(message)?.[1]])).toEqual(
    modules.map((name) => ['W101', `${name}x`]),
  );
});

test('the hundredth work order is one too many', () => {
  const orders = Array.from({ length: 100 }, (_, i) =>
    order(`WO-${String(i + 1).padStart(2, '0')}`, [`f${i}`]),
  );
  expect(codes(planOf(...orders.slice(0, 99)))).toEqual([]);
  expect(codes(planOf(...orders))).toEqual(['E001']);
});

test('values of the wrong type give one finding and no follow-up findings', () => {
  for (const [field, value] of [
    ['allowed_files', 'src/a'],
    ['context_files', null],
    ['forbidden', [1]],
    ['acceptance_commands', [['test', '-f', 'x']]],
    ['preconditions', 'a'],
    ['notes', 4],
  ] as const) {
    const more = field === 'allowed_files' ? { postconditions: [] } : {};
    expect(codes(planOf(order('WO-01', ['a'], { ...more, [field]: value })))).toEqual(['E005']);
  }
});

test('a requirement that is not an object, and requires that is not a list, are findings', () => {
  const plan = (requires: unknown) =>
    JSON.stringify({ work_orders: [order('WO-01', ['a'])], verify_contract: { requires } });
  expect(codes(plan(['a']))).toEqual(['E000']);
  expect(codes(plan(null))).toEqual(['E000']);
  expect(codes(plan([{ kind: 'file_exists', path: ['a'] }]))).toEqual(['E106']);
  expect(codes(plan([{ kind: 'file_exists' }]))).toEqual(['E106']);
  expect(codes(plan([{ kind: 'file_exists', path: 'a' }]))).toEqual([]);
});

describe('paths', () => {
  test.for([
    ['', '.'],
    ['a//b/./c/', 'a/b/c'],
    ['a/../../b', '../b'],
    ['/..', '/'],
    ['//a', '//a'],
    ['///a', '/a'],
    ['..', '..'],
  ] as const)('%j normalises to %j', ([path, normal]) => expect(normalizePath(path)).toBe(normal));

  test.for([
    '',
    '/a',
    'C:/a',
    'a\\b',
    'a\u0000',
    'a\nb',
    '..',
    '../a',
    'a/../..',
    '..x',
    '...',
    '.',
    './',
    'a*',
    'a?',
    '[a',
  ])('%j is not allowed in an order', (path) => expect(relativePathProblem(path)).toBeDefined());
  test.for(['a', 'a/../b', '.hidden', 'a ]{}~$', '-a', 'é', 'a\u007f', 'dir/', 'a..b'])(
    '%j is allowed in an order',
    (path) => expect(relativePathProblem(path)).toBeUndefined(),
  );
  test('normalising twice changes nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', '.', '..', '/', 'b')), (parts) => {
        const once = normalizePath(parts.join(''));
        expect(normalizePath(once)).toBe(once);
      }),
    );
  });
});

test('blanks are trimmed at both ends of every text, byte order marks are not, keys are unchanged', () => {
  expect(strip('\u001c\u0085\u2028\u3000 a \u00a0\u001f')).toBe('a');
  expect(strip('\ufeffa')).toBe('\ufeffa');
  expect(normalizeOrder({ ' k ': { b: [' x ', 1, null] } })).toEqual({ ' k ': { b: ['x', 1, null] } });
  const odd = JSON.parse('{"__proto__": " x ", "id": " y "}');
  expect(JSON.stringify(normalizeOrder(odd))).toBe('{"__proto__":"x","id":"y"}');
});

describe('emitted orders', () => {
  const from = { plannerRunId: 'run', compileHash: 'cafe' };
  const emitted = (text: string, repoFiles: readonly string[]) => {
    const { plan } = checkPlan(text, { repoFiles });
    if (plan === undefined) throw new Error('the plan of this test is not valid');
    return emit(plan, repoFiles, from);
  };

  test('orders keep the key order of the answer, with exemption and provenance after it', () => {
    const { orders, manifest, manifestSha256 } = emitted(planOf(order('WO-01', ['a'], { zzz: 1 })), []);
    expect(Object.keys(orders[0] ?? {}).slice(-3)).toEqual(['zzz', 'verify_exempt', 'provenance']);
    expect(orders[0]?.['provenance']).toEqual({
      planner_run_id: 'run',
      compile_hash: 'cafe',
      manifest_sha256: manifestSha256,
      bootstrap: false,
    });
    expect(Object.keys(manifest)).toEqual(['system_overview', 'verify_contract', 'work_orders']);
  });

  test('the manifest hash is that of the manifest without provenance', () => {
    const { orders, manifestSha256 } = emitted(planOf(order('WO-01', ['a'])), []);
    const unsigned = orders.map(({ provenance: _, ...rest }) => rest);
    expect(manifestSha256).toBe(
      canonicalHash({ system_overview: [], verify_contract: null, work_orders: unsigned }),
    );
  });

  test('an order that creates more than the verify script is never removed', () => {
    const text = planOf(order('WO-01', ['scripts/verify.sh', 'b']), order('WO-02', ['c']));
    const { orders, skipped } = emitted(text, ['scripts/verify.sh']);
    expect(skipped).toEqual([]);
    expect(orders.map(({ id }) => id)).toEqual(['WO-01', 'WO-02']);
  });

  test('an order without postconditions is not a bootstrap order', () => {
    const text = planOf(order('WO-01', ['scripts/verify.sh']), order('WO-02', []), order('WO-03', ['c']));
    const { orders, skipped } = emitted(text, ['scripts/verify.sh']);
    expect(skipped).toEqual(['WO-01']);
    expect(orders.map(({ id, allowed_files }) => [id, allowed_files])).toEqual([
      ['WO-01', []],
      ['WO-02', ['c']],
    ]);
  });

  test('no order is removed or reported as removed if none would remain', () => {
    const { orders, skipped } = emitted(planOf(order('WO-01', ['scripts/verify.sh'])), ['scripts/verify.sh']);
    expect(skipped).toEqual([]);
    expect(orders).toHaveLength(1);
  });
});

test('hashes are computed over the documented bytes', () => {
  expect(asciiJson({ a: 'é\u007f\u2028😀' })).toBe('{"a":"\\u00e9\\u007f\\u2028\\ud83d\\ude00"}');
  expect(canonicalHash({ b: null, a: [1, 'é'] })).toBe(
    'e6ad993c7a569e941cdd65aa57c817cb74d20d9877b15dfc8cc0ac151c74785d',
  );
  // printf 'spec\ntemplate\nm\nlow' | sha256sum | cut -c1-16
  const from = { spec: Buffer.from('spec'), template: Buffer.from('template'), model: 'm', effort: 'low' };
  expect(compileHash(from)).toBe('6558b7108f90c429');
});

describe('prompts', () => {
  test('text from the spec is never expanded', () => {
    const prompt = planPromptText('{{PRODUCT_SPEC}}|{{REPO_FILES}}|{{DOCTRINE}}|{{OTHER}}', {
      spec: "{{REPO_FILES}} $& $' {{DOCTRINE}}",
      files: ['a'],
      doctrine: '',
    });
    expect(prompt).toBe("{{REPO_FILES}} $& $' {{DOCTRINE}}|- a||{{OTHER}}");
    expect(fill('{{constructor}}{{TO_STRING}}', {})).toBe('{{constructor}}{{TO_STRING}}');
  });

  test('file names with line breaks are quoted, and a long list is shortened', () => {
    expect(listFiles(['a\nb'])).toBe('- "a\\nb"');
    expect(listFiles([])).toContain('empty');
    expect(listFiles(Array.from({ length: 2001 }, (_, i) => `f${i}`))).toMatch(/- f1999\n- and 1 further$/);
  });

  const findings = checkPlan(
    planOf(order('WO-01', ['a'], { acceptance_commands: ['x | y', `node -e "require('./zed')"`] })),
    none,
  ).findings;

  const basis = { spec: 'SPEC', files: ['there.txt'], doctrine: 'RULES\n' };
  const promptFile = (name: string) => readFileSync(join(packageRoot(), 'prompts', name), 'utf8');

  test('the first prompt and the one for a revision contain the same rules, and no codes', () => {
    const doctrine = promptFile('doctrine.md');
    const first = planPromptText(promptFile('plan.md'), { ...basis, doctrine });
    const later = revisionPrompt(promptFile('revise.md'), {
      ...{
        basis: { ...basis, doctrine },
        originalPrompt: 'TEMPLATE',
        previousAnswer: 'ANSWER',
        findings: [],
      },
      earlier: [findings],
    });
    for (const prompt of [first, later]) {
      for (const part of [doctrine.trimEnd(), 'SPEC', '- there.txt']) expect(prompt).toContain(part);
      expect(prompt).not.toMatch(/\{\{[A-Z_]+\}\}|\b[EW]\d{3}\b/);
    }
    expect(later).toContain('ANSWER');
    expect(later).not.toContain('TEMPLATE');
  });

  test('a compile hash includes the rules if the template contains them', () => {
    const template = (text: string) => ({ text, bytes: Buffer.from(`\ufeff${text}`) });
    expect(withDoctrine(template('a {{WORK_ORDER_RULES}}'), 'R\n').toString()).toBe('a R');
    expect(withDoctrine(template('a'), 'R').toString()).toBe('\ufeffa');
  });

  test('a revision prompt has the rules, the spec, the files, all findings with codes, and the answer', () => {
    const prompt = revisionPrompt(
      '{{WORK_ORDER_RULES}}{{PRODUCT_SPEC}}{{REPO_FILES}}{{ORIGINAL_PROMPT}}\n{{FINDINGS}}\n{{PREVIOUS_ANSWER}}\n{{SAME_AGAIN}}',
      {
        basis,
        originalPrompt: ' whole {{FINDINGS}}',
        previousAnswer: '{"a": "{{ORIGINAL_PROMPT}}"}',
        findings,
        earlier: [],
      },
    );
    expect(prompt).toContain('RULESSPEC- there.txt whole {{FINDINGS}}\n- [E003] WO-01: ');
    expect(prompt).toMatch(/- \[W203\] WO-01: warning: /);
    expect(prompt).toContain('{"a": "{{ORIGINAL_PROMPT}}"}');
    expect(prompt).not.toContain('same findings');
  });

  test('repeated findings are reported as repeated, in any order', () => {
    const prompt = (earlier: (typeof findings)[]) =>
      revisionPrompt('{{SAME_AGAIN}}', { basis, originalPrompt: '', previousAnswer: '', findings, earlier });
    expect(prompt([[...findings].reverse()])).toContain('same findings as for the answer before');
    expect(prompt([findings, findings.slice(1)])).toContain('same findings as for your answer 2 answers ago');
    expect(prompt([findings, findings])).toContain('same findings as for the answer before');
    expect(prompt([findings.slice(1)])).toBe('');
    expect(sameFindings([], [])).toBe(false);
  });

  test('a finding is a diagnostic with a fix', () => {
    expect(findings.map(toDiagnostic).map(({ code, severity }) => [code, severity])).toEqual([
      ['E003', 'error'],
      ['W203', 'warning'],
    ]);
    for (const finding of findings) expect(toDiagnostic(finding).fix).toMatch(/\w/);
  });
});

test('the schema for the model is closed and requires every key', () => {
  const open: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('type' in value && value.type === 'object' && 'properties' in value && 'required' in value) {
      const all = JSON.stringify(Object.keys(value.properties ?? {}));
      if (
        !('additionalProperties' in value) ||
        value.additionalProperties !== false ||
        JSON.stringify(value.required) !== all
      )
        open.push(path);
    }
    for (const [key, item] of Object.entries(value)) walk(item, `${path}/${key}`);
  };
  walk(workPlanSchema, '');
  expect(open).toEqual([]);
  expect(JSON.stringify(workPlanSchema)).toContain('acceptance_commands');
  const kinds = [...JSON.stringify(workPlanSchema).matchAll(/"enum":\[([^\]]*)\]/g)].map(([, kind]) => kind);
  expect(kinds).toEqual(['"file_exists"', '"file_exists","file_absent"', '"file_exists"']);
});
