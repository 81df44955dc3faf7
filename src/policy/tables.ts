/** Cases that a test is run with: rows of a table in brackets, each of which is as good as a test. */

import type { FileChange } from './tampering.ts';
import type { Assertion, TestCode } from './test-code.ts';
import { howWeaker, identifiers } from './weaker.ts';

export type Table = {
  /** What it is called, without blanks. */
  readonly name: string;
  /** Its rows, without blanks and quotes of one kind. */
  readonly rows: readonly string[];
  /** 1-based. */
  readonly line: number;
};

/** Words before the bracket of a table. */
const opening =
  /(?:parametri[sz]e\([^[\n]{0,200}|\.each\s{0,9}\(|\bCsvSource\(|\bValueSource\([^{\n]{0,80}|\b\w{0,40}(?:cases|tests|table|examples)\w{0,40}\b[^=\n]{0,60}=[^[{\n"'=]{0,80})(?=[[{])/gi;
/** A row of a table of attributes. */
const attribute = /^\s*\[(?:InlineData|TestCase|DataRow|Arguments)(\(.*\))\]\s*$/;

/** Tables of one file, and signs of one, that are looked at. */
const mostTables = 200;
const mostOfTable = 64 * 1024;

/** The tables of a test. One whose brackets are never closed is none. */
export function tablesOf(text: string): Table[] {
  const tables = ofAttributes(text);
  for (const found of text.matchAll(opening)) {
    if (tables.length >= mostTables) break;
    const name = found[0].replace(/\s+/g, '');
    let start = found.index + found[0].length;
    // Go says first what a row is.
    const type = /^(?:\[\]|map\[\w+\])(?:struct\s*\{[^}]*\}|[\w.*]+)\s*\{/.exec(
      text.slice(start, start + 2000),
    );
    if (type !== null) start += type[0].length - 1;
    const rows = rowsAt(text, start) ?? [];
    tables.push({ name, rows, line: text.slice(0, found.index).split('\n').length });
  }
  return tables;
}

function ofAttributes(text: string): Table[] {
  const tables: Table[] = [];
  let rows: string[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    const row = attribute.exec(line)?.[1];
    if (row !== undefined) rows.push(bare(row));
    else if (/\(/.test(line)) {
      // The method that the rows above are for; one without any may have had some.
      const name = /\b(\w+)\s*\(/.exec(line)?.[1];
      if (name !== undefined && (rows.length > 0 || /\bpublic\b/.test(line)))
        tables.push({ name: `${name}()`, rows, line: at + 1 });
      rows = [];
    }
    if (tables.length >= mostTables) break;
  }
  return tables;
}

function rowsAt(text: string, open: number): string[] | undefined {
  const rows: string[] = [];
  let depth = 0;
  let quote = '';
  let row = '';
  const put = () => {
    if (row.trim() !== '') rows.push(bare(row));
    row = '';
  };
  for (let at = open; at < Math.min(text.length, open + mostOfTable); at++) {
    const sign = text[at] ?? '';
    if (quote !== '') {
      row += sign;
      if (sign === '\\') row += text[++at] ?? '';
      else if (sign === quote) quote = '';
      continue;
    }
    if (sign === '"' || sign === "'" || sign === '`') quote = sign;
    if ('[{('.includes(sign) && ++depth === 1) continue;
    if (']})'.includes(sign) && --depth === 0) {
      put();
      return rows;
    }
    if (sign === ',' && depth === 1) put();
    else row += sign;
  }
  return undefined;
}

/** Tables that have lost rows and got none: what went, and where. Not where the lost row `stands` somewhere else. */
export function lostRows(
  before: string,
  after: string,
  stands: (row: string) => boolean,
): { readonly row: string; readonly line: number }[] {
  const now = tablesOf(after);
  const lost: { row: string; line: number }[] = [];
  const seen = new Map<string, number>();
  for (const { name, rows } of tablesOf(before)) {
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    const is = now.filter((one) => one.name === name)[nth];
    if (is === undefined || is.rows.length >= rows.length) continue;
    const had = new Set(rows);
    if (!is.rows.every((row) => had.has(row))) continue;
    const has = new Set(is.rows);
    const row = rows.find((one) => !has.has(one) && !stands(one) && isCase(name, one));
    if (row !== undefined) lost.push({ row, line: is.line });
  }
  return lost;
}

/** A table without another word may be one of a database: there a name is no case. */
const isCase = (name: string, row: string): boolean =>
  !/table/i.test(name) || /case|test|example/i.test(name) || /[[({]/.test(row);

/** Texts as rows are compared with them. */
export const bare = (text: string): string => text.replace(/\s+/g, '').replace(/['`]/g, '"');

/** Words of loops over cases. */
const tables =
  /\bfor\b|\.each\b|forEach|parametri[sz]e|ParameterizedTest|CsvSource|ValueSource|InlineData|TestCase\(|subTest|rstest/g;

/** Whether a new assertion about the same things stands in a table of cases that was not there before, and whether that has
 *  the values that were compared. */
export function inTable(
  one: Assertion,
  was: TestCode,
  is: TestCode,
  { before = '', after = '' }: FileChange,
): 'perhaps' | 'with its values' | undefined {
  if ((after.match(tables) ?? []).length <= (before.match(tables) ?? []).length) return undefined;
  const had = new Set(was.assertions.map(({ key }) => key));
  const own = new Set(identifiers(one.text));
  const stands = is.assertions.some(
    (other) =>
      !had.has(other.key) &&
      howWeaker(one.text, other.text) === undefined &&
      identifiers(other.text).some((name) => own.has(name)),
  );
  if (!stands) return undefined;
  const values = one.text.match(/-?\d+(?:\.\d+)?|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g) ?? [];
  const rows = bare(after.slice(firstDifference(before, after)));
  return values.length > 0 && values.every((value) => rows.includes(bare(value)))
    ? 'with its values'
    : 'perhaps';
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}
