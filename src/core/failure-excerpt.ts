/** What the next agent, and a person, is shown of a failed program's output. Pure. */
import { stripVTControlCharacters } from 'node:util';

export type ExcerptSetting = {
  /** Bytes of the excerpt; default 8 KiB. */
  readonly most?: number;
  /** Where the whole output is; named when part of it is left out. */
  readonly whole?: string;
};

/** Default length of an excerpt in bytes. */
const mostOfStream = 8192;

/** Bytes of an output that are searched for what failed. */
export const mostReadOfStream = 8 * 1024 * 1024;

/** Bytes of one line. */
const mostOfLine = 600;
/** Bytes that a mark of a gap takes. */
const markBytes = 22;

/** The output without control codes, of an overwritten line what stood there last. Where it is longer than `most`: the lines
 *  that say what failed with what stands around them, then the beginning and the end, with every gap marked. */
export function failureExcerpt(output: string, { most = mostOfStream, whole }: ExcerptSetting = {}): string {
  const text = plainText(output);
  const bytes = Buffer.byteLength(text);
  if (bytes <= most) return text;
  const lines = text.split('\n').map(shortened);
  const kinds = lines.map(says);
  const where = whole === undefined ? '' : `; the whole output is in ${whole}`;
  const title = `[beginning and end of ${bytes} bytes${where}]`;
  const failing = '[lines that say what failed]';
  const room = most - Buffer.byteLength(title) - failing.length - 4;
  const excerpt = chosen(lines, kinds, room);
  const rest = headAndTail(lines, excerpt.indices, room - excerpt.bytes);
  return [
    ...(excerpt.indices.size === 0 ? [] : [failing, ...withGaps(lines, excerpt.indices)]),
    title,
    ...withGaps(lines, rest, excerpt.indices),
  ].join('\n');
}

/** An error by its name, as many languages print it: `AssertionError [ERR_X]: …`, `java.io.IOException: …`. */
const namedError = /^\s*(?:[\w.$]*(?:Error|Exception))\b.*:\s*\S/;

/** The one line of an output that most says what failed, trimmed; undefined where none does. */
export function failureLine(output: string): string | undefined {
  const lines = plainLines(output);
  const at = mostTelling(lines, lines.map(says));
  return at === undefined ? undefined : lines[at]?.trim().replace(/^\|\s+/, '');
}

function mostTelling(lines: readonly string[], kinds: readonly Says[]): number | undefined {
  const headline = kinds.indexOf('headline');
  return [
    headline === -1 ? -1 : (exceptionBelow(lines, headline) ?? headline),
    lines.findIndex((line, at) => kinds[at] === 'evidence' && namedError.test(line)),
    kinds.indexOf('evidence'),
  ].find((at) => at !== -1);
}

/** The head of a Python traceback, also of one in a group of exceptions or in a log. */
const traceback = /^([\s|+]*)(?:Exception Group )?Traceback \(most recent call last\):/;
const chained = /^[\s|+]*(?:During handling of the above|The above) exception\b/;
const marginOf = (line: string): number => /^[\s|+]*/.exec(line)?.[0].length ?? 0;

/** The line with the exception below a traceback's head: the first that is indented no deeper. Of exceptions that led to each
 *  other it is the last one's, which ended the program. Undefined for a line that heads no traceback, or one that is cut. */
function exceptionBelow(lines: readonly string[], head: number): number | undefined {
  const found = traceback.exec(lines[head] ?? '');
  if (found === null) return undefined;
  const [, { length } = ''] = found;
  // The head of a group may have lost its margin; the frames below it have two more.
  const margin = /Group/.test(found[0]) ? Math.max(length, marginOf(lines[head + 1] ?? '') - 2) : length;
  const isText = (line: string) => line.slice(marginOf(line)) !== '';
  const own = lines.findIndex((line, at) => at > head && isText(line) && marginOf(line) <= margin);
  if (own === -1) return undefined;
  const link = lines.findIndex((line, at) => at > own && (chained.test(line) || traceback.test(line)));
  if (link === -1 || !chained.test(lines[link] ?? '')) return own;
  const next = lines.findIndex((line, at) => at > link && traceback.test(line));
  return next === -1 ? own : (exceptionBelow(lines, next) ?? own);
}

