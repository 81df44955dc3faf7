import { expect, test } from 'vitest';
import { codexFailure } from '../../src/agents/codex-events.ts';
import { type CodexSettings, codexHome, readCodexSettings } from '../../src/agents/codex-settings.ts';
import { codexArgv, isTemporary, readScopeOf } from '../../src/agents/codex-words.ts';
import { saidBy, type Words } from './contract.ts';

const files = { schema: '/n/codex.output.schema.json', response: '/n/response.md' };

function settings(
  attributes: Words = {},
  env: Words = {},
  flags: { model?: string; effort?: string } = {},
): CodexSettings {
  const read = readCodexSettings({ ...saidBy(attributes), workspace: '/w' }, { env, ...flags });
  if ('problem' in read) throw new Error(read.problem);
  return read.settings;
}
const problem = (attributes: Words, env: Words = {}): string | undefined => {
  const read = readCodexSettings({ ...saidBy(attributes), workspace: '/w' }, { env });
  return 'problem' in read ? read.problem : undefined;
};
const argv = (attributes: Words = {}, env: Words = {}, modern = false): string =>
  codexArgv(settings(attributes, env), files, modern).join(' ');
const end = '--color never --output-schema /n/codex.output.schema.json -o /n/response.md -';

test('without a word the program works in the whole workspace, and may write there', () => {
  expect(argv()).toBe(`exec -s workspace-write -C /w ${end}`);
});

test('every setting has its place', () => {
  expect(
    codexArgv(
      settings({
        'codex.approval': 'never',
        'codex.sandbox': 'read-only',
        'codex.model': 'm',
        'codex.profile': 'p',
        'codex.config_overrides': 'a=1;; b=[1,2] ;;',
        'codex.disable_mcp': 'true',
        'codex.auto_approve_commands': 'go test, make "x"',
        'codex.auto_approve_config_key': 'key',
        'codex.workdir': 'app/',
        'codex.add_dirs': 'd1, /abs',
        'codex.skip_git_repo_check': 'true',
        'codex.dangerous_bypass': 'true',
        reasoning_effort: 'high',
      }),
      files,
      true,
    ),
  ).toEqual([
    ...['-a', 'never', 'exec', '-s', 'read-only', '-m', 'm', '-p', 'p', '-c', 'a=1', '-c', 'b=[1,2]'],
    ...['-c', 'model_reasoning_effort="high"', '-c', 'mcp_servers.memory_ops.enabled=false'],
    ...['-c', 'key=["go test","make \\"x\\""]', '-C', '/w/app', '--skip-git-repo-check'],
    ...['--add-dir', '/w/d1', '--add-dir', '/abs', '--dangerously-bypass-approvals-and-sandbox', '--json'],
    ...end.split(' '),
  ]);
});

const env = (name: string, value: string): Words => ({ [`ATTRACTOR_CODEX_${name}`]: value });
// The words before and after the workspace.
test.for<[Words, Words, string, string?]>([
  [{}, env('MODEL', 'e'), '-m e '],
  [{ 'codex.model': 'n' }, env('MODEL', 'e'), '-m n '],
  [{ 'codex.model': ' ' }, env('MODEL', 'e'), '-m e '],
  [{ llm_model: 'l' }, env('MODEL', 'e'), '-m l '],
  [{ 'codex.skip_git_repo_check': 'false' }, env('SKIP_GIT_REPO_CHECK', 'YES'), '', ' --skip-git-repo-check'],
  [
    { 'codex.disable_mcp': 'true', 'codex.config_overrides': 'mcp_servers.memory_ops.enabled = true' },
    {},
    '-c mcp_servers.memory_ops.enabled = true ',
  ],
  [{ 'codex.json': 'true' }, env('JSON', 'no'), '', ' --json'],
  [{}, env('DANGEROUS_BYPASS', 'no'), ''],
])(
  'the attributes %j and variables %j give the words "%s"',
  ([attributes, environment, before, after = '']) => {
    expect(argv(attributes, environment)).toBe(`exec -s workspace-write ${before}-C /w${after} ${end}`);
  },
);

test("today's program is asked for JSON lines unless the node says no", () => {
  expect(argv({}, {}, true)).toBe(`exec -s workspace-write -C /w --skip-git-repo-check --json ${end}`);
  expect(argv({ 'codex.json': 'false' }, {}, true)).not.toContain('--json');
});

const problems: readonly (readonly [Words, Words, RegExp])[] = [
  [{}, env('PATH', '../bin/codex'), /^ATTRACTOR_CODEX_PATH: ".*" contains "\.\."$/],
  [{}, env('WORKDIR', '~/x'), /^ATTRACTOR_CODEX_WORKDIR: /],
  [
    {},
    env('DANGEROUS_BYPASS', 'maybe'),
    /^ATTRACTOR_CODEX_DANGEROUS_BYPASS is "maybe", which is neither true nor/,
  ],
  [{}, env('ADD_DIRS', 'ok,../x'), /^ATTRACTOR_CODEX_ADD_DIRS: "\.\.\/x"/],
  [{}, env('BLOCK_READ_PATHS', '/etc'), /^ATTRACTOR_CODEX_BLOCK_READ_PATHS: "\/etc" is absolute$/],
  [{ 'codex.block_read_paths': './' }, {}, /is the whole workspace$/],
  [
    { 'codex.auto_approve_commands': 'make' },
    {},
    /^codex\.auto_approve_commands requires codex\.auto_approve_config_key$/,
  ],
  [
    {},
    env('TIMEOUT_SECONDS', 'soon'),
    /^ATTRACTOR_CODEX_TIMEOUT_SECONDS is "soon", which is not a duration: /,
  ],
  [{ 'codex.env_keys': 'A-B' }, {}, /"A-B" is no name of a variable$/],
];
test.for(problems)('%j with %j is refused with its place', ([attributes, environment, message]) => {
  expect(problem(attributes, environment)).toMatch(message);
});

