/** The lines of sealed files, without licences; those that any file might have are told from the others. */
import { isUtf8 } from 'node:buffer';
import type { SealedFile } from '../model/sealed.ts';

export type SealedLine = {
  /** 0-based number of the file in the list given. */
  readonly file: number;
  /** 1-based. */
  readonly line: number;
  /** Without blanks around it. */
  readonly text: string;
  /** Whether any file might have it: an import, a setting of a linter, the head of a function. */
  readonly usual: boolean;
};

/** A file's text; undefined for a binary one, a link or a folder. UTF-16 with its mark counts as text. */
export function textOf(file: SealedFile): string | undefined {
  if (file.kind !== 'file') return undefined;
  const { content } = file;
  if (content[0] === 0xff && content[1] === 0xfe) return content.toString('utf16le').slice(1);
  if (content.subarray(0, 8192).includes(0) || !isUtf8(content)) return undefined;
  return content.toString('utf8');
}

/** Lines that are not blank and belong to nobody else. */
export function linesOf(files: readonly SealedFile[]): SealedLine[] {
  const found: SealedLine[] = [];
  for (const [file, sealed] of files.entries()) {
    const text = textOf(sealed);
    if (text === undefined || licenceFile.test(sealed.path)) continue;
    const lines = text.split(/\r\n|\n|\r/);
    const foreign = licenceLines(lines);
    for (const [index, line] of lines.entries()) {
      const trimmed = line.trim();
      if (trimmed === '' || foreign.has(index)) continue;
      found.push({ file, line: index + 1, text: trimmed, usual: isBoilerplate(trimmed) });
    }
  }
  return found;
}

const licenceFile = /(?:^|\/)(?:licen[cs]e|copying|notice|unlicense)(?:[.-][^/]*)?$/i;

const licenceWords =
  /\bcopyright\b|\(c\)\s*\d{4}|©|spdx-|\blicen[cs]ed?\b|\bpermission is hereby\b|\bwithout warrant|\bredistribut|\bas is\b.*\bbasis\b|\bmerchantability\b|\ball rights reserved\b|\bnoninfringement\b/i;

/** A comment's sign, or none in a licence that stands by itself. */
const commentSign = /^(?:#|\/\/|\/\*|\*|--|;|%|"""|'''|<!--|rem\b|dnl\b)/i;

/** Lines of blocks that speak of a licence: of the comment that a file begins with all, further down each paragraph. */
function licenceLines(lines: readonly string[]): Set<number> {
  const foreign = new Set<number>();
  const sweep = (from: number, to: number) => {
    for (let at = from; at < to; at++) foreign.add(at);
  };
  let head = 0;
  let inBlock = false;
  for (; head < lines.length; head++) {
    const line = (lines[head] ?? '').trim();
    if (inBlock || line === '' || commentSign.test(line)) {
      if (/^\/\*|^<!--/.test(line)) inBlock = true;
      if (/\*\/|-->/.test(line)) inBlock = false;
    } else break;
  }
  if (head < lines.length || lines.length < 80) {
    const text = lines.slice(0, head).join('\n');
    if (licenceWords.test(text)) {
      // A marker or a sentence of the author's own may follow in a comment of its own.
      let last = 0;
      for (let at = 0; at < head; at++) if (licenceWords.test(lines[at] ?? '')) last = at;
      let end = last + 1;
      while (end < head && (lines[end] ?? '').replace(/[\s#/*;%-]/g, '') !== '') end++;
      sweep(0, end);
    }
  }
  for (let from = 0; from < lines.length; from++) {
    let to = from;
    while (to < lines.length && isProse(lines[to] ?? '')) to++;
    if (to > from && licenceWords.test(lines.slice(from, to).join(' '))) sweep(from, to);
    from = to;
  }
  return foreign;
}

/** A line of a comment with words in it. */
const isProse = (line: string): boolean =>
  commentSign.test(line.trim()) && /[a-z]{2}/i.test(line) && !/canary:/i.test(line);

const boilerplate: readonly RegExp[] = [
  /^#!/,
  /^set\s+[-+]/,
  /^shopt\s/,
  /^(?:import|from|use|using|package|#include|#import|#pragma|require_relative|extern crate|source|\.)\s/,
  /^(?:const|let|var|import)\s.*\brequire\(['"][^'"]+['"]\)\S*;?$/,
  /^}?\s*from\s+['"][^'"]+['"];?$/,
  /^require\s*\(?['"]/,
  /^export\s+(?:\*|\{[^}]*\})\s+from\s/,
  /\b(?:shellcheck|eslint-|prettier-|biome-|pylint:|noqa|pragma:|ts-expect-error|ts-ignore|type:\s*ignore|nolint|rubocop:|coding[:=]|checkstyle|stylelint|istanbul|c8 ignore|v8 ignore|vim?:)/,
  /json-schema\.org|www\.w3\.org|xmlns|<!doctype/i,
  // A name and what it takes: what is called alike is not copied.
  /^(?:(?:export|default|async|pub(?:\(crate\))?|public|private|protected|internal|static|final|override|abstract|suspend|open)\s+)*(?:def|function\*?|func|fn|fun|class|interface|struct|enum|trait|impl|module|namespace|describe|void|int)\b[^"'`]*[{:;(]?$/,
  /^[A-Za-z_]\w*\s*\(\)\s*\{?$/,
  /^["']?use strict["']?;?$/,
];

const isBoilerplate = (line: string): boolean => boilerplate.some((pattern) => pattern.test(line));
