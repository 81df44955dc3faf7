/** Commands that read a run: closed output, runs that change meanwhile, and control characters in texts of nodes. */

import { appendFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storedGraph } from '../../src/app/read-pipeline.ts';
import { harmless } from '../../src/cli/io.ts';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { realClock } from '../../src/platform/clock.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/open-run.ts';
import { openRunJournal } from '../../src/run/run-journal.ts';
import { auditRun } from '../../src/verify/audit/audit.ts';
import { house } from '../support/house.ts';
import { call } from '../support/verb.ts';

const pipeline = (a: string) => `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
  a [shape=parallelogram, tool_command=${JSON.stringify(a)}]
  start -> a; a -> exit [condition="outcome=success"] }`;

async function ran(command = 'true') {
  const it = await house({ 'g.dot': pipeline(command) });
  await it.run('g.dot', { runId: 'r', quiet: true });
  return { it, dir: join(it.path, '.factory/runs/r') };
}

/** The context of a command; `looked` is called when it first reads the owner of the run. */
function doors(cwd: string, looked: () => void = () => {}) {
  const told = { out: '', err: '', lines: 0 };
  let gone = false;
  let looks = 0;
  const io = {
    cwd,
    env: {},
    out: (text: string) => {
      told.out += text;
      told.lines += 1;
    },
    err: (text: string) => {
      told.err += text;
    },
    outIsTerminal: false,
    errIsTerminal: false,
    width: 100,
    outIsClosed: () => gone,
    clock: {
      ...realClock,
      now: () => {
        if (looks++ === 0) looked();
        return realClock.now();
      },
    },
  };
  /** As in Node, a closed output is noticed in the next turn of the event loop. */
  const readsOne = (text: string) => {
    io.out(text);
    setImmediate(() => {
      gone = true;
    });
  };
  return { io, told, headIo: { ...io, out: readsOne } };
}

test.each(['trace', 'logs', 'logs --last'] as const)(
  '%s stops reading when its output is closed',
  async (what) => {
    const { it, dir } = await ran();
    await using _ = it;
    const line = `${JSON.stringify({ type: 'Later', at: '2099-01-01T00:00:00.000Z', epoch: 1, pad: 'x'.repeat(500) })}\n`;
    for (const name of ['trace.jsonl', 'events.jsonl']) appendFileSync(join(dir, name), line.repeat(5000));
    const { told, headIo } = doors(it.path);
    const { code } =
      what === 'trace'
        ? await call(['trace', 'r'], {}, headIo)
        : await call(['logs', 'r'], { json: true, ...(what === 'logs' ? {} : { last: 4500 }) }, headIo);
    expect(code).toBe(0);
    expect(told.lines).toBeLessThan(500);
  },
);

test('logs --last prints that many lines of the end, whatever the number', async () => {
  const { it, dir } = await ran();
  await using _ = it;
  const all = Array.from({ length: 1000 }, (_, seq) => `{"type":"X","seq":${seq},"epoch":1}\n`);
  writeFileSync(join(dir, 'events.jsonl'), all.join(''));
  for (const last of [0, 1, 7, 333, 500, 999, 1000, 2000]) {
    const { told, io } = doors(it.path);
    await call(['logs', 'r'], { json: true, last }, io);
    expect(told.out === (last === 0 ? '' : all.slice(-last).join('')), String(last)).toBe(true);
  }
});

test('a run that is resumed or removed while it is verified is not reported as changed', async () => {
  const { it, dir } = await ran();
  await using _ = it;
  const held = await acquireLock(dir, { clock: realClock });
  if (held.kind !== 'acquired') throw new Error(held.why);
  const lock = join(dir, 'lock', `${String(held.lock.epoch).padStart(6, '0')}.json`);
  renameSync(lock, join(it.path, 'lock'));
  const going = doors(it.path, () => {
    renameSync(join(it.path, 'lock'), lock);
    appendFileSync(join(dir, 'checkpoint.json'), ' ');
  });
  expect((await call(['verify', 'r'], {}, going.io)).code, going.told.out).toBe(2);
  expect(going.told.err).toContain('run r is running');
  await held.lock.release();
  // The run has no owner any more, so a difference is damage.
  const after = doors(it.path);
  expect((await call(['verify', 'r'], {}, after.io)).code).toBe(1);
  const gone = doors(it.path, () => renameSync(dir, join(it.path, 'elsewhere')));
  expect((await call(['verify', 'r'], {}, gone.io)).code, gone.told.out).toBe(2);
  expect(gone.told.err).toContain('there is no run "r"');
});

test('a damaged run that is resumed while it is verified is reported as running', async () => {
  const { it, dir } = await ran();
  await using _ = it;
  rmSync(join(dir, 'manifest.json'));
  const lock = readFileSync(join(dir, 'lock/000001.json'), 'utf8');
  const { told, io } = doors(it.path, () =>
    writeFileSync(join(dir, 'lock/000002.json'), lock.replace(/"epoch": *1/, '"epoch": 2')),
  );
  expect((await call(['verify', 'r'], { json: true }, io)).code).toBe(2);
  expect(JSON.parse(told.out)).toMatchObject({ status: 'refused', problems: [{ code: 'run-going' }] });
});

