/** The scenario harnesses, script and command, on failures of known classes. */
import { chmod, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ScenarioReport } from '../../src/scenarios/result.ts';
import { fileOf, labelled, textOf } from '../scenarios/labelled.ts';
import { cleanEnv, type Home, home, root } from '../support/cli.ts';

const scripts = join(root, 'scripts/scenarios');
const bash = (
  script: string,
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
) =>
  execa('bash', [join(scripts, script), ...args], {
    cwd: options.cwd,
    env: cleanEnv({ HOME: options.cwd, ...options.env }),
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  });
const last = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

let it: Home;
let report: ScenarioReport;
let ended: { readonly code: number | null; readonly stderr: string };

beforeAll(async () => {
  it = await home({
    'app/hang.sh': '#!/bin/bash\nwhile :; do sleep 1; done\n',
    'app/here.txt': '',
    'app/says.txt': 'connection timeout, rate limit, quota, status 401, API_KEY not set for live\n',
  });
  await chmod(join(it.path, 'app/hang.sh'), 0o755);
  await mkdir(join(it.path, 'all'));
  for (const [at, row] of labelled.entries()) {
    await writeFile(join(it.path, 'all', fileOf(at)), textOf(row));
    await mkdir(join(it.path, 'all', `${fileOf(at)}.d`));
  }
  const ran = await it.factory([
    'scenario',
    'run',
    'all',
    '--app',
    'app',
    '--json',
    '--timeout',
    '5s',
    '--jobs',
    '8',
  ]);
  report = JSON.parse(ran.stdout);
  ended = ran;
  return () => it[Symbol.asyncDispose]();
}, 120_000);

describe('a scenario that', () => {
  test.concurrent.for(labelled.map((row, at) => [row.what, row, at] as const))(
    '%s gets its class from both harnesses',
    { timeout: 60_000 },
    async ([, row, at], { expect }) => {
      const result = report.results.find((one) => one.scenario === fileOf(at));
      expect(result).toMatchObject({ outcome: row.outcome, failure_class: row.class });
      const ran = await bash('preflight_scenario.sh', [join('all', fileOf(at)), 'app'], {
        cwd: it.path,
        env: { SCENARIO_TIMEOUT: '5s', SCENARIO_GRACE: '1' },
      });
      expect(ran.exitCode, ran.stderr).toBe(row.code);
      if (row.class === null) expect(ran.stdout).toContain('[preflight] live passed');
      else expect(last(ran.stderr)).toBe(`failure_class=${row.class}`);
    },
  );

  test('leaves a process running, or does not end, is ended completely', async () => {
    const { stdout } = await execa('ps', ['-A', '-o', 'args=']);
    const left = stdout
      .split('\n')
      .filter((line) => /^sleep 60[01]$/.test(line) || line.includes(`${it.path}/app`));
    expect(left).toEqual([]);
  });
});

test('of many results a product failure decides the exit code and the last line, and the JSON lists all', () => {
  expect(ended.code).toBe(1);
  expect(last(ended.stderr)).toBe('failure_class=product');
  expect(report).toMatchObject({ schema_version: 1, status: 'fail', exit_code: 1, failure_class: 'product' });
  const of = (what: string) => report.results[labelled.findIndex((row) => row.what === what)];
  expect(of('fails with another code')?.evidence).toEqual({
    isolation: 'none',
    isolation_note: 'product and scenario shared one user: FACTORY_SANDBOX=none',
    network: 'machine',
    network_note: 'it had the network of this machine: there is no sandbox',
    phase: 'live',
    exit_code: 7,
    signal: null,
    timeout: null,
    marker: null,
    why: 'exit code 7 in live',
    rerun: { outcome: 'fail', exit_code: 7 },
  });
  expect(of('is killed')?.evidence).toMatchObject({ signal: 'SIGKILL', exit_code: null });
  expect(of('does not end its selftest')).toMatchObject({ mode: 'selftest', evidence: { timeout: 5000 } });
  expect(of('says infra itself')?.evidence).toMatchObject({ marker: 'infra', rerun: null });
});

