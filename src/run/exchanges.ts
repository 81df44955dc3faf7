/** The exchanges of a run on disk: a line for each call that carries its own hash, long texts in files by their hash. */
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import type { JournalMark } from '../core/records/checkpoint.ts';
import { type Body, type Exchange, exchangeSchema } from '../core/records/exchange.ts';
import { exchangesLayout } from '../core/records/layout.ts';
import { sha256 } from '../core/sha256.ts';
import { named } from '../platform/files/disk-error.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { readPlainBytes } from '../platform/files/read.ts';
import { makeFolder, writeFileAtomic } from '../platform/files/write.ts';
import { LineChain } from './chain.ts';
import { journalLines } from './journal-read.ts';
import { schemaProblems, type Unreadable, unreadableFile } from './unreadable.ts';

/** Bytes of all lines together that are read. */
const mostOfCalls = 512 * 1024 * 1024 - 64 * 1024;

/** Bytes of a text that is kept in the line itself. */
const inlineBytes = 2048;

export interface ExchangeLog {
  /** A text as a line names it; a long one gets a file. */
  body(text: string): Promise<Body>;
  /** Adds a whole line. */
  append(exchange: Exchange): void;
  mark(): JournalMark;
  close(): void;
}

/** Opens the exchanges in `dir`, which is created; the torn last line of a killed process is cut off. `before`: the mark of
 *  its lines, where it is known. */
export function openExchanges(dir: string, before?: JournalMark): ExchangeLog {
  const at = exchangesLayout(dir);
  beforeWrite(at.calls);
  makeFolder(dir);
  const size = statSync(at.calls, { throwIfNoEntry: false })?.size ?? 0;
  const known = before?.bytes === size ? before : markOf(at.calls);
  if (size > known.bytes) truncateSync(at.calls, known.bytes);
  const chain = new LineChain({ ...known, epoch: 0 });
  let { bytes } = known;
  let file: number | undefined;
  const opened = (): number => (file ??= openSync(at.calls, 'a+', 0o644));
  return {
    async body(text) {
      const bytes = Buffer.from(text);
      if (bytes.length <= inlineBytes) return text;
      const hash = sha256(bytes);
      if (!existsSync(at.body(hash))) await writeFileAtomic(at.body(hash), bytes);
      return { sha256: hash, bytes: bytes.length };
    },
    append(exchange) {
      const line = Buffer.from(`${lineOf(exchange)}\n`);
      beforeWrite(at.calls);
      const to = opened();
      let written = 0;
      try {
        while (written < line.length) written += writeSync(to, line, written);
      } catch (error) {
        // Half a line would spoil the next one.
        if (written > 0) ftruncateSync(to, fstatSync(to).size - written);
        throw named(at.calls, error);
      }
      bytes += line.length;
      chain.add(line.subarray(0, -1), chain.mark().records + 1, 0);
    },
    mark: () => ({ ...chain.mark(), bytes }),
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

/** The mark of the whole lines of a file. */
export function markOf(calls: string): JournalMark {
  const chain = new LineChain();
  let end = 0;
  for (const { bytes, number, whole, end: after } of journalLines(calls)) {
    if (!whole) break;
    chain.add(bytes, number, 0);
    end = after;
  }
  return { ...chain.mark(), bytes: end };
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
    ...unreadableFile(`${at.calls} ${what}`, 'restore the file from a copy; nothing of it was used'),
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
  const read = exchangeSchema().safeParse(JSON.parse(text));
  if (!read.success) return `is not an exchange of this version (${schemaProblems(read.error)})`;
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