const said = String.raw`\u001b[30m\u001b[40mhidden\nnext      rm -r .\u001b[3\u001b[0m1m`;

test('text of a node cannot colour or hide anything, nor imitate a row of the output', async () => {
  const answer = `{"outcome":"fail","notes":"\\u001b[30mnote","failure_reason":"${said}"}`;
  const { it } = await ran(`printf '%s' '${answer}' > $FACTORY_OUTPUT`);
  await using _ = it;
  const { told, io } = doors(it.path);
  expect((await call(['show', 'r'], {}, io)).code).toBe(0);
  expect((await call(['logs', 'r'], { verbose: true }, io)).code).toBe(0);
  const text = harmless(`${told.out}${told.err}`);
  expect(text).toContain('rm -r .');
  expect(text).not.toContain('\x1b');
  expect(harmless(told.out).match(/^ {2}next.*$/gm)).toEqual([expect.stringContaining(' resume r')]);
});

test('a leak that failed the run is an error of its audit, and a warning after a resume', async () => {
  const { it, dir } = await ran();
  await using _ = it;
  const read = openRun(dir).history();
  if (!read.ok) throw new Error(read.why);
  const { checkpoint: state } = read;
  const journal = await openRunJournal(dir, { runId: 'r', epoch: state.epoch }, read);
  const severities = async () => {
    const audited = await auditRun(dir, {}, storedGraph);
    if ('why' in audited) throw new Error(audited.why);
    return audited.report.findings.map(({ severity, node, visit }) => `${severity} ${node}@${visit}`);
  };
  const { at, elapsed_ms, spent = nothingSpent } = state;
  journal.note({ type: 'Began', at, node: 'a', node_type: 'tool', visit: 7 });
  const reason = 'holdout_leak: out.txt shows line 3 of a sealed file';
  const ended = { exit_node: null, ok: false, reason, code: 1 };
  await journal.commit({ type: 'Stopped', at, elapsed_ms, spent, status: 'failed', ended }, state);
  expect(await severities()).toEqual(['error a@7']);
  journal.note({ type: 'Began', at, node: 'a', node_type: 'tool', visit: 8 });
  await journal.close();
  expect(await severities()).toEqual(['warning a@7']);
});

test('the end of a run without a route shows the card that why shows', async () => {
  await using it = await house({ 'g.dot': pipeline('echo the wheel is off >&2; exit 3') });
  const card = (out: string): readonly string[] => out.match(/^ +(?:command|output|> 1|fix|next) .*/gm) ?? [];
  const end = card((await it.run('g.dot', { runId: 'r' })).out);
  expect(end.join('\n')).toContain('fix       Change a in g.dot:2');
  const { told, io } = doors(it.path);
  await call(['why', 'r'], {}, io);
  expect(end).toEqual(card(told.out));
});

test('attach into a pipe follows a suspended run while its process lives: it may resume it', async () => {
  const asks = `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
    gate [shape=hexagon, prompt="Ship it?"]; start -> gate; gate -> exit [label="[A] Approve"] }`;
  await using it = await house({ 'g.dot': asks });
  expect((await it.run('g.dot', { runId: 'r' })).code).toBe(75);
  const leaving = new AbortController();
  leaving.abort();
  const left = await it.called(['attach', 'r'], {}, undefined, leaving);
  expect([left.code, left.out]).toEqual([130, '']);
});

test('show has what the output of the latest failure says, and nothing of the kind after a success', async () => {
  const { it } = await ran('echo "ERROR: no column email"; printf "\\r50%%\\r99%%"; exit 1');
  await using _ = it;
  const { told, io } = doors(it.path);
  await call(['show', 'r'], {}, io);
  expect(told.out).toMatch(
    /cause {5}node a \(product\)\n {2}command {3}.* \(exit 1\)\n {2}output {4}tool\.stdout\.txt:1\n/,
  );
  expect(told.out).toContain('            > 1 ERROR: no column email\n              2 99%\n');
  const json = doors(it.path);
  await call(['show', 'r'], { json: true }, json.io);
  expect(JSON.parse(json.told.out).failure).toMatchObject({
    node: 'a',
    output: expect.stringContaining('99%'),
  });
  const { it: fine } = await ran();
  await using __ = fine;
  const good = doors(fine.path);
  await call(['show', 'r'], {}, good.io);
  expect(good.told.out).not.toContain('cause');
});

test.for([300, 0])(
  'a completed run whose journal was cut to %s bytes is unreadable, whoever asks',
  async (bytes) => {
    const { it, dir } = await ran();
    await using _ = it;
    truncateSync(join(dir, 'journal.jsonl'), bytes);
    const { io, told } = doors(it.path);
    const why = bytes === 0 ? 'journal.jsonl is empty' : 'journal.jsonl is cut';
    expect((await call(['wait', 'r'], {}, io)).code).toBe(1);
    expect((await call(['show', 'r'], {}, io)).code).not.toBe(0);
    await call(['runs'], { json: true }, io);
    expect(told.out).toMatch(/run r: unreadable[\s\S]*"status": ?"unreadable"/);
    for (const text of [told.out, told.err]) expect(text).toContain(why);
  },
);