test.for([
  ['no arguments', [], {}, 2, /usage/],
  ['one argument', ['all/n01_scenario.sh'], {}, 2, /usage/],
  ['a script that is not there', ['all/nowhere.sh', 'app'], {}, 1, /there is no scenario script/],
  [
    'an invalid time limit',
    ['all/n01_scenario.sh', 'app'],
    { SCENARIO_TIMEOUT: 'soon' },
    2,
    /SCENARIO_TIMEOUT=soon/,
  ],
  [
    'no product and a failing live',
    ['all/n02_scenario.sh', 'nowhere'],
    {},
    1,
    /there is no product in nowhere\nfailure_class=product$/,
  ],
] as const)('preflight_scenario.sh: %s ends with its own exit code', async ([, args, env, code, words]) => {
  const ran = await bash('preflight_scenario.sh', args, { cwd: it.path, env });
  expect(ran.exitCode).toBe(code);
  expect(ran.stderr).toMatch(words);
});

test('preflight_scenario.sh: live is skipped with REQUIRE_LIVE=0, with a message', async () => {
  const ran = await bash('preflight_scenario.sh', ['all/n02_scenario.sh', 'app'], {
    cwd: it.path,
    env: { REQUIRE_LIVE: '0' },
  });
  expect(ran.exitCode).toBe(0);
  expect(ran.stdout).toMatch(/selftest passed\n\[preflight\] live skipped/);
});

