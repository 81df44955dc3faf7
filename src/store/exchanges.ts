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

/** Bytes of all lines together that are read. */
const mostOfCalls = 512 * 1024 * 1024 - 64 * 1024;

/** Bytes of a text that is kept in the line itself. */
const inlineBytes = 2048;

export interface ExchangeLog {
  /** A text as a line names it; a long one is on disk when the line is. */
  body(text: string): Promise<Body>;
  /** Adds a whole line, flushed. */
  append(exchange: Exchange): Promise<void>;
  /** The hash of all lines, which are flushed. */
  mark(): Mark;
  close(): void;
}

/** Opens the exchanges in `dir`, which is created; the torn last line of a killed process is cut off. */
export function openExchanges(dir: string): ExchangeLog {
  const at = exchangesLayout(dir);
  beforeWrite(at.calls);
  makeFolder(dir);
  let file: number | undefined;
  let known: LineChain | undefined;
  let hasNewBodies = false;
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
      if (!existsSync(at.body(hash))) await writeFileAtomic(at.body(hash), bytes, { sync: true });
      // Also for a file that exists: a killed process may not have flushed its name.
      hasNewBodies = true;
      return { sha256: hash, bytes: bytes.length };
    },
    async append(exchange) {
      const line = Buffer.from(`${lineOf(exchange)}\n`);
      const to = await opened();
      const follows = chain();
      if (hasNewBodies) {
        await syncFolder(at.bodies);
        await syncFolder(dir);
        hasNewBodies = false;
      }
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

/** An exchange that was read from disk. */
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

/** The exchanges in `dir` in their order, each checked against its hash; a torn last line is left out. `missing` when there
 *  is no such directory. Rejects only when a file may not be read. */
export async function readExchanges(dir: string): Promise<ReadExchanges> {
  const at = exchangesLayout(dir);
  if (!existsSync(dir)) return { ok: false, why: `there are no exchanges in ${dir}`, missing: true };
  const unusable = (what: string): ReadExchanges => ({
    ...unreadable(`${at.calls} ${what}`, 'restore the file from a copy; nothing of it was used'),
    missing: false,
  });
  const found = readPlainBytes(at.calls, mostOfCalls);
  if (found.kind === 'missing') return { ok: true, exchanges: [] };
  if (found.kind === 'none') return unusable(found.why);
  const texts = found.text.toString('utf8').split('\n');
  const torn = texts.pop() ?? '';
  const exchanges: StoredExchange[] = [];
  for (const [index, line] of texts.entries()) {
    const read = readLine(line);
    if (typeof read === 'string') return unusable(`is damaged: line ${index + 1} ${read}`);
    exchanges.push(read);
  }
  // A line has its hash only when it is whole.
  if (/,"sha256":"[0-9a-f]{64}"\}/.test(torn))
    return unusable(`is damaged: line ${texts.length + 1} (${callIn(torn)}) has lost its end`);
  return { ok: true, exchanges };
}

const tail = /,"sha256":"([0-9a-f]{64})"\}$/;

/** The exchange in a line, or how it is damaged. */
function readLine(line: string): StoredExchange | string {
  const hash = tail.exec(line)?.[1];
  const text = line.replace(tail, '}');
  if (hash === undefined) return `(${callIn(text)}) has no hash`;
  if (sha256(text) !== hash) return `(${callIn(text)}) does not have its hash ${hash.slice(0, 12)}…`;
  const read = Exchange.safeParse(JSON.parse(text));
  if (!read.success) return `is not an exchange of this version (${inALine(read.error)})`;
  return { exchange: read.data, sha256: hash, line };
}

/** The call that a damaged line is about, as far as it can be read. */
function callIn(text: string): string {
  const node = /"node":"([A-Za-z0-9_]+)"/.exec(text)?.[1];
  const call = /"call":(\d+)/.exec(text)?.[1];
  return node === undefined || call === undefined ? 'of an unknown call' : `call ${call} of node "${node}"`;
}

/** A text that an exchange names. Throws a DamagedExchange when the file is missing or has other bytes. */
export async function readBody(dir: string, body: Body): Promise<string> {
  if (typeof body === 'string') return body;
  const path = exchangesLayout(dir).body(body.sha256);
  const found = readPlainBytes(path);
  if (found.kind !== 'text')
    throw new DamagedExchange(`${path} ${found.kind === 'missing' ? 'is missing' : found.why}`);
  if (sha256(found.text) !== body.sha256) throw new DamagedExchange(`${path} does not have its hash`);
  return found.text.toString('utf8');
}

/** A record that cannot be used; the message names the file and what is wrong with it. */
export class DamagedExchange extends Error {}

/** Every text that an exchange names. */
export const bodiesOf = (exchange: Exchange): readonly Body[] => [
  exchange.prompt,
  exchange.items,
  ...(exchange.schema === null ? [] : [exchange.schema.schema]),
  ...(exchange.report === null ? [] : [exchange.report]),
  ...exchange.artifacts.map(({ content }) => content),
];