/** The lines of an output without colours, and of a line that was written over its last state. */
export const plainLines = (output: string): string[] =>
  stripVTControlCharacters(output).replace(/\r\n/g, '\n').split('\n').map(lastState);
const plainText = (output: string): string => plainLines(output).join('\n').trim();

function lastState(line: string): string {
  if (!line.includes('\r')) return line;
  const written = line.replace(/\r+$/, '');
  return written.slice(written.lastIndexOf('\r') + 1);
}

/** The part of a long line around what it says of a failure. */
function shortened(line: string): string {
  if (line.length * 3 <= mostOfLine || Buffer.byteLength(line) <= mostOfLine) return line;
  const characters = [...line];
  // A character has at most four bytes.
  const shown = characters.length === Buffer.byteLength(line) ? mostOfLine - 60 : (mostOfLine - 60) / 4;
  const at = [...line.slice(0, evidenceAt(line))].length;
  const from = at < shown / 2 ? 0 : Math.min(at - Math.floor(shown / 4), characters.length - shown);
  const left = (count: number) => (count <= 0 ? '' : `[… ${count} characters …]`);
  const part = characters.slice(from, from + shown).join('');
  return `${left(from)}${part}${left(characters.length - from - shown)}`;
}

/** Lines after and before a headline or evidence that belong to it. */
const reach = { after: 30, before: 5, contextAfter: 10, contextBefore: 3, heading: 40 } as const;

/** The part of the room that is kept for beginning and end, and that the headlines alone may take. */
const share = { rest: 0.2, weakRest: 0.5, headlines: 0.5 } as const;

/** Ranks of lines, the smallest first. */
const rank = { headline: 0, repeated: 1, near: 2, heading: 3, context: 4, evidence: 6, its: 7 } as const;

/** The indices of the lines that say what failed, as many as have room: names of failures first, then their values and places,
 *  then what stands around them, the nearest first. */
function chosen(
  lines: readonly string[],
  kinds: readonly Says[],
  room: number,
): { readonly indices: ReadonlySet<number>; readonly bytes: number } {
  const ranked = [...ranksOf(lines, kinds)].sort(([a, x], [b, y]) => x - y || a - b);
  const indices = new Set<number>();
  let bytes = 0;
  for (const [index, order] of ranked) {
    const most =
      order <= rank.repeated ? share.headlines : 1 - (order < rank.evidence ? share.rest : share.weakRest);
    const joined = Number(indices.has(index - 1)) + Number(indices.has(index + 1));
    const cost = Buffer.byteLength(lines[index] ?? '') + 1 + (1 - joined) * markBytes;
    if (bytes + cost > room * most) continue;
    indices.add(index);
    bytes += cost;
  }
  return { indices, bytes: indices.size === 0 ? 0 : bytes + markBytes };
}

/** The rank of every line that may be shown as part of a failure. */
function ranksOf(lines: readonly string[], kinds: readonly Says[]): ReadonlyMap<number, number> {
  const ranks = new Map<number, number>();
  const give = (index: number, order: number): void => {
    const kind = kinds[index];
    if (kind === undefined || kind === 'passed' || kind === 'frame') return;
    if (order < (ranks.get(index) ?? Number.POSITIVE_INFINITY)) ranks.set(index, order);
  };
  const seen = new Set<string>();
  for (const [index, kind] of kinds.entries()) {
    if (kind !== 'headline') continue;
    // Lines that differ in numbers only give way to others.
    const form = (lines[index] ?? '').replace(/\d+(?:\.\d+)?/g, '#').trim();
    const again = seen.has(form);
    seen.add(form);
    give(index, again ? rank.repeated : rank.headline);
    around(index, kinds, (near, distance) => {
      const tells = kinds[near] === 'evidence' || kinds[near] === 'place';
      if (tells) give(near, rank.near + (again ? 0.5 : 0));
      else if (distance <= (near > index ? reach.contextAfter : reach.contextBefore))
        give(near, rank.context + distance / 100 + (again ? 0.5 : 0));
    });
    const heading = headingOf(lines, index);
    if (heading !== undefined) give(heading, rank.heading);
  }
  for (const [index, kind] of kinds.entries()) {
    if (kind !== 'evidence') continue;
    give(index, rank.evidence);
    const heading = headingOf(lines, index);
    if (heading !== undefined)
      give(heading, (ranks.get(index) ?? 0) >= rank.evidence ? rank.its : rank.heading);
    for (const near of [index - 1, index + 1, index + 2]) give(near, rank.its);
  }
  return ranks;
}

