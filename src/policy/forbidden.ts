/** What a work order forbids, as far as its words name paths: the rest is for the model to read. */
import { posix } from 'node:path';

/** The first entry that names one of the files `path` may be, undefined when none does. An entry names files when it is
 *  a path (a folder stands for all below it), a pattern (`*.lock`, `src/**`), or a plain sentence that begins with not
 *  touching them ("do not modify a.txt or src/*"). A sentence that says more than that ("… except its imports") is not
 *  enforced: it may allow what its paths alone would rule out. */
export function forbiddenBy(entries: readonly string[], path: string): string | undefined {
  return entries.find((entry) => named(entry).some((pattern) => matches(pattern, path)));
}

const verb =
  'touch|edit|modify|change|alter|update|write(?: to| in)?|create|add|delete|remove|rename|overwrite';
const sentence = new RegExp(
  `^(?:please )?(?:do not|don't|never|must not|may not)(?: be)? (?:${verb})(?:(?:,| or|,? and)? (?:${verb}))*(?: (?:the|any|a))?(?: (?:files?|folders?|director(?:y|ies)|paths?|anything|everything))?(?: (?:in|under|below|inside|called|named))?:? (.+)$`,
  'i',
);

/** Paths and patterns that an entry names. */
function named(entry: string): string[] {
  const text = entry.trim().replace(/[.!]$/, '');
  const whole = bare(text);
  if (whole !== undefined) return [whole];
  const rest = sentence.exec(text)?.[1];
  if (rest === undefined) return [];
  const words = rest.split(/\s*,\s*(?:and |or )?|\s+(?:and|or)\s+|\s+/).filter((word) => word !== '');
  const paths = words.map(bare);
  // A word without a dot or slash may be any word of the language.
  const are = paths.every((word) => word !== undefined && /[./*]/.test(word));
  return are ? paths.filter((word) => word !== undefined) : [];
}

/** A word that may be a path or a pattern, without the quotes around it. */
function bare(word: string): string | undefined {
  const text = word.replace(/^([`'"])(.*)\1$/s, '$2');
  return text === '' || /[\s`'"<>|]/.test(text) ? undefined : text;
}

function matches(pattern: string, path: string): boolean {
  const wanted = posix.normalize(pattern.replace(/^\.?\/+/, '')).replace(/\/+$/, '');
  if (wanted === '' || wanted === '.' || wanted.startsWith('..')) return false;
  if (!/[*?[{]/.test(wanted)) return path === wanted || path.startsWith(`${wanted}/`);
  const glob = compiled(wanted);
  // A pattern without a slash is about names at any depth, as in a .gitignore.
  const parts = path.split('/');
  const candidates = wanted.includes('/') ? parts.map((_, at) => parts.slice(0, at + 1).join('/')) : parts;
  return candidates.some((candidate) => glob.test(candidate));
}

/** `**` crosses folders, `*` and `?` do not; `[…]` and `{a,b}` as in a shell. */
function compiled(pattern: string): RegExp {
  let source = '';
  let depth = 0;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] ?? '';
    if (character === '*') {
      const stars = /^\*+/.exec(pattern.slice(at))?.[0].length ?? 1;
      at += stars - 1;
      if (stars > 1 && pattern[at + 1] === '/') {
        at += 1;
        source += '(?:[^/]+/)*';
      } else source += stars > 1 ? '.*' : '[^/]*';
    } else if (character === '?') source += '[^/]';
    else if (character === '[' && /^\[[!^]?[^\]]+\]/.test(pattern.slice(at))) {
      const set = /^\[([!^]?)([^\]]+)\]/.exec(pattern.slice(at));
      source += `[${set?.[1] ? '^' : ''}${(set?.[2] ?? '').replace(/[\\\]^]/g, '\\$&')}]`;
      at += (set?.[0].length ?? 1) - 1;
    } else if (character === '{') {
      depth += 1;
      source += '(?:';
    } else if (character === '}' && depth > 0) {
      depth -= 1;
      source += ')';
    } else if (character === ',' && depth > 0) source += '|';
    else source += character.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  }
  try {
    return new RegExp(`^${source}${')'.repeat(depth)}$`, 's');
  } catch {
    // A range that runs backwards, say: such a pattern names nothing.
    return /(?!)/;
  }
}
