import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fence, Superseded } from '../../src/platform/files/fence.ts';
import { linkOf } from '../../src/run/chain.ts';
import { openJournal } from '../../src/run/journal.ts';
import { readJournal, readRecords, scan } from '../../src/run/journal-read.ts';
import { temp } from '../platform/temp.ts';

const runId = 'run';
const seqs = (records: readonly object[]) =>
  records.map((record) => ('seq' in record ? record.seq : undefined));

async function write(path: string, epoch: number, records: readonly object[]): Promise<void> {
  const journal = await openJournal(path, { runId, epoch, sync: false });
  for (const record of records) journal.append(record);
  await journal.close();
}

test('every record gets the run, its number in the file and the owner’s epoch', async () => {
  await using it = await temp();
  const journal = await openJournal(it.at('a', 'events.jsonl'), { runId: 'R', epoch: 3 });
  expect(journal.append({ schema_version: 1, type: 'A' })).toBe(1);
  expect(journal.append({ schema_version: 1, type: 'B', text: 'two\nlines' })).toBe(2);
  await journal.flush();
  expect(readFileSync(it.at('a', 'events.jsonl'), 'utf8')).toBe(
    '{"schema_version":1,"type":"A","run_id":"R","seq":1,"epoch":3}\n' +
      '{"schema_version":1,"type":"B","text":"two\\nlines","run_id":"R","seq":2,"epoch":3}\n',
  );
  await journal.close();
  await journal.close();
  expect(() => journal.append({})).toThrow(/closed/);
});

test('numbers continue when a journal is reopened', async () => {
  await using it = await temp();
  await write(it.at('j'), 1, [{ n: 1 }, { n: 2 }]);
  await write(it.at('j'), 1, [{ n: 3 }]);
  await write(it.at('j'), 2, [{ n: 4 }]);
  expect(seqs((await readRecords(it.at('j'))).records)).toEqual([1, 2, 3, 4]);
});

test('a file cut at any byte reads as a beginning of its records, and what is appended then continues them', async () => {
  await using it = await temp();
  await write(it.at('whole'), 1, [
    { text: 'ä€😀' },
    { text: '' },
    { deep: { a: ['\n', 1] } },
    { last: true },
  ]);
  const whole = readFileSync(it.at('whole'));
  const { records } = await readRecords(it.at('whole'));
  expect(records).toHaveLength(4);
  for (let cut = 0; cut <= whole.length; cut++) {
    writeFileSync(it.at('cut'), whole.subarray(0, cut));
    const read = await readRecords(it.at('cut'));
    expect(read).toEqual({ records: records.slice(0, read.records.length), unreadable: [] });
    expect(read.records.length).toBe(whole.subarray(0, cut).filter((byte) => byte === 10).length);
    await write(it.at('cut'), 2, [{ more: true }]);
    const again = await readRecords(it.at('cut'));
    expect(again.unreadable).toEqual([]);
    expect(seqs(again.records)).toEqual(again.records.map((_, n) => n + 1));
    expect(again.records.slice(0, -1)).toEqual(read.records);
  }
});

test('appended records are read unchanged, in order', async () => {
  await using it = await temp();
  const record = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue());
  let n = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 5 }),
      fc.array(record, { maxLength: 5 }),
      async (first, second) => {
        const path = it.at(String(n++));
        await write(path, 1, first);
        await write(path, 1, second);
        const expected = [...first, ...second].map((facts, at) => ({
          ...facts,
          run_id: runId,
          seq: at + 1,
          epoch: 1,
        }));
        expect(await readRecords(path)).toEqual({
          records: JSON.parse(JSON.stringify(expected)),
          unreadable: [],
        });
      },
    ),
    { numRuns: 40 },
  );
});

