/** Files of a run directory must not be replaced by links, moved or added. */
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditRun } from '../../src/audit/audit.ts';
import { type Ground, ground } from './ground.ts';

const judge = 'workspace/scripts/scenarios/judge.sh';
let it: Ground;
beforeAll(async () => {
  it = await ground({
    'work/scripts/scenarios/judge.sh': '#!/bin/sh\ngrep -q good out.txt\n',
    'bad.dot': 'digraph b { start [shape=Mdiamond]; bad [shape=Msquare, outcome=fail]; start -> bad }',
  });
  for (const told of [await it.start('r'), await it.start('f', 'fails.dot'), await it.start('x', 'bad.dot')])
    if (told.code > 1) throw new Error(told.err + told.out);
  if ((await it.replay('r', { runId: 'again' })).code !== 0) throw new Error('no replay');
}, 60_000);
afterAll(() => it[Symbol.asyncDispose]());

type Change = (path: string) => void;
const text =
  (change: (text: string) => string): Change =>
  (path) =>
    writeFileSync(path, change(readFileSync(path, 'utf8')));
const gone: Change = (path) => rmSync(path, { recursive: true });
const more: Change = (path) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '{}\n');
};
/** Moves it elsewhere and replaces it by a link. */
const link: Change = (path) => {
  renameSync(path, join(it.path, 'elsewhere'));
  symlinkSync(join(it.path, 'elsewhere'), path);
};
/** Inserts a line of that epoch in the middle. */
const late = (epoch: number): Change =>
  text((all) => {
    const lines = all.split('\n');
    lines.splice(2, 0, JSON.stringify({ ...JSON.parse(lines[1] ?? ''), epoch }));
    return lines.join('\n');
  });

/** The report about a run with one change, which is undone afterwards. */
async function saidOf(id: string, name: string, change: Change, keys?: string) {
  const path = join(it.dir(id), name);
  const kept = join(it.path, 'kept');
  const top = join(it.dir(id), name.split('/')[0] ?? '');
  const wasThere = existsSync(path);
  const hadTop = existsSync(top);
  const isFile = wasThere && lstatSync(path).isFile();
  if (isFile) writeFileSync(kept, readFileSync(path));
  change(path);
  try {
    const { problems, unchecked } = await it.verify(id, keys === undefined ? {} : { keys });
    return { problems: problems.map(({ code, where }) => `${code} ${where}`), unchecked };
  } finally {
    const elsewhere = join(it.path, 'elsewhere');
    if (existsSync(elsewhere)) {
      rmSync(path);
      renameSync(elsewhere, path);
    } else if (!wasThere) rmSync(hadTop ? path : top, { recursive: true, force: true });
    if (isFile && !existsSync(path)) writeFileSync(path, '', { mode: name === judge ? 0o644 : 0o600 });
    if (isFile) writeFileSync(path, readFileSync(kept));
  }
}

const artifact = () => `.replay/artifacts/${readdirSync(join(it.dir('again'), '.replay/artifacts'))[0]}`;
const sealed = 'workspace/scripts/scenarios';
const rows: readonly (readonly [string, string | (() => string), string, Change, string?])[] = [
  ...[
    ...['checkpoint.json', 'exchanges/calls.jsonl', 'exchanges/bodies', 'lock', 'check', 'check/visits'],
    ...['check/visits/1', 'snapshots/trees'],
  ].map((name) => ['r', name, `changed ${name}`, link] as const),
  ['again', '.replay', 'changed .replay', link],
  ['r', judge, `changed ${judge}`, text((all) => `${all}exit 0\n`)],
  ['r', judge, `missing ${judge}`, gone],
  ['r', `${sealed}/new.sh`, `added ${sealed}/new.sh`, more],
  ['r', sealed, `changed ${sealed}`, link],
  ['r', judge, `changed ${sealed}`, text((all) => `${all}exit 0\n`), '/nowhere'],
  ['again', artifact, `missing ARTIFACT`, gone],
  ['again', `.replay/artifacts/${'0'.repeat(64)}`, `added .replay/artifacts/${'0'.repeat(64)}`, more],
  ['again', '.replay/new.json', 'added .replay/new.json', more],
  ['again', '.replay/proof.json', 'added .replay/proof.json', more],
  ['again', '.replay/divergence.json', 'added .replay/divergence.json', more],
  ['r', '.replay/visits.jsonl', 'added .replay/visits.jsonl', more],
  ['r', 'visits', 'added visits', more],
  ['r', 'stage.json', 'added stage.json', more],
  ['r', 'inputs/new.tmp', 'added inputs/new.tmp', more],
  ['r', 'visits.jsonl', 'added visits.jsonl', late(0)],
  ['r', 'events.jsonl', 'added events.jsonl', late(-1)],
  ['r', 'trace.jsonl', 'added trace.jsonl', late(0.5)],
];