/** Visits the lines around a headline, up to the next one. */
function around(
  index: number,
  kinds: readonly Says[],
  visit: (near: number, distance: number) => void,
): void {
  for (let distance = 1; distance <= reach.after; distance++) {
    const near = index + distance;
    if (near >= kinds.length || kinds[near] === 'headline') break;
    visit(near, distance);
  }
  for (let distance = 1; distance <= reach.before; distance++) {
    const near = index - distance;
    if (near < 0 || kinds[near] === 'headline') break;
    visit(near, distance);
  }
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** The line under which an indented line stands: the file of a linter's finding, the name of a test. */
function headingOf(lines: readonly string[], index: number): number | undefined {
  const own = indentOf(lines[index] ?? '');
  if (own === 0) return undefined;
  for (let at = index - 1; at >= Math.max(0, index - reach.heading); at--) {
    const line = lines[at] ?? '';
    if (line.trim() !== '' && indentOf(line) < own) return at;
  }
  return undefined;
}

/** The indices of lines at the beginning (a third) and the end that are not shown yet. */
function headAndTail(
  lines: readonly string[],
  shown: ReadonlySet<number>,
  room: number,
): ReadonlySet<number> {
  const indices = new Set<number>();
  const take = (from: number, by: 1 | -1, most: number): number => {
    let left = most;
    for (let at = from; at >= 0 && at < lines.length; at += by) {
      if (shown.has(at)) continue;
      const alone = shown.has(at - by) ? markBytes : 0;
      left -= Buffer.byteLength(lines[at] ?? '') + 1 + alone;
      if (left < 0 || indices.has(at)) break;
      indices.add(at);
    }
    return left;
  };
  take(0, 1, room / 3 - markBytes);
  take(lines.length - 1, -1, (room * 2) / 3 - markBytes);
  return indices;
}

/** The lines with marks where some are left out; `above`: those that are shown already. */
function withGaps(
  lines: readonly string[],
  indices: ReadonlySet<number>,
  above: ReadonlySet<number> = new Set(),
): readonly string[] {
  const shown: string[] = [];
  let next = 0;
  const gap = (from: number, to: number): void => {
    let left = 0;
    for (let at = from; at < to; at++) if (!above.has(at) && (lines[at] ?? '').trim() !== '') left++;
    if (left > 0) shown.push(`[… ${left} line${left === 1 ? '' : 's'} …]`);
  };
  for (const index of [...indices].sort((a, b) => a - b)) {
    gap(next, index);
    shown.push(lines[index] ?? '');
    next = index + 1;
  }
  gap(next, lines.length);
  return shown;
}

/* Recognises the lines of a program's output that say what failed, by words and marks that test runners, compilers and
 *  logs share. Pure. */

/** What a line says of a failure: `headline` names one, `evidence` has its cause or its values, `place` where it is;
 *  `frame` is a stack frame in code of others, `passed` reports a success. */
type Says = 'headline' | 'evidence' | 'place' | 'frame' | 'passed' | 'nothing';

const failingMark = '[✖✗✘✕×❌⨯●]';
const passingMark = '[✔✓√☑✅]';

/** `ok 3 - rejects an error` and `test fails_early ... ok` are successes whatever their names are. */
const passed = new RegExp(
  `^\\s*(?:ok\\b|${passingMark}|PASS(?:ED)?\\b|-+ PASS\\b)|(?:\\.\\.\\. ?|\\s)(?:ok|PASSED|passed|PASS)\\s*(?:\\[[^\\]]*\\]|\\([^)]*\\))?\\s*$`,
);

const failureWords = 'fail(?:s|ed|ing|ures?)?|errors?|panics?|problems?|exceptions?';
/** Counts of nothing: `0 failed`, `no errors`, `failures=0`, `fail 0`. */
const noFailure = new RegExp(
  `\\b(?:0|no|without)\\s+(?:\\w+\\s+)?(?:${failureWords})\\b|\\b(?:${failureWords})\\s*[:=]?\\s*0\\b(?![.:])`,
  'gi',
);

const headlines: readonly RegExp[] = [
  // The line begins with the word, after marks at most: `not ok 3`, `--- FAIL: TestAdd`, `ERROR: x`, `error[E0308]: x`.
  /^[\W_]*(?:not ok|fail(?:ed|ure)?|fatal|panic|(?:exception group )?traceback|unhandled|uncaught)\b/i,
  // An indented `error: x` is a field of a report.
  /^[\W_]*(?:Error|ERROR)\b|^error\b/,
  new RegExp(`^\\s*${failingMark}`),
  // In capitals anywhere: `test adds ... FAILED`, `12:01:07 ERROR no column`.
  /\b(?:FAIL(?:ED|URE)?|ERROR|FATAL|PANIC|CRITICAL)\b/,
  /\bpanicked at\b/,
  // After a place: `a.c:3:5: error: x`, `a.ts(3,5): error TS2322: x`, `3:5  error  x`.
  /(?:[:)]|\d)\s+(?:fatal )?error\b/i,
];