describe('owners', () => {
  test('lines that an earlier owner writes after a later one has started are not read, and do not disturb the numbers', async () => {
    await using it = await temp();
    const first = await openJournal(it.at('j'), { runId, epoch: 1, sync: false });
    first.append({ by: 'first' });
    const second = await openJournal(it.at('j'), { runId, epoch: 2, sync: false });
    for (let n = 0; n < 3; n++) second.append({ by: 'second' });
    first.append({ by: 'first, woken' });
    second.append({ by: 'second' });
    first.append({ by: 'first, woken' });
    await second.close();
    await write(it.at('j'), 3, [{ by: 'third' }]);
    const { records } = await readRecords(it.at('j'));
    expect(records.map((record) => record['by'])).toEqual([
      'first',
      'second',
      'second',
      'second',
      'second',
      'third',
    ]);
    expect(seqs(records)).toEqual([1, 2, 3, 4, 5, 6]);
    await first.close();
  });

  test('a journal that a later owner has written to does not open', async () => {
    await using it = await temp();
    await write(it.at('j'), 5, [{}]);
    const late = openJournal(it.at('j'), { runId, epoch: 4 });
    await expect(late).rejects.toThrow(Superseded);
    await expect(late).rejects.toThrow(/epoch 5 has written here/);
  });

  test('a former owner neither creates a journal nor writes in one', async () => {
    await using it = await temp();
    const journal = await openJournal(it.at('j'), { runId, epoch: 1, sync: false });
    journal.append({});
    const was = readFileSync(it.at('j'), 'utf8');
    const open = fence(it.dir, () => {
      throw new Superseded();
    });
    expect(() => journal.append({})).toThrow(Superseded);
    await expect(openJournal(it.at('new'), { runId, epoch: 1 })).rejects.toThrow(Superseded);
    open();
    await journal.close();
    expect(readFileSync(it.at('j'), 'utf8')).toBe(was);
    expect(readdirSync(it.dir)).toEqual(['j']);
  });

  test('the hash covers the valid records, whatever other owners wrote between or before them', async () => {
    await using it = await temp();
    const of = (seq: number, epoch: number, more = {}) => JSON.stringify({ seq, epoch, ...more });
    const counting = [of(1, 1), of(2, 1), of(3, 2), of(4, 2), of(5, 3)];
    const [first, second, third, fourth, fifth] = counting;
    // The next owner replaces the last lines of the previous one; lines that the previous one writes later are ignored.
    const late = of(3, 1, { late: true });
    const lines = [first, second, late, third, late, fourth, of(9, 1), of(5, 2, { late: true }), fifth];
    writeFileSync(it.at('j'), `${lines.join('\n')}\n`);
    const hashOf = (records: readonly string[]) =>
      records.reduce((before, line) => linkOf(before, Buffer.from(line)), '');
    expect(scan(it.at('j')).chain.mark()).toEqual({ records: 5, sha256: hashOf(counting) });
    expect((await readRecords(it.at('j'))).records.at(-1)).toEqual({ seq: 5, epoch: 3 });
  });
});

