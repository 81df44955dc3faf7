/** Identifies equal failures: their messages without the parts that differ between runs. Pure. */
import { createHash } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';

const inPath = '[^\\s\'"`:;,()[\\]{}<>]*';
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const temporaryPlaces = '(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm|run/user)';

/** In this order: longer and more specific patterns first. */
const replaced: readonly (readonly [RegExp, string])[] = [
  // The patterns below rescan a number from each of its digits: a very long one would take minutes.
  [/\d(?:[.,:]?\d){63,}/g, '#'],
  // Times in the formats of ISO 8601 and `date`.
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?/g, '#'],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|AM|PM)\b/g, '#'],
  // UUIDs, run ids, hex numbers, hex words with a digit.
  [/\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}|0x[0-9a-f]+)\b/gi, '#'],
  [/(?<![A-Za-z0-9_])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}(?![A-Za-z0-9_])/gi, '#'],
  // Numbers, also with a unit of time; a digit within a name stays.
  [
    /(?<![A-Za-z_])[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?(?: ?(?:[nµum]?s|sec|min|m|h|hour|second|minute|millisecond)s?\b)?/g,
    '#',
  ],
  [/#(?:[ \t,:.-]*#)+/g, '#'],
];

/** The message without colours, times, durations, numbers (a digit in a name stays), hex words, paths below folders
 *  for temporary files, of which `temporary` is one too, and extra white space. */
export function normalMessage(text: string, temporary = ''): string {
  const folder = temporary.replace(/\/+$/, '');
  // With "/" every path would be temporary.
  const places = folder === '' ? temporaryPlaces : `${temporaryPlaces}|(?<![\\w.-])${escaped(folder)}`;
  let plain = stripVTControlCharacters(text).replace(/\r\n?/g, '\n');
  plain = plain.replace(new RegExp(`(?:${places})/${inPath}`, 'g'), '<tmp>');
  for (const [what, by] of replaced) plain = plain.replace(what, by);
  return plain
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}

/** Characters at the end of a normalised output that count. */
const mostCounted = 4000;

type Signature = { readonly id: string; readonly head: string };

/** Equal for failures of the same node, class and command with the same message. `output` is the end of what the
 *  command printed, `temporary` the folder for temporary files, an absolute path. */
export function signatureOf(failure: {
  readonly node: string;
  readonly class: string;
  readonly command: string;
  readonly reason: string;
  readonly output: string;
  readonly temporary?: string;
}): Signature {
  const normal = (text: string): string => normalMessage(text, failure.temporary);
  const output = normal(failure.output).slice(-mostCounted);
  const parts = [failure.node, failure.class, normal(failure.command), normal(failure.reason), output];
  const id = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const line = output.split('\n').at(-1) ?? '';
  const head = [failure.reason.replace(/\s+/g, ' ').trim(), line].filter((part) => part !== '').join(': ');
  return { id, head: head.length > 200 ? `${head.slice(0, 199)}…` : head };
}

const leftovers: readonly RegExp[] = [
  /(?:^|\/)(?:\.git|\.factory|__pycache__|\.\w*cache|\.nyc_output|\.hypothesis|\.tox|\.turbo|coverage|htmlcov|logs?)(?:\/|$)/,
  /(?:^|\/)(?:\.coverage(?:\.[^/]*)?|coverage\.(?:xml|json|out|lcov)|lcov\.info|\.DS_Store|npm-debug\.log[^/]*)$/,
  /\.(?:pyc|pyo|log|tmp|swp|tsbuildinfo|profraw|gcda)$/,
];

/** Whether a change at this path may affect a failure: caches, logs, reports of tools and the engine's files do
 *  not. */
export const isRelevant = (path: string): boolean => !leftovers.some((leftover) => leftover.test(path));
