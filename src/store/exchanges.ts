/** The exchanges of a run on disk: a line for each call that carries its own hash, long texts in files by their hash. */
import { closeSync, existsSync, fdatasync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { type Body, Exchange } from '../model/exchange.ts';
import { exchangesLayout } from '../model/layout.ts';
import type { Mark } from '../model/mark.ts';
import { sha256 } from '../model/sha256.ts';
import { about, named } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { makeFolder, syncFolder, writeFileAtomic } from '../system/files.ts';
import { readPlainBytes } from '../system/read.ts';
import { LineChain } from './chain.ts';
import { lines } from './journal-read.ts';
import { inALine, type Unreadable, unreadable } from './problem.ts';

const datasync = promisify(fdatasync);

/** Bytes of all lines together that are read to answer from them: long texts lie elsewhere. */
const mostOfCalls = 512 * 1024 * 1024 - 64 * 1024;

/** Bytes of a text that stands in the line itself. */
const inlineBytes = 2048;

export interface ExchangeLog {
  /** A text as a line names it; a long one is on the disk when the line is. */
  body(text: string): Promise<Body>;
  /** Adds a line, as a whole and on the disk. */
  append(exchange: Exchange): Promise<void>;
  /** The hash of all lines; they are on the disk. */
  mark(): Mark;
  close(): void;
}

/** Opens the exchanges in `dir`, which is made; the torn last line of a killed process is cut off. */
export function openExchanges(dir: string): ExchangeLog {
  const at = exchangesLayout(dir);
  beforeWrite(at.calls);
  makeFolder(dir);
  let file: number | undefined;
  let newBodies = false;
  let bodiesNamed = false;
  const kept = new Set<string>();
  let known: LineChain | undefined;
  const chain = (): LineChain => (known ??= chainOf(at.calls));
  const opened = async (): Promise<number> => {
    if (file !== undefined) return file;
    beforeWrite(at.calls);
    file = openSync(at.calls, 'a+', 0o644);
    const end = endOf(at.calls);
    if (fstatSync(file).size > end) ftruncateSync(file, end);
    await syncFolder(dir);
    return file;
  };
  return {
    async body(text) {
      const bytes = Buffer.from(text);
      if (bytes.length <= inlineBytes) return text;
      const hash = sha256(bytes);
      if (kept.has(hash)) return { sha256: hash, bytes: bytes.length };
      if (!existsSync(at.body(hash))) await writeFileAtomic(at.body(hash), bytes, { sync: true });
      // Also for one that was there: an engine may have been killed before it had flushed the name.
      newBodies = true;
      kept.add(hash);
      return { sha256: hash, bytes: bytes.length };
    },
    async append(exchange) {
      const line = Buffer.from(`${lineOf(exchange)}\n`);
      const to = await opened();
      const follows = chain();
      if (newBodies) await syncFolder(at.bodies);
      // Their folder may have come after the journal, when the disk was told the names beside it.
      if (newBodies && !bodiesNamed) await syncFolder(dir);
      bodiesNamed ||= newBodies;
      newBodies = false;
      beforeWrite(at.calls);
      let written = 0;
      try {
        while (written < line.length) written += writeSync(to, line, written);
      } catch (error) {
        // Half a line would spoil the next one.
        if (written > 0) ftruncateSync(to, fstatSync(to).size - written);
        throw named(at.calls, error);
      }
      await about(at.calls, datasync(to));
      follows.add(line.subarray(0, -1), follows.mark().records + 1, 0);
    },
    mark: () => chain().mark(),
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

/** Bytes of the file up to the end of its last whole line. */
export function endOf(calls: string): number {
  let end = 0;
  for (const line of lines(calls)) if (line.whole) end = line.end;
  return end;
}

/** The hash of the whole lines, or of the first `watch` of them. */
export function chainOf(calls: string, watch?: number): LineChain {
  const chain = new LineChain(watch);
  for (const { bytes, number, whole } of lines(calls)) if (whole) chain.add(bytes, number, 0);
  return chain;
}

/** The record as JSON with, as its last field, the SHA-256 of the JSON without that field. */
function lineOf(exchange: Exchange): string {
  const text = JSON.stringify(exchange);
  return `${text.slice(0, -1)},"sha256":"${sha256(text)}"}`;
}

/** An exchange as it was read, with its texts whole. */
export type StoredExchange = {
  readonly exchange: Exchange;
  /** The hash that its line carries. */
  readonly sha256: string;
  /** The line itself, without its end. */
  readonly line: string;
};

export type ReadExchanges =
  | { readonly ok: true; readonly exchanges: readonly StoredExchange[] }
  | (Unreadable & { readonly missing: boolean });

/** The exchanges in `dir` in their order, each checked against its hash. `missing` when there is no such folder. A torn
 *  last line is none. Rejects only when a file may not be read. */
export async function readExchanges(dir: string): Promise<ReadExchanges> {
  const at = exchangesLayout(dir);
  if (!existsSync(dir)) return { ok: false, why: `there are no exchanges in ${dir}`, missing: true };
  const damaged = (line: number, what: string): ReadExchanges => ({
    ...unreadable(
      `${at.calls} is damaged: line ${line} ${what}`,
      'put back a copy of the file; nothing of it was used',
    ),
    missing: false,
  });
  const found = readPlainBytes(at.calls, mostOfCalls);
  if (found.kind === 'missing') return { ok: true, exchanges: [] };
  if (found.kind === 'none')
    return {
      ...unreadable(`${at.calls} ${found.why}`, 'put back a copy of the file; nothing of it was used'),
      missing: false,
    };
  const bytes = found.text;
  const exchanges: StoredExchange[] = [];
  const texts = bytes.toString('utf8').split('\n');
  for (const [index, line] of texts.entries()) {
    // What was being written when the process was killed has no hash yet; a whole line has one, whatever became of its
    // end.
    if (index === texts.length - 1) {
      if (/,"sha256":"[0-9a-f]{64}"\}/.test(line))
        return damaged(index + 1, `(${whereOf(line)}) has lost its end`);
      break;
    }
    const [, hash = ''] = tail.exec(line) ?? [];
    const text = line.replace(tail, '}');
    const where = whereOf(text);
    if (hash === '' || sha256(text) !== hash)
      return damaged(
        index + 1,
        `(${where}) is not what was written there: its hash is ${short(sha256(text))}, it says ${hash === '' ? 'none' : short(hash)}`,
      );
    const read = Exchange.safeParse(JSON.parse(text));
    if (!read.success) return damaged(index + 1, `is no exchange of this version (${inALine(read.error)})`);
    exchanges.push({ exchange: read.data, sha256: hash, line });
  }
  return { ok: true, exchanges };
}

const tail = /,"sha256":"([0-9a-f]{64})"\}$/;
const short = (hash: string): string => `${hash.slice(0, 12)}…`;

/** Which call a line is about, as far as that can be told of a damaged one. */
function whereOf(text: string): string {
  const node = /"node":"([A-Za-z0-9_]+)"/.exec(text)?.[1];
  const call = /"call":(\d+)/.exec(text)?.[1];
  return node === undefined || call === undefined ? 'of an unknown call' : `call ${call} of node "${node}"`;
}

/** A text that an exchange names. Throws a DamagedExchange when the file is missing or holds other bytes. */
export async function readBody(dir: string, body: Body): Promise<string> {
  if (typeof body === 'string') return body;
  const path = exchangesLayout(dir).body(body.sha256);
  const found = readPlainBytes(path);
  if (found.kind !== 'text')
    throw new DamagedExchange(`${path} ${found.kind === 'missing' ? 'is missing' : found.why}`);
  const bytes = found.text;
  if (sha256(bytes) !== body.sha256)
    throw new DamagedExchange(`${path} is not what was written there: its hash is ${short(sha256(bytes))}`);
  return bytes.toString('utf8');
}

/** A record that cannot be used; the message says which file is wrong and how. */
export class DamagedExchange extends Error {}

/** Every text that an exchange names. */
export const bodiesOf = (exchange: Exchange): readonly Body[] => [
  exchange.prompt,
  exchange.items,
  ...(exchange.schema === null ? [] : [exchange.schema.schema]),
  ...(exchange.report === null ? [] : [exchange.report]),
  ...exchange.artifacts.map(({ content }) => content),
];
