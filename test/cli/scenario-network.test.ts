/** Each scenario has a network of its own, unless it declares that it needs the machine's. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sandboxCapabilities } from '../../src/platform/sandbox/capabilities.ts';
import { canEnter, countedIn, openLoopback } from '../../src/platform/sandbox/loopback.ts';
import type { ScenarioReport } from '../../src/scenarios/result.ts';
import { cleanEnv, type Home, home } from '../support/cli.ts';
import { onDisk } from '../support/temporary.ts';
import { call, type Flags } from '../support/verb.ts';

onDisk();

const modes = 'if [ "$SCENARIO_MODE" = selftest ]; then exit 0; fi\n';
const ladder = await sandboxCapabilities(process.env);
const tried = await openLoopback(ladder, process.env);
const works = !('missing' in tried) && (await canEnter(tried, ladder, process.env));
if (!('missing' in tried)) tried.close();

async function resultsOf(it: Home, flags: Flags = {}, env: Readonly<Record<string, string>> = {}) {
  const { out } = await call(
    ['scenario', 'run', 's'],
    { app: 'app', json: true, ...flags },
    { cwd: it.path, env: cleanEnv({ TMPDIR: it.path, FACTORY_SANDBOX: '', ...env }) },
  );
  return (JSON.parse(out) as ScenarioReport).results;
}

/** A server of this machine that answers every request with `machine`. */
async function machineServer() {
  const server = createServer((_, answer) => answer.end('machine'));
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

const answersOf = (port: number): string =>
  `node -e 'fetch("http://127.0.0.1:${port}").then((r) => r.text()).then(console.log).catch(() => process.exit(1))'`;

test.skipIf(!works)(
  'two scenarios and this machine have servers on the same port at the same time',
  { timeout: 60_000 },
  async () => {
    await using machine = await machineServer();
    const { port } = machine;
    const scenario = (name: string): string => `${modes}"$APP_RUN" sh start.sh ${name} </dev/null || exit 3
until [ -f "$SCENARIO_TMP/up" ]; do :; done
[ "$(${answersOf(port)})" = ${name} ]\n`;
    await using it = await home({
      's/a_scenario.sh': scenario('a'),
      's/b_scenario.sh': scenario('b'),
      'app/start.sh': 'node server.js "$1" & exit 0\n',
      'app/server.js': `require('node:http').createServer((_, answer) => answer.end(process.argv[2]))
  .listen(${port}, '127.0.0.1', () => require('node:fs').writeFileSync(process.env.SCENARIO_TMP + '/up', ''));`,
    });
    expect(await resultsOf(it, { jobs: 2 })).toMatchObject([
      { outcome: 'pass', evidence: { isolation: 'launcher', network: 'private' } },
      { outcome: 'pass', evidence: { isolation: 'launcher', network: 'private' } },
    ]);
  },
);

test.skipIf(!works)(
  'a server of this machine is reached by those that declare it; the failure of another names that',
  { timeout: 60_000 },
  async () => {
    await using machine = await machineServer();
    const { port } = machine;
    const asks = `${modes}[ "$(${answersOf(port)})" = machine ]\n`;
    const outside = `${modes}node -e 'require("node:net").connect(80, "192.0.2.1")' 2>/dev/null || { echo "could not connect to the mirror"; exit 1; }\n`;
    await using it = await home({
      's/a_scenario.sh': `# requires-network: localhost:${port}\n${asks}`,
      's/b_scenario.sh': asks,
      's/c_scenario.sh': outside,
      's/d_scenario.sh': `${modes}"$APP_RUN" false </dev/null\n`,
      'app/x': '',
    });
    const results = await resultsOf(it);
    expect(results).toMatchObject([
      {
        outcome: 'pass',
        evidence: { network: 'machine', network_note: expect.stringContaining('declares') },
      },
      { outcome: 'fail', failure_class: 'product', evidence: { network: 'private' } },
      { outcome: 'broken', failure_class: 'scenario', evidence: { network: 'private' } },
      { outcome: 'fail', failure_class: 'product', evidence: { why: 'exit code 1 in live' } },
    ]);
    expect(results[1]?.evidence.why).toContain('`requires-network: localhost:PORT`');
    expect(results[2]?.evidence.why).toContain('`requires-network: HOST[:PORT]`');
  },
);

test('scenarios that share a network run one at a time, unless --jobs is given', {
  timeout: 60_000,
}, async () => {
  const scenario = (own: string, other: string): string => `${modes}cd "$LOG_FOLDER"
echo "${own} begins" >>log; : >${own}
[ "$TOGETHER" = 0 ] || until [ -f ${other} ]; do :; done
node -e 0; echo "${own} ends" >>log\n`;
  await using it = await home({
    's/a_scenario.sh': scenario('a', 'b'),
    's/b_scenario.sh': scenario('b', 'a'),
    'app/x': '',
    'alone/log': '',
    'together/log': '',
  });
  const run = (folder: string, flags: Flags, TOGETHER: string) =>
    resultsOf(it, flags, { FACTORY_SANDBOX: 'none', LOG_FOLDER: join(it.path, folder), TOGETHER });
  const both = await run('together', { jobs: 2 }, '1');
  expect(both.map((one) => one.outcome)).toEqual(['pass', 'pass']);
  const [first] = await run('alone', {}, '0');
  expect(first?.evidence).toMatchObject({ isolation: 'none', network: 'machine' });
  expect(await readFile(join(it.path, 'alone/log'), 'utf8')).toBe('a begins\na ends\nb begins\nb ends\n');
});

test('attempts to leave a network are read from the tables of the kernel', () => {
  const tables = `Ip: Forwarding OutDiscards OutNoRoutes
Ip: 1 0 2
Tcp: ActiveOpens AttemptFails
Tcp: 4 5
Udp: InDatagrams NoPorts
Udp: 0 1
Ip6OutRequests                  	7
Ip6OutNoRoutes                  	3
`;
  expect(countedIn(tables)).toEqual({ outside: 6, refused: 5 });
  expect(countedIn('')).toEqual({ outside: 0, refused: 0 });
});