test('a link, another holdout and an added file are found and named', async () => {
  const wrong: unknown[] = [];
  for (const [id, file, says, change, keys] of rows) {
    const name = typeof file === 'string' ? file : file();
    const { problems } = await saidOf(id, name, change, keys);
    if (problems.join() !== says.replace('ARTIFACT', name)) wrong.push([id, name, says, problems]);
  }
  expect(wrong).toEqual([]);
  for (const id of ['r', 'f', 'again']) expect((await it.verify(id)).problems).toEqual([]);
  expect((await it.verify('r', { keys: '/nowhere' })).problems).toEqual([]);
}, 60_000);

test('a file or folder replaced by a link to itself is found, and every command reports it', async () => {
  const circle: Change = (path) => {
    renameSync(path, join(it.path, 'elsewhere'));
    symlinkSync(path, path);
  };
  for (const name of [
    'check',
    'check/visits',
    'events.jsonl',
    'trace.jsonl',
    'lock',
    'snapshots/trees',
    'snapshots',
  ])
    expect((await saidOf('r', name, circle)).problems.join(), name).toContain(` ${name}`);
  for (const name of ['snapshots', 'snapshots/trees']) {
    renameSync(join(it.dir('f'), name), join(it.path, 'aside'));
    symlinkSync(basename(name), join(it.dir('f'), name));
    try {
      const resumed = await it.resume('f');
      expect([resumed.code, resumed.err]).toEqual([
        2,
        expect.stringContaining('its symbolic links form a loop'),
      ]);
      const into = await it.checkout('f', 'into');
      expect([into.code, into.err]).toEqual([1, expect.stringContaining('its symbolic links form a loop')]);
      await expect(auditRun(it.dir('f'), {})).rejects.toThrow('out of reach');
    } finally {
      unlinkSync(join(it.dir('f'), name));
      renameSync(join(it.path, 'aside'), join(it.dir('f'), name));
    }
  }
});

test('after the exit of a run a line that starts another session is reported as added', async () => {
  for (const id of ['r', 'x'])
    for (const name of ['events.jsonl', 'trace.jsonl']) {
      const again: Change = (path) => {
        const records = it.records(`.factory/runs/${id}/${name}`);
        const first = { ...records[0], seq: records.length + 1, epoch: 2 };
        appendFileSync(path, `${JSON.stringify(first)}\n`);
      };
      expect((await saidOf(id, name, again)).problems).toEqual([`added ${name}`]);
    }
});

test('without a result the checkpoint covers the flushed part of every journal', async () => {
  const result = join(it.dir('r'), 'result.json');
  const away = join(it.path, 'result.json');
  renameSync(result, away);
  try {
    for (const name of ['events.jsonl', 'trace.jsonl']) {
      const other = text((all) => all.replace(/"at":"2/, '"at":"1'));
      expect((await saidOf('r', name, other)).problems).toEqual([`missing result.json`, `changed ${name}`]);
    }
  } finally {
    renameSync(away, result);
  }
});

test('late lines of a previous owner are not a change and are not checked', async () => {
  for (const name of ['events.jsonl', 'trace.jsonl']) {
    const second: Change = (path) => {
      const records = it.records(`.factory/runs/f/${name}`);
      const line = (more: object) => `${JSON.stringify({ ...records[0], ...more })}\n`;
      appendFileSync(path, line({ seq: records.length + 1, epoch: 2 }));
      appendFileSync(path, line({ seq: records.length + 1, epoch: 1 }));
    };
    const { problems, unchecked } = await saidOf('f', name, second);
    expect(problems).toEqual([]);
    expect(unchecked.join()).toContain(`1 line of ${name} that an owner wrote while a later one had the run`);
  }
});

test('remains of a killed node or resume are reported as not checked', async () => {
  for (const name of ['.change/x', '.hidden/x', '.hidden.json']) {
    const { problems, unchecked } = await saidOf('r', name, more);
    expect(problems).toEqual([]);
    expect(unchecked.join()).toContain(`${name.split('/')[0]}: a node or a resume that was killed`);
  }
});