const evidence =
  /^npm ERR!|error|exception|fail|assert|panic|abort|fatal|expect|actual|received|\bgot\b|\bwant(?:ed)?\b|\b(?:left|right):|mismatch|undefined|not found|no such|cannot|can't|no rule to make|parameter not set|unbound variable|unable|denied|refused|invalid|missing|unresolved|segmentation|timed? ?out|!=|^E\s{2,}\S/i;

const place =
  /[\w)\]-]\.\w{1,8}(?::\d+|\(\d+)|"[^"]+", line \d+|\bline \d+\b|^\s*(?:-->|❯|at )\s*\S+[.:/]\S*/;

/** What npm adds below the output of a script or of a failed call: facts about the call, and advice. */
const npmNoise =
  /^npm (?:ERR!|error)\s*(?:$|(?:code|errno|syscall|path|dest|command|signal|workspace|location|cwd)\b|(?:A complete log|This is probably not|There is likely additional|Exit status|Failed at the|Lifecycle script|in workspace|[A-Za-z]:\\|\/)|enoent This is related)/i;

/** The script that npm starts, and advice of Node. */
const banner = /^> [\w@./:-]+(?: [\w./:-]+)?\s*$|^\(Use `node --/;

/** Stack frames of runtimes and packages. */
const frame =
  /^\s*(?:(?:at|❯|from|File)\s|(?:async )?[\w.$<>]+ \()[^"']*["']?(?:node:|.*node_modules|.*site-packages|.*dist-packages|.*\/lib\/python|.*\/usr\/lib|.*\/rustc\/|.*\.cargo\/|<frozen)/;

/** Characters of a line that are looked at. */
const mostLooked = 2000;

/** What a line without control codes says. */
function says(line: string): Says {
  const text = line.length > mostLooked ? line.slice(0, mostLooked) : line;
  if (text.trim() === '') return 'nothing';
  if (npmNoise.test(text) || banner.test(text)) return 'nothing';
  if (passed.test(text)) return 'passed';
  if (frame.test(text)) return 'frame';
  const real = text.replace(noFailure, '');
  if (headlines.some((one) => one.test(real))) return 'headline';
  if (evidence.test(real)) return 'evidence';
  return place.test(real) ? 'place' : 'nothing';
}

/** Where in a line its evidence begins; 0 without any. */
const evidenceAt = (line: string): number => Math.max(0, line.search(evidence));