const times: readonly (readonly [Words, Words, number | undefined])[] = [
  [{}, {}, undefined],
  [{ 'codex.timeout_seconds': '30' }, {}, 30_000],
  [{ 'codex.timeout_seconds': '2m' }, env('TIMEOUT_SECONDS', '9'), 120_000],
  [{ 'codex.timeout_seconds': '0' }, env('TIMEOUT_SECONDS', '9'), 9000],
];
test.for(times)('the time in %j with %j is %s ms', ([attributes, environment, ms]) => {
  expect(settings(attributes, environment).timeoutMs).toBe(ms);
});

const judge = 'scripts/scenarios/';
const strict = { 'codex.strict_read_scope': 'true', 'codex.path': 'bin/codex' };
const folders = { 'codex.workdir': 'app', 'codex.add_dirs': 'docs,/elsewhere,/w/lib' };

test.for<[Words, object, boolean]>([
  [{}, { hidden: [judge] }, false],
  [{ 'codex.block_read_paths': 'a, b/' }, { hidden: [judge, 'a', 'b/'] }, false],
  [{ 'codex.allow_read_scenarios': 'true', 'codex.block_read_paths': 'a' }, { hidden: ['a'] }, false],
  [{ ...strict, ...folders }, { hidden: [judge], only: ['app', 'docs', 'lib', 'bin/codex'] }, true],
  [strict, { hidden: [judge] }, false],
])('with %j the read scope is %j', ([attributes, scope, narrow]) => {
  expect(readScopeOf(settings(attributes), '/w')).toEqual({ scope, narrow });
});

test.for([
  [{ CODEX_HOME: '/c' }, '/c', false],
  [{ HOME: '/h' }, '/h/.codex', false],
  [{ HOME: '/t/h', TMPDIR: '/t/' }, '/t/h/.codex', true],
  [{ HOME: '/tt', TMPDIR: '/t' }, '/tt/.codex', false],
] as const)('with %j the home is %s, among temporary files: %s', ([environment, home, temporary]) => {
  expect(codexHome(environment)).toBe(home);
  expect(isTemporary(home, environment)).toBe(temporary);
});

const auth = { class: 'config', park: { kind: 'auth' } };
const billing = { class: 'config', park: { kind: 'billing' } };
const quota = (retryAfterMs: number) => ({ class: 'infra', retryAfterMs, park: { kind: 'quota' } });
const unsaid = { class: 'infra', park: { kind: 'quota', unsaid: true } };
const retried = 'exceeded retry limit, last status: 429 Too Many Requests';
const limit = "You've hit your usage limit.";
const rate = 'rate limit exceeded:';
const down = { class: 'infra', park: { kind: 'outage' } } as const;

// The sentences are those of the program; see test/system.
test.for([
  ['unexpected status 401 Unauthorized: no, url: http://x', auth],
  ['unexpected status 403 Forbidden: try again in 7s', auth],
  ['unexpected status 402 Payment Required: pay', billing],
  [`${retried}, try again in 3h`, quota(10_800_000)],
  [retried, unsaid],
  ['unexpected status 503 Unavailable: Please try again in 7s.', { ...down, retryAfterMs: 7000 }],
  ['unexpected status 500 Internal Server Error: boom', { class: 'infra' }],
  ['unexpected status 404 Not Found: model', { class: 'agent' }],
  ['{"error":{"message":"Nope 429"}}', { class: 'agent' }],
  ['Quota exceeded. Check your plan and billing details.', billing],
  ['Your workspace is out of credits. Add credits to continue.', billing],
  ['You hit your spend cap set in your workspace. Increase your spend cap to continue.', billing],
  ['To use Codex with your ChatGPT plan, upgrade to Plus.', billing],
  ['We’re currently experiencing high demand, which may cause temporary errors.', down],
  ['Selected model is at capacity. Please try a different model.', down],
  ['stream disconnected before completion: error sending request', down],
  [`${rate} Rate limit. Please try again in 120ms.`, quota(120)],
  [`${rate} Rate limit reached. Please try again in 7m12s. Visit https://x.test`, quota(432_000)],
  [`${rate} try again in a while, or at 25 o’clock`, unsaid],
  [`${rate} try again in ${'9'.repeat(400)}s`, unsaid],
  [`${limit} Try again in 2 hours.`, quota(7_200_000)],
  [`${limit} Try again in 2 days 3 hours 5 minutes.`, quota(183_900_000)],
  ['You’ve hit your usage limit. Visit https://x.test or try again at 7:30 AM.', quota(7_260_000)],
  [`${limit} Try again at Nov 26th, 2026 5:29 PM.`, quota(3 * 86_400_000 + 12 * 3_600_000)],
  [`${limit} Try again at 5:29 AM.`, quota(0)],
  [`${limit} Try again at 1:29 AM.`, quota(20 * 3_600_000)],
  [limit, { class: 'infra', park: { kind: 'quota' } }],
  ['Missing environment variable: `MOCK_KEY`.', { class: 'config', missing: true }],
  ['I saw unexpected status 401 in your logs', { class: 'agent' }],
] as const)('"%s" is %j', ([message, trouble]) => {
  expect(codexFailure(message, new Date(2026, 10, 23, 5, 30))).toEqual(trouble);
});