test.for([
  [
    'a narrow terminal does not shorten command lines',
    `node -e 'setInterval(Object,9)' ${'x'.repeat(99)} "$1"/here.txt`,
    { COLUMNS: '60' },
  ],
  [
    'without /proc, lsof reports the folder of a program',
    'cd "$1" && exec node -e \'setInterval(Object,9)\'',
    {},
  ],
] as const)("a product that hangs is the product's failure: %s", async ([, line, narrow]) => {
  const tools = join(it.path, 'tools');
  await mkdir(tools, { recursive: true });
  // As on macOS: no link to the folder of a process.
  const app = await realpath(join(it.path, 'app'));
  await writeFile(join(tools, 'readlink'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  await writeFile(join(tools, 'lsof'), `#!/bin/sh\nprintf 'p%s\\nfcwd\\nn%s\\n' "$5" '${app}'\n`, {
    mode: 0o755,
  });
  const script = join(it.path, 'hangs_scenario.sh');
  await writeFile(script, `[ "$SCENARIO_MODE" = selftest ] || { ${line}; }\n`);
  const PATH = 'COLUMNS' in narrow ? `${process.env['PATH']}` : `${tools}:${process.env['PATH']}`;
  const env = { ...narrow, PATH, SCENARIO_TIMEOUT: '1s', SCENARIO_GRACE: '1' };
  const ran = await bash('preflight_scenario.sh', [script, app], { cwd: '/', env });
  expect([ran.exitCode, last(ran.stderr)]).toEqual([124, 'failure_class=product']);
});

test('preflight_scenario.sh: Ctrl-C ends the script and all its processes, and leaves no folder', async () => {
  const places = join(it.path, 'places');
  await mkdir(places);
  const script = join(it.path, 'long_scenario.sh');
  await writeFile(script, 'echo here >"$1/begun"; sleep 602\n');
  const child = execa('bash', [join(scripts, 'preflight_scenario.sh'), script, 'app'], {
    cwd: it.path,
    env: cleanEnv({ TMPDIR: places }),
    extendEnv: false,
    reject: false,
  });
  await expect.poll(() => it.list('app'), { timeout: 20_000 }).toContain('begun');
  child.kill('SIGINT');
  expect((await child).exitCode).toBe(130);
  expect(await readdir(places)).toEqual([]);
  const { stdout } = await execa('ps', ['-A', '-o', 'args=']);
  expect(stdout).not.toContain('sleep 602');
}, 30_000);

describe('lint_scenarios.sh', () => {
  test('a folder without scripts and a missing one are findings', async () => {
    await mkdir(join(it.path, 'empty'));
    const runs = await Promise.all(
      ['empty', 'nowhere'].map((place) => bash('lint_scenarios.sh', [place], { cwd: it.path })),
    );
    expect(runs.map((ran) => ran.exitCode)).toEqual([1, 1]);
    expect(runs[0]?.stdout).toContain('no scenario scripts');
  });

  test('the harness and the scenarios of the example have no findings', async () => {
    for (const place of [scripts, join(root, 'examples/linkcheck/scenarios')]) {
      const ran = await bash('lint_scenarios.sh', [place], { cwd: it.path });
      expect(ran.exitCode, ran.stdout).toBe(0);
      expect(ran.stdout).toMatch(/without findings: \d/);
    }
  });

  const rows: readonly (readonly [string, string, string, number | undefined])[] = [
    ['handles no modes', 'a_user_scenarios.sh', '# SCENARIO_MODE\nexit 0\n', 1],
    [
      'has a default for a live model',
      'a_user_scenarios.sh',
      'm=$SCENARIO_MODE\nX="${ANTHROPIC_LIVE_MODEL:-claude-x}"\n',
      2,
    ],
    ["has a default for OpenAI's", 'a_user_scenarios.sh', 'm=$SCENARIO_MODE\nOPENAI_LIVE_MODEL="gpt-x"\n', 2],
    [
      'leaves the model open',
      'a_user_scenarios.sh',
      'm=$SCENARIO_MODE\nX="${OPENAI_LIVE_MODEL:-}"\n',
      undefined,
    ],
    ['writes to a fixed place', 'a_scenario.sh', 'm=1\n\necho >/tmp/out\n', 3],
    ['writes to a fixed place in quotes', 'a_scenario.sh', 'X="/tmp/out"\n', 1],
    [
      'writes where TMPDIR says',
      'a_scenario.sh',
      'mktemp -d "${TMPDIR:-/tmp}/x.XXXX"; echo >"$1/tmp/x"\n',
      undefined,
    ],
    ['does not parse', 'a_scenario.sh', 'exit 0\n)\n', 2],
  ];
  test.for(rows)('a script that %s', async ([, name, text, line]) => {
    await using place = await home({ [`s/${name}`]: text });
    const ran = await bash('lint_scenarios.sh', ['s'], { cwd: place.path });
    expect(ran.exitCode, ran.stdout).toBe(line === undefined ? 0 : 1);
    if (line !== undefined) expect(ran.stdout).toMatch(new RegExp(`^s/${name}:${line}: \\S`));
  });
});

test('lint_scenarios.sh warns of a product that is started without APP_RUN, and of nothing else', async () => {
  const lines = [
    'app=$1; mode=$SCENARIO_MODE',
    'node bin/x.js',
    '"$app/bin/x" a',
    '. "$app/lib.sh"',
    'npm test',
    '"$APP_RUN" node bin/x.js',
    '# node bin/x.js',
    '[ -f "$app/bin/x" ] && cat bin/x',
  ];
  await using place = await home({ 's/a_user_scenarios.sh': `${lines.join('\n')}\n` });
  const ran = await bash('lint_scenarios.sh', ['s'], { cwd: place.path });
  expect(ran.exitCode).toBe(0);
  expect(ran.stdout.match(/:\d+: warning: .*APP_RUN/g)?.map((line) => line.split(':')[1])).toEqual([
    '2',
    '3',
    '4',
    '5',
  ]);
});

test('preflight_scenario.sh gives the script a launcher that starts the product in its own folder', async () => {
  const text = `[ "$SCENARIO_MODE" = live ] || exit 0
cd / && [ "$(echo in | "$APP_RUN" bin/x a 'b c')" = '2 in' ] || exit 1
cd "$SCENARIO_TMP" && [ "$("$APP_RUN" pwd </dev/null)" = "$(pwd -P)" ] || exit 2
"$APP_RUN" sh -c 'exit 7' </dev/null; [ "$?" = 7 ] || exit 3
`;
  await using place = await home({
    's/a_scenario.sh': text,
    'app/bin/x': '#!/bin/sh\necho "$# $(cat)$SCENARIO_MODE"\n',
  });
  await chmod(join(place.path, 'app/bin/x'), 0o755);
  const ran = await bash('preflight_scenario.sh', ['s/a_scenario.sh', 'app'], { cwd: place.path });
  expect(ran.exitCode, ran.stderr).toBe(0);
});

test('a finding about a model names the variable, in the script and in the command', async () => {
  const text = 'm=$SCENARIO_MODE\nX="${ANTHROPIC_LIVE_MODEL:-claude-x}"\n';
  await using place = await home({ 's/a_user_scenarios.sh': text });
  const words = /a_user_scenarios\.sh:2: ANTHROPIC_LIVE_MODEL has a default model/;
  expect((await bash('lint_scenarios.sh', ['s'], { cwd: place.path })).stdout).toMatch(words);
  const told = await place.factory(['scenario', 'lint', 's']);
  expect(told.stdout + told.stderr).toMatch(words);
});

test('codex-wrapper.sh starts codex without its memory server, with unchanged arguments', async () => {
  await using place = await home({ 'bin/codex': '#!/bin/sh\nprintf "%s\\n" "$@"\nexit 7\n' });
  await chmod(join(place.path, 'bin/codex'), 0o755);
  const env = { PATH: `${join(place.path, 'bin')}:${process.env['PATH']}` };
  const ran = await bash('../codex-wrapper.sh', ['exec', 'a b'], { cwd: place.path, env });
  expect(ran.stdout.split('\n')).toEqual(['-c', 'mcp_servers.memory_ops.enabled=false', 'exec', 'a b']);
  expect(ran.exitCode).toBe(7);
});

const keys = { openai: 'sk-open-"0123456789', anthropic: 'sk-ant-9876543210' };

/** A server for both providers; it reads the command lines of all processes during a request. */
async function server(status: Record<string, number> = {}) {
  const seen: { path: string; auth: string | undefined }[] = [];
  const lines: string[] = [];
  const http = createServer(async (request, answer) => {
    const auth = request.headers['authorization'] ?? request.headers['x-api-key'];
    seen.push({ path: `${request.method} ${request.url}`, auth: String(auth) });
    for (const pid of (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)))
      lines.push(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''));
    answer.writeHead(status[request.url ?? ''] ?? 200, { 'content-type': 'application/json' });
    answer.end(`{"error":"no: ${auth}"}`);
  });
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done));
  onTestFinished(() => void http.close());
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, seen, lines };
}
const env = (url: string) =>
  `# keys\nOPENAI_API_KEY='${keys.openai}'\nexport ANTHROPIC_API_KEY="${keys.anthropic}"\r\nOPENAI_BASE_URL=${url}/v1\nANTHROPIC_BASE_URL=${url}  # here\nX=$(touch ran)\n`;

