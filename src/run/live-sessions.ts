/** `.sessions/`: the sessions of agents at work, one file an execution, for people who watch from another process. Written by the
 *  run's owner out of the nodes' reach. No record: the artifacts of an execution have its session. */
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '../core/json.ts';
import { layout } from '../core/records/layout.ts';
import { type SessionLine, sessionLineSchema } from '../core/records/session.ts';
import { mayWrite } from '../platform/files/fence.ts';
import { readPart } from '../platform/files/read.ts';
import { makeFolder, removeFile, removeNow } from '../platform/files/write.ts';
import { readLine } from './journal-read.ts';

/** Characters of one text of a line, and bytes of one file: what is cut here is whole in the artifacts. */
const mostOfText = 64 * 1024;
const mostOfFile = 64 * 1024 * 1024;

type Execution = { readonly node: string; readonly visit: number };

const pathOf = (runDir: string, { node, visit }: Execution): string =>
  join(layout(runDir).sessions, `${node}@${visit}.jsonl`);

export interface LiveSessions {
  /** Adds a line, which is masked; answers how many bytes the session has now. */
  add(of: Execution, line: SessionLine): number;
  /** The execution has ended: its artifacts have its session. */
  end(of: Execution): void;
  close(): void;
}

type OpenFile = { readonly file: number; bytes: number };

/** For the owner of a run. A line that cannot be written is lost: the run does not depend on it. */
export function openLiveSessions(runDir: string): LiveSessions {
  const folder = layout(runDir).sessions;
  const open = new Map<string, OpenFile>();
  let isMade = false;
  const leave = (path: string): void => {
    const found = open.get(path);
    if (found !== undefined) closeSync(found.file);
    open.delete(path);
  };
  const started = (path: string): OpenFile => {
    if (!isMade) makeFolder(folder);
    isMade = true;
    leave(path);
    removeNow(path);
    const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
    const one = { file: openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0o644), bytes: 0 };
    open.set(path, one);
    return one;
  };
  return {
    add(of, line) {
      const path = pathOf(runDir, of);
      if (!mayWrite(path)) return 0;
      try {
        const known = line.type === 'start' ? undefined : open.get(path);
        const one = known ?? started(path);
        if (one.bytes < mostOfFile) one.bytes += writeSync(one.file, `${JSON.stringify(bounded(line))}\n`);
        return one.bytes;
      } catch {
        leave(path);
        return 0;
      }
    },
    end(of) {
      const path = pathOf(runDir, of);
      if (!open.has(path)) return;
      leave(path);
      if (mayWrite(path)) removeFile(path);
    },
    close() {
      for (const path of [...open.keys()]) leave(path);
      if (isMade && mayWrite(folder)) removeNow(folder);
    },
  };
}

/** Removes what a killed owner has left. */
export function removeLiveSessions(runDir: string): void {
  removeNow(layout(runDir).sessions);
}

/** The line with long texts cut: it is masked already, so that no part of a secret is left at a cut. */
function bounded(line: SessionLine): SessionLine {
  switch (line.type) {
    case 'text':
    case 'reasoning':
    case 'note':
      return { ...line, text: cutText(line.text) };
    case 'call':
      return line.arguments === undefined || JSON.stringify(line.arguments).length <= mostOfText
        ? line
        : { ...line, arguments: cutText(JSON.stringify(line.arguments, null, 2)) };
    case 'result':
      return line.output === undefined ? line : { ...line, output: cutText(line.output) };
    default:
      return line;
  }
}

/** Beginning and end of a long text, with a note between. */
export function cutText(text: string, most = mostOfText): string {
  if (text.length <= most) return text;
  const first = Math.floor(most / 2);
  const whole = (part: string): string => part.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
  const left = text.length - 2 * first;
  return `${whole(text.slice(0, first))}\n[… ${left} characters are not shown …]\n${whole(text.slice(-first))}`;
}

/** Bytes that are read at once. */
const pieceBytes = 1024 * 1024;

/** The lines of an execution at work so far; undefined where it has none. A line that is being written is left out. */
export function liveSessionOf(runDir: string, of: Execution): readonly SessionLine[] | undefined {
  const path = pathOf(runDir, of);
  const lines: SessionLine[] = [];
  let rest: Buffer = Buffer.alloc(0);
  for (let at = 0; ; ) {
    const part = readPart(path, at, at + pieceBytes);
    if (part === undefined) return undefined;
    if (part.bytes.length === 0 || at > mostOfFile + mostOfText * 4) return lines;
    at += part.bytes.length;
    rest = Buffer.concat([rest, part.bytes]);
    let from = 0;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10, from)) {
      const line = lineIn(rest.subarray(from, end));
      if (line !== undefined) lines.push(line);
      from = end + 1;
    }
    rest = rest.subarray(from);
  }
}

function lineIn(bytes: Buffer): SessionLine | undefined {
  const read: { readonly record: JsonObject } | object = readLine(bytes);
  return 'record' in read ? sessionLineSchema().safeParse(read.record).data : undefined;
}
