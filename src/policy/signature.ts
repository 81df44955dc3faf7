/** What two failures have in common: their messages without all that differs from run to run. Pure. */
import { createHash } from 'node:crypto';

const esc = String.fromCharCode(27);
const bell = String.fromCharCode(7);
const colours = new RegExp(
  `${esc}\\][^${bell}${esc}]*(?:${bell}|${esc}\\\\)|${esc}\\[[0-9;?]*[ -/]*[@-~]|${esc}[@-Z\\\\-_]`,
  'g',
);
const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:[a-z]*day)?';
const months =
  '(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)';
const zone = '(?: ?(?:Z|UTC|GMT|[A-Z]{3,4}(?=\\s+\\d{4}\\b)|[+-]\\d{2}:?\\d{2})\\b)?';
const clock = `\\d{1,2}:\\d{2}:\\d{2}(?:[.,]\\d+)?(?: ?[AaPp][Mm]\\b)?${zone}`;

const inPath = '[^\\s\'"`:;,()[\\]{}<>]*';
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** In this order: what is longer and tells more of itself goes before its parts. */
const replaced: readonly (readonly [RegExp, string])[] = [
  // What follows reads a number from each of its digits: of one without an end that would take minutes.
  [/\d(?:[.,:]?\d){63,}/g, '#'],
  [new RegExp(`(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm|run/user)/${inPath}`, 'g'), '<tmp>'],
  [/\b(?:tmp|temp)[._-]?(?=\w*\d)\w{4,}\b/gi, '<tmp>'],
  [new RegExp(`\\b\\d{4}[-/]\\d{2}[-/]\\d{2}(?:[T ]${clock})?`, 'g'), '<time>'],
  [
    new RegExp(
      `\\b(?:${days},? )?(?:${months} +\\d{1,2}|\\d{1,2}[ -]${months})(?:,? +\\d{4})?(?:,? +${clock})?(?: +\\d{4}\\b)?`,
      'g',
    ),
    '<time>',
  ],
  [new RegExp(`\\b${clock}`, 'g'), '<time>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '#'],
  [/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '#'],
  [/\b0x[0-9a-f]+\b/gi, '#'],
  [/(?<![A-Za-z0-9_])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}(?![A-Za-z0-9_])/gi, '#'],
  [
    /(?<![A-Za-z_])[-+]?\d+(?:[.,]\d+)* ?(?:[nµum]?s|secs?|seconds?|mins?|minutes?|m|hrs?|hours?|h|milliseconds?)\b/g,
    '<took>',
  ],
  [/<took>(?:[ ,]*<took>)+/g, '<took>'],
  [/(?<![A-Za-z_])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?/g, '#'],
  [/#(?::#)+/g, '#'],
];

/** Characters of the end of a message that count. */
const mostCounted = 4000;

/** The message without colours, times, durations, numbers (a digit that belongs to a name stays), hex words, places below
 *  folders for temporary files, of which `temporary` is one too, and superfluous blanks. */
export function normalMessage(text: string, temporary = ''): string {
  let plain = text.replace(colours, '').replace(/\r\n?/g, '\n');
  const folder = temporary.replace(/\/+$/, '');
  // Of "/" all would be temporary.
  const own: typeof replaced =
    folder === '' ? [] : [[new RegExp(`(?<![\\w.-])${escaped(folder)}/${inPath}`, 'g'), '<tmp>']];
  for (const [what, by] of [...own, ...replaced]) plain = plain.replace(what, by);
  return plain
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}

export type Signature = { readonly id: string; readonly head: string };

/** What a failure is told by: equal for two that are alike. `output` is the end of what was printed, `temporary` the folder
 *  for temporary files, as an absolute path. */
export function signatureOf(failure: {
  readonly node: string;
  readonly class: string;
  readonly command: string;
  readonly reason: string;
  readonly output: string;
  readonly temporary?: string;
}): Signature {
  const { node, class: of, command } = failure;
  const normal = (text: string): string => normalMessage(text, failure.temporary);
  const reason = normal(failure.reason);
  const output = normal(failure.output).slice(-mostCounted);
  const id = createHash('sha256')
    .update(JSON.stringify([node, of, normal(command), reason, output]))
    .digest('hex');
  const line = output.split('\n').at(-1) ?? '';
  const head = [failure.reason.replace(/\s+/g, ' ').trim(), line].filter((part) => part !== '').join(': ');
  return { id, head: head.length > 200 ? `${head.slice(0, 199)}…` : head };
}

const leftovers: readonly RegExp[] = [
  /^\.factory(?:\/|$)/,
  /(?:^|\/)\.git(?:\/|$)/,
  /(?:^|\/)(?:__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.cache|\.nyc_output|\.hypothesis|\.tox|\.turbo|coverage|htmlcov|logs?)(?:\/|$)/,
  /(?:^|\/)(?:\.coverage(?:\.[^/]*)?|coverage\.(?:xml|json|out|lcov)|lcov\.info|\.DS_Store|\.eslintcache|npm-debug\.log[^/]*)$/,
  /\.(?:pyc|pyo|log|tmp|swp|tsbuildinfo|profraw|gcda)$/,
];

/** Whether a change at this path may have changed anything about a failure: not what tools leave behind by themselves, nor
 *  what the engine keeps. */
export const isRelevant = (path: string): boolean => !leftovers.some((leftover) => leftover.test(path));