test('preflight_provider_live.sh: both providers are called with the keys of .env, which are on no command line', async () => {
  const { url, seen, lines } = await server();
  await using place = await home({ '.env': env(url) });
  const ran = await bash('preflight_provider_live.sh', [], { cwd: place.path });
  expect(ran.exitCode, ran.stderr).toBe(0);
  expect(seen).toEqual([
    { path: 'GET /v1/models', auth: `Bearer ${keys.openai}` },
    { path: 'GET /v1/models?limit=1', auth: keys.anthropic },
  ]);
  if (process.platform === 'linux') expect(lines.some((line) => line.startsWith('curl\0'))).toBe(true);
  expect(lines.filter((line) => line.includes('0123456789') || line.includes(keys.anthropic))).toEqual([]);
  expect(await place.list('.')).toEqual(['.env']);
});

test('a named model is called for one word', async () => {
  const { url, seen } = await server();
  await using place = await home({ '.env': env(url) });
  const ran = await bash('preflight_provider_live.sh', [], {
    cwd: place.path,
    env: { OPENAI_LIVE_MODEL: 'some', ANTHROPIC_LIVE_MODEL: 'other' },
  });
  expect(ran.exitCode, ran.stderr).toBe(0);
  expect(seen.map((one) => one.path)).toEqual(['POST /v1/responses', 'POST /v1/messages']);
});

test('all problems are reported at once, without the keys, as infrastructure failures', async () => {
  const { url } = await server({ '/v1/models': 401, '/v1/models?limit=1': 500 });
  await using place = await home({ '.env': env(url) });
  const refused = await bash('preflight_provider_live.sh', [], { cwd: place.path });
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toMatch(
    /OpenAI answers with status 401: .*\*\*\*[\s\S]*Anthropic answers with status 500[\s\S]*\nfailure_class=infra$/,
  );
  expect(refused.stderr).not.toContain(keys.anthropic);
  expect(refused.stderr).not.toContain('0123456789');

  await using empty = await home();
  const none = await bash('preflight_provider_live.sh', [], { cwd: empty.path });
  expect(none.exitCode).toBe(1);
  expect(none.stderr).toMatch(/OPENAI_API_KEY is not set[\s\S]*ANTHROPIC_API_KEY is not set/);
});

test('a missing server is reported with its address', async () => {
  await using place = await home({ '.env': env('http://127.0.0.1:1') });
  const ran = await bash('preflight_provider_live.sh', [], { cwd: place.path });
  expect(ran.exitCode).toBe(1);
  expect(ran.stderr).toContain('OpenAI cannot be reached at http://127.0.0.1:1/v1/models');
});
