/** No secret of the environment is in a run directory or in the output. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Home, home } from '../support/in-process.ts';
import { textsOfRun } from '../support/run-texts.ts';
import { onDisk } from '../support/temporary.ts';

onDisk();

const pem = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhk\nG9w0BAQEFAASCBKcwg\n-----END PRIVATE KEY-----';

/** Variables, and what of each value must not be seen. */
const secrets: readonly (readonly [name: string, value: string, ...unseen: string[]])[] = [
  ['DATABASE_URL', 'postgres://app:unseen-db-01@db.example:5432/app', 'unseen-db-01'],
  ['MONGO_URI', 'mongodb://u:unseen%2Dmongo-02@a.example,b.example/app', 'mongo-02'],
  ['GITHUB_PAT', 'unseen-pat-03'],
  ['GH_PAT_2', 'unseen-pat-04'],
  ['APIKEY', 'unseen-apikey-05'],
  ['MYSQL_PWD', 'unseen-mysql-06'],
  ['AWS_ACCESS_KEY_ID', 'AKIAUNSEEN07UNSEEN07'],
  ['SLACK_WEBHOOK', 'https://hooks.example/services/T0/B0/unseenwebhook08'],
  ['SECRET_KEY_BASE', 'unseen-base-09'],
  ['TOKEN', 'unseen-token-10'],
  ['DOCKER_AUTH_CONFIG', '{"auths":{"r":{"auth":"unseenauth11"}}}', 'unseenauth11'],
  ['STRIPE_SK', 'sk_live_unseen12unseen12'],
  ['NPM_CONFIG__AUTH', 'unseen-npm-13'],
  ['npm_config_//r.example/:_authToken', 'unseen-npm-14'],
  ['PGPASSWORD', 'unseen-pg-15'],
  ['SENTRY_DSN', 'https://unseen16unseen16unseen16@sentry.example/1', 'unseen16unseen16unseen16'],
  ['HTTPS_PROXY', 'http://me:unseen-proxy-17@proxy.example:3128', 'unseen-proxy-17'],
  ['DEPLOY', pem, 'MIIEvQIBADANBgkqhk', 'G9w0BAQEFAASCBKcwg'],
  ['SESSION', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1bnNlZW4xOSJ9.c2lnbmF0dXJl'],
  ['client_secret', 'unseen-client-20'],
  ['MY_LOGIN', 'unseen-login-21'],
  ['MY_LICENSE', 'unseen-license-22'],
];
const open = {
  REDIS_URL: 'redis://seen.example:6379',
  KEYBOARD: 'seen-keyboard',
  SSH_AUTH_SOCK: '/tmp/seen/agent.1',
  MAX_TOKENS: '123454321',
};
const environment = {
  ...Object.fromEntries(secrets.map(([name, value]) => [name, value])),
  ...open,
  FACTORY_SECRETS: 'MY_LOGIN',
};
const unseen = secrets.flatMap(([, value, ...parts]) => (parts.length === 0 ? [value] : parts));

const printing = `digraph g { secrets="MY_LICENSE"
  start [shape=Mdiamond] exit [shape=Msquare]
  bare [shape=parallelogram, tool_command="env; env >&2; env > env.txt; env > $FACTORY_NODE_DIR/env.txt"]
  PASSED
  plan [shape=parallelogram, sets_plan=true, tool_command="echo '{\\"context_updates\\":{\\"verification.plan\\":{\\"files\\":[],\\"commands\\":[\\"env\\"]}}}' > $FACTORY_OUTPUT"]
  check [type=verification, "verification.allowed_commands"="@plan"]
  asks [agent=command, "command.run"="sh -c 'env; env > $FACTORY_NODE_DIR/env.txt'", "command.env_keys"="GITHUB_PAT", prompt="x"]
  start -> bare -> NEXT plan -> check -> asks -> exit }`;
const withPass = printing
  .replace(
    'PASSED',
    `passed [shape=parallelogram, env_pass="*", tool_command="env; env >&2; env > $FACTORY_NODE_DIR/env.txt; node -p 'JSON.stringify(process.env)'; printf %s \\"$TOKEN\\" | base64; exit 1"]`,
  )
  .replace('NEXT', 'passed; passed ->');
const run = (it: Home, env: Record<string, string>, args: readonly string[] = []) =>
  it.factory(['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w', ...args], { env });

describe.for(['none', 'auto'])('with sandbox=%s', (sandbox) => {
  test('programs that print their environment show no secret anywhere, also where all are passed', async () => {
    await using it = await home({ 'p.dot': withPass, 'w/seed.txt': '' });
    const ran = await run(it, { ...environment, FACTORY_SANDBOX: sandbox });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain('env_pass="*": all secrets of the environment are passed');
    const at = '.factory/runs/r1';
    const passed = await it.read(`${at}/passed/tool.stdout.txt`);
    expect(passed).toContain('DATABASE_URL=postgres://app:***@db.example:5432/app\n');
    expect(passed).toContain('GITHUB_PAT=***\n');
    if (sandbox === 'none') expect(passed).toContain('SSH_AUTH_SOCK=/tmp/seen/agent.1\n');
    expect(await it.read(`${at}/asks/env.txt`)).toContain('GITHUB_PAT=***\n');
    const bare = await it.read(`${at}/bare/tool.stdout.txt`);
    for (const [name] of secrets) expect(bare).not.toContain(`${name}=`);
    for (const [name, value] of Object.entries(open))
      if (name !== 'SSH_AUTH_SOCK') expect(bare).toContain(`${name}=${value}\n`);
    const shown = [
      ...textsOfRun(join(it.path, at)).map(({ bytes }) => bytes.toString('latin1')),
      ran.stdout,
      ran.stderr,
    ].join('\n');
    for (const text of unseen) expect(shown).not.toContain(text);
    expect(shown).toContain(it.path);
  });
});

test('a failure of a command that names a withheld variable has its name', async () => {
  const pipeline = (command: string) =>
    `digraph g { start [shape=Mdiamond] exit [shape=Msquare] bad [shape=Msquare, outcome=fail] t [shape=parallelogram, tool_command="${command}"] start -> t; t -> exit [condition="outcome=success"]; t -> bad [condition="outcome=fail"] }`;
  const hint = (names: string, are: string) =>
    ` (${names} ${are} and withheld: set env_pass="${names.replace(' ', '')}" on node "t", or --env-pass)`;
  for (const [command, reason] of [
    ['test -n \\"$DATABASE_URL\\"', `tool_exit_code_1${hint('DATABASE_URL', 'is a secret')}`],
    ['sh deploy.sh', `tool_exit_code_1${hint('GITHUB_PAT', 'is a secret')}`],
    ['test -n \\"$NOT_SET\\"', 'tool_exit_code_1'],
  ] as const) {
    await using it = await home({
      'p.dot': pipeline(command),
      'w/deploy.sh': 'echo "GITHUB_PAT is missing"\nexit 1\n',
    });
    expect((await run(it, environment)).code).toBe(1);
    expect(await it.json('.factory/runs/r1/t/status.json')).toMatchObject({ failure_reason: reason });
  }
});

describe('an answer with the value of a secret', () => {
  const asks = (attributes: string) =>
    `digraph g { start [shape=Mdiamond] exit [shape=Msquare] bad [shape=Msquare, outcome=fail] a [prompt="x", response_file="out.txt", ${attributes}] start -> a; a -> exit [condition="outcome=success"]; a -> bad [condition="outcome=fail"] }`;
  const node = '.factory/runs/r1/a';
  const told = 'so response_file "out.txt" was not written';

  test.for([
    ['of a script', 'label=x', `(APIKEY), ${told}`],
    ['printed by a command', 'agent=command, "command.run"="cat leak.txt"', told],
    [
      'in the answer file of a command',
      'agent=command, "command.run"="cp leak.txt {response_file}"',
      `(APIKEY), ${told}`,
    ],
  ] as const)('%s fails the attempt, and no file is written', async ([, attributes, reason]) => {
    const script = { format: 'factory-script/1', answers: { a: [{ text: 'use unseen-apikey-05 here' }] } };
    await using it = await home({
      'p.dot': asks(attributes),
      'w/leak.txt': '',
      'script.json': JSON.stringify(script),
    });
    writeFileSync(join(it.path, 'w/leak.txt'), 'use unseen-apikey-05 here\n');
    const args = attributes === 'label=x' ? ['--script', 'script.json'] : [];
    const ran = await run(it, environment, args);
    expect(ran.code).toBe(1);
    expect(await it.json(`${node}/status.json`)).toMatchObject({
      failure_class: 'agent',
      failure_reason: expect.stringContaining(reason),
    });
    expect(await it.list('.factory/runs/r1/workspace')).not.toContain('out.txt');
    expect(await it.read(`${node}/response.md`)).toContain('use *** here');
    if (args.length > 0) return;
    const again = await it.factory(['replay', 'r1', '--run-id', 'r2'], { env: environment });
    expect(again.code).toBe(1);
    expect(await it.json('.factory/runs/r2/a/status.json')).toMatchObject({
      failure_reason: expect.stringContaining(reason),
    });
    expect(await it.list('.factory/runs/r2/workspace')).not.toContain('out.txt');
  });

  test.for(['label=x', 'agent=command, "command.run"="cat plain.txt"'] as const)(
    'a plain answer with three stars is written (%s)',
    async (attributes) => {
      const text = 'first\n\n***\n\nsecond\n';
      const script = { format: 'factory-script/1', answers: { a: [{ text }] } };
      await using it = await home({
        'p.dot': asks(attributes),
        'w/plain.txt': text,
        'script.json': JSON.stringify(script),
      });
      const args = attributes === 'label=x' ? ['--script', 'script.json'] : [];
      expect((await run(it, environment, args)).code).toBe(0);
      expect(await it.read('.factory/runs/r1/workspace/out.txt')).toBe(text);
    },
  );
});

test('a verification plan with the value of a secret is a failure, not a plan of other commands', async () => {
  const plan = `digraph g { start [shape=Mdiamond] exit [shape=Msquare] bad [shape=Msquare, outcome=fail]
    plan [shape=parallelogram, sets_plan=true, tool_command="cp plan.json $FACTORY_OUTPUT"]
    check [type=verification, "verification.allowed_commands"="@plan"]
    start -> plan; plan -> check [condition="outcome=success"]; plan -> bad [condition="outcome=fail"]
    check -> exit [condition="outcome=success"]; check -> bad [condition="outcome=fail"] }`;
  for (const [command, code] of [
    ['test unseen-pat-03 != other', 1],
    ['test seen != other', 0],
  ] as const) {
    const updates = { context_updates: { 'verification.plan': { files: [], commands: [command] } } };
    await using it = await home({ 'p.dot': plan, 'w/plan.json': JSON.stringify(updates) });
    const ran = await run(it, environment);
    expect(ran.code, ran.stderr).toBe(code);
    expect(await it.list('.factory/runs/r1')).toEqual(
      code === 0 ? expect.arrayContaining(['check']) : expect.not.arrayContaining(['check']),
    );
  }
});

test('names of secrets stay in the run: a resume without FACTORY_SECRETS withholds and masks them', async () => {
  await using it = await home({
    'p.dot': `digraph g { start [shape=Mdiamond] exit [shape=Msquare]
      a [shape=parallelogram, tool_command="true"] b [shape=parallelogram, tool_command="env; cat leak.txt"] start -> a -> b -> exit }`,
    'w/leak.txt': 'login is unseen-login-21\n',
  });
  const stop = { ...environment, ATTRACTION_TEST_STOP_AFTER_NODE: 'a' };
  expect((await run(it, stop)).code).toBe(1);
  const ran = await it.factory(['resume', 'r1'], { env: { MY_LOGIN: 'unseen-login-21' } });
  expect(ran.code, ran.stderr).toBe(0);
  const printed = await it.read('.factory/runs/r1/b/tool.stdout.txt');
  expect(printed).toContain('login is ***\n');
  expect(printed).not.toContain('MY_LOGIN=');
});

test('names that cannot be variables are refused before anything is written', async () => {
  await using it = await home({ 'p.dot': withPass, 'w/seed.txt': '' });
  const bad = await run(it, { FACTORY_SECRETS: 'MY_LOGIN,$X' });
  expect(bad.code).toBe(2);
  expect(bad.stderr).toContain('FACTORY_SECRETS: "$X" is not the name of a variable');
  expect((await run(it, {}, ['--env-pass', 'AWS_*'])).code).toBe(2);
  expect(await it.list('.')).not.toContain('.factory');
});

test('doctor lists the secrets that nodes do not get, without values', async () => {
  await using it = await home({});
  const ran = await it.factory(['doctor'], { env: environment });
  expect(ran.stdout).toMatch(/secrets +.*GITHUB_PAT.*MY_LOGIN/);
  for (const text of unseen) expect(ran.stdout).not.toContain(text);
  const bad = await it.factory(['doctor'], { env: { FACTORY_SECRETS: 'A B' } });
  expect(bad.stdout).toContain('FACTORY_SECRETS: "A B" is not the name of a variable');
  expect(bad.code).toBe(1);
});
