/** One `factory plan` against scripted HTTP exchanges. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { at, endedWith, findings, includes } from '../compare.mjs';
import { inFolder } from '../folders.mjs';
import { clearUp } from '../processes.mjs';
import { factory, newestRun, readJson } from './command.mjs';

/** Settings of waits in cases, in seconds, and their names here. */
const waits = { LLMCH_SHIM_POLL: 'FACTORY_POLL_INTERVAL', LLMCH_SHIM_DEADLINE: 'FACTORY_POLL_DEADLINE' };

export const checkExchange = (one, setting) =>
  inFolder(setting, async (root) => {
    const work = join(root, 'work');
    mkdirSync(work);
    writeFileSync(join(work, 'spec.md'), one.spec ?? 'A file a.txt.\n');
    const artifacts = join(root, 'artifacts');
    const run = await factory(setting, {
      argv: ['plan', '--spec', 'spec.md', '--artifacts-dir', artifacts, ...(one.flags ?? [])],
      cwd: work,
      home: join(root, 'home'),
      reactions: one.http,
      // Cases about waits use the real ones.
      env: {
        ...(one.expect.delays === undefined ? {} : { FACTORY_POLL_INTERVAL: null }),
        ...settings(one.env ?? {}),
      },
    });
    clearUp(run.pid);
    const found = findings();
    const expected = one.expect;
    if (run.timedOut)
      found.differs('the command', 'an end', `none within ${Math.round(run.elapsed / 1000)} s`);
    else if (expected.exitCode !== undefined && !endedWith(run, expected.exitCode))
      found.differs(
        'exit code',
        expected.exitCode,
        `${run.code ?? run.signal}, saying ${run.stderr.slice(-300)}`,
      );
    checkRequests(expected, run.requests, found);
    checkRecords(expected, newestRun(artifacts, 'planner'), found);
    return { problems: found.problems };
  });

function settings(env) {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      if (Object.hasOwn(waits, name)) return [[waits[name], `${Math.round(Number(value) * 1000)}ms`]];
      return name.startsWith('LLMCH_SHIM_') ? [] : [[name, value]];
    }),
  );
}

function checkRequests({ requests: wanted, delays }, requests, found) {
  if (wanted !== undefined && wanted !== null) {
    const spell = ({ method, path }) => `${method} ${path}`;
    const got = requests.map(spell);
    found.equal(
      'requests',
      wanted.map((one, n) => (one === null ? got[n] : spell(one))),
      got,
    );
    for (const [n, one] of wanted.entries()) {
      const body = requests[n]?.body;
      if (one === null || body === undefined) continue;
      for (const [key, value] of Object.entries(one.body ?? {}))
        found.check(`request ${n + 1}, ${key}`, includes(body?.[key], value), value, body?.[key]);
      for (const key of one.bodyOmits ?? [])
        found.check(`request ${n + 1}, ${key}`, !Object.hasOwn(body ?? {}, key), 'nothing', body?.[key]);
    }
  }
  // Each expected wait must occur, in order; there must be no others.
  const gaps = requests.slice(1).map(({ when }, n) => (when - requests[n].when) / 1000);
  let next = 0;
  for (const least of delays ?? []) {
    // Timers may fire slightly early.
    while (next < gaps.length && gaps[next] < least - 0.05) next += 1;
    const seen = gaps.map((gap) => gap.toFixed(2));
    found.check('waits between requests', next < gaps.length, `${delays.join(', ')} s at least`, seen);
    next += 1;
  }
}

function checkRecords({ artifacts, runJson }, folder, found) {
  for (const [name, content] of Object.entries(artifacts ?? {})) {
    const file = join(folder ?? '/nowhere', 'compile', name);
    if (!existsSync(file)) found.differs(`artifact ${name}`, 'a file', 'none');
    else if (content !== null)
      found.equal(`artifact ${name}`, content.trimEnd(), readFileSync(file, 'utf8').trimEnd());
  }
  const record = readJson(join(folder ?? '/nowhere', 'run.json'));
  for (const [key, value] of Object.entries(runJson ?? {}))
    found.equal(`run.json ${key}`, value, key.startsWith('/') ? at(record, key) : record?.[key]);
}