describe('damage', () => {
  test('an invalid line in the middle is reported with its number, and the rest is read', async () => {
    await using it = await temp();
    const bad = Buffer.concat([
      Buffer.from('{"a":1}\nrubbish\n[1]\n{"s":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n\n\ufeff{"d":4}\n{"b":2}\n{"c"'),
    ]);
    writeFileSync(it.at('j'), bad);
    const { records, unreadable } = await readRecords(it.at('j'));
    expect(records).toEqual([{ a: 1 }, { b: 2 }]);
    expect(unreadable.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6]);
    expect(unreadable[0]?.why).toMatch(/not JSON/);
    expect(unreadable[1]?.why).toMatch(/not an object/);
  });

  test('lines damaged by a power failure before a partial line are removed with it, and do not affect later lines', async () => {
    await using it = await temp();
    await write(it.at('j'), 1, [{ n: 1 }]);
    appendFileSync(it.at('j'), '\0\0\0\0\n{"n":3,"run');
    expect(await readRecords(it.at('j'))).toMatchObject({ records: [{ n: 1 }], unreadable: [] });
    await write(it.at('j'), 2, [{ n: 2 }]);
    expect(await readRecords(it.at('j'))).toMatchObject({ records: [{ n: 1 }, { n: 2 }], unreadable: [] });
  });

  test('a complete last line that is not JSON is skipped by readers, and cut off when the journal is opened', async () => {
    await using it = await temp();
    await write(it.at('j'), 1, [{ n: 1 }]);
    const sound = readFileSync(it.at('j'), 'utf8');
    appendFileSync(it.at('j'), '{"n":2,"run\n');
    expect((await readRecords(it.at('j'))).records).toHaveLength(1);
    expect((await readRecords(it.at('j'))).unreadable).toEqual([]);
    await write(it.at('j'), 1, []);
    expect(readFileSync(it.at('j'), 'utf8')).toBe(sound);
  });

  test('a journal that is missing, empty, or not a file has no records', async () => {
    await using it = await temp();
    expect(await readRecords(it.at('none'))).toEqual({ records: [], unreadable: [] });
    writeFileSync(it.at('empty'), '');
    expect(await readRecords(it.at('empty'))).toEqual({ records: [], unreadable: [] });
    mkdirSync(it.at('folder'));
    expect(await readRecords(it.at('folder'))).toEqual({ records: [], unreadable: [] });
    execFileSync('mkfifo', [it.at('pipe')]);
    expect(await readRecords(it.at('pipe'))).toEqual({ records: [], unreadable: [] });
    symlinkSync('circle', it.at('circle'));
    expect(await readRecords(it.at('circle'))).toEqual({ records: [], unreadable: [] });
    symlinkSync('/dev/null', it.at('device'));
    for (const name of ['folder', 'pipe', 'circle', 'device'])
      await expect(openJournal(it.at(name), { runId: 'r', epoch: 1 })).rejects.toThrow(`${name} is no file`);
  });

  test('a failed append throws, and leaves nothing of the line', async () => {
    await using it = await temp();
    const journal = join(import.meta.dirname, '../../src/run/journal.ts');
    const contents = `import { openJournal } from ${JSON.stringify(journal)};
      const journal = await openJournal('j', { runId: 'run', epoch: 1, sync: false });
      journal.append({ n: 1 });
      try { journal.append({ text: 'x'.repeat(100_000) }) } catch (error) { console.log(error.message) }
      console.log(journal.append({ n: 2 }));`;
    await build({
      stdin: { contents, resolveDir: it.dir },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: it.at('w.mjs'),
      logLevel: 'error',
    });
    // The shell limits the size of files, so that the long line is written only in part.
    const limited = spawnSync('sh', ['-c', 'ulimit -f 16; exec "$0" w.mjs', process.execPath], {
      cwd: it.dir,
      encoding: 'utf8',
    });
    expect(limited.stdout).toMatch(/^cannot write j: EFBIG.*\n2\n$/);
    expect((await readRecords(it.at('j'))).records.map((record) => record['n'])).toEqual([1, 2]);
    expect(readFileSync(it.at('j'), 'utf8')).not.toContain('x');
    await expect(openJournal(it.at('w.mjs', 'j'), { runId, epoch: 1 })).rejects.toThrow();
  });

  test('a record that is not JSON is an internal error, and nothing of it is written', async () => {
    await using it = await temp();
    const journal = await openJournal(it.at('j'), { runId, epoch: 1, sync: false });
    expect(() => journal.append({ n: 1n })).toThrow();
    expect(journal.append({ n: Number.NaN })).toBe(1);
    await journal.close();
    expect((await readRecords(it.at('j'))).records).toEqual([{ n: null, run_id: runId, seq: 1, epoch: 1 }]);
  });
});

test('a following reader continues from its cursor, and reads a line only when it is complete', async () => {
  await using it = await temp();
  await write(it.at('j'), 1, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  const whole = readFileSync(it.at('j'));
  const seen: unknown[] = [];
  let cursor: Parameters<typeof readJournal>[1];
  for (let size = 0; size <= whole.length; size += 7) {
    writeFileSync(it.at('growing'), whole.subarray(0, size));
    for await (const entry of readJournal(it.at('growing'), cursor)) {
      cursor = entry.cursor;
      if (entry.kind === 'record') seen.push(entry.record['n']);
    }
  }
  for await (const entry of readJournal(it.at('j'), cursor))
    if (entry.kind === 'record') seen.push(entry.record['n']);
  expect(seen).toEqual([1, 2, 3]);
});

test('lines longer than the read buffer are read completely', async () => {
  await using it = await temp();
  const text = 'x'.repeat(1_000_000);
  await write(it.at('j'), 1, [{ text }, { text: 'short' }]);
  truncateSync(it.at('j'), readFileSync(it.at('j')).length - 1);
  const { records } = await readRecords(it.at('j'));
  expect(records.map((record) => String(record['text']).length)).toEqual([1_000_000]);
});

test.runIf(process.platform === 'linux')('a disk error while a journal is read names the journal', () => {
  // The system’s own file that opens, and that cannot be read from its beginning.
  const path = '/proc/self/mem';
  expect(() => scan(path)).toThrow(expect.objectContaining({ code: 'EIO', path }));
});

test('a flush settles after the one in progress, also if nothing is left to do', async () => {
  await using it = await temp();
  const journal = await openJournal(it.at('j'), { runId, epoch: 1 });
  journal.append({ n: 1 });
  const settled: string[] = [];
  const first = journal.flush().then(() => settled.push('first'));
  const second = journal.flush().then(() => settled.push('second'));
  const closed = journal.close().then(() => settled.push('closed'));
  await Promise.all([closed, second, first]);
  expect(settled).toEqual(['first', 'second', 'closed']);
});
