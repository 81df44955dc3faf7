/** Applies edits and unified diffs to a text: exactly, or not at all. Pure. */

export type Applied = { readonly text: string } | { readonly problem: string };

/** Replaces texts, one after the other; each must be in the text exactly once. */
export function applyEdits(
  text: string,
  edits: readonly { readonly find: string; readonly replace: string }[],
): Applied {
  let now = text;
  for (const [n, edit] of edits.entries()) {
    const which = edits.length === 1 ? 'the edit' : `edit ${n + 1} of ${edits.length}`;
    const [find, replace] = [withEndsOf(text, edit.find), withEndsOf(text, edit.replace)];
    if (find === '') return { problem: `${which} has an empty "find"` };
    const at = now.indexOf(find);
    if (at < 0)
      return { problem: `${which} does not apply: its "find" is nowhere in the file${near(now, find)}` };
    const again = now.indexOf(find, at + 1);
    if (again >= 0) {
      const lines = `lines ${lineAt(now, at)} and ${lineAt(now, again)}`;
      return {
        problem: `${which} is ambiguous: its "find" is at ${lines}; take more of the lines around it`,
      };
    }
    now = now.slice(0, at) + replace + now.slice(at + find.length);
  }
  return { text: now };
}

/** A file whose lines all end in CR LF is edited as if they ended in LF. */
const withEndsOf = (text: string, piece: string): string =>
  isCrLf(text) && !piece.includes('\r') ? piece.replaceAll('\n', '\r\n') : piece;
const isCrLf = (text: string): boolean => text.includes('\r\n') && !/(?<!\r)\n/.test(text);

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** Where the first line of a text is that was not found, apart from blanks. */
function near(text: string, find: string): string {
  const wanted = find.trim().split('\n')[0]?.trim() ?? '';
  const at = wanted === '' ? -1 : text.split('\n').findIndex((line) => line.trim() === wanted);
  return at < 0
    ? ''
    : `; its first line is line ${at + 1}, and what follows (or its indentation) is different`;
}

/** `from` is the line number of the header, if it has one. */
type Hunk = { from: number | undefined; readonly old: string[]; readonly fresh: string[] };

/** Applies a unified diff for one file. Context and removed lines must be those of the file exactly; a hunk that is not at
 *  its line is found by them, if there is only one such place. Counts in hunk headers are not relied on, and the end
 *  of the last line does not change. */
export function applyDiff(text: string, diff: string): Applied {
  const read = hunksOf(diff);
  if ('problem' in read) return read;
  const crLf = isCrLf(text);
  // The last one is empty where the last line has an end.
  const lines = (crLf ? text.replaceAll('\r\n', '\n') : text).split('\n');
  let shift = 0;
  let floor = 0;
  for (const [n, { from, old, fresh }] of read.hunks.entries()) {
    // A hunk without old lines belongs after the line that it names.
    const stated = from === undefined ? undefined : from - (old.length === 0 ? 0 : 1) + shift;
    const found = placeOf(lines, old, stated, floor);
    if ('problem' in found) return { problem: `hunk ${n + 1} of ${read.hunks.length} ${found.problem}` };
    lines.splice(found.at, old.length, ...fresh);
    floor = found.at + fresh.length;
    if (stated !== undefined) shift += fresh.length - old.length + (found.at - stated);
  }
  const joined = lines.join('\n');
  return { text: crLf ? joined.replaceAll('\n', '\r\n') : joined };
}

function placeOf(
  lines: readonly string[],
  old: readonly string[],
  stated: number | undefined,
  floor: number,
): { readonly at: number } | { readonly problem: string } {
  if (old.length === 0) {
    const at = lines.length === 1 ? 0 : stated;
    return at === undefined || at < floor || at >= lines.length
      ? { problem: 'only adds lines and does not say where: give it context lines' }
      : { at };
  }
  const fits = (at: number) => at >= floor && old.every((line, n) => lines[at + n] === line);
  if (stated !== undefined && fits(stated)) return { at: stated };
  const places = [...lines.keys()].filter(fits);
  const [at, second] = places;
  if (at === undefined) return { problem: `does not apply: ${mismatch(lines, old, stated)}` };
  return second === undefined
    ? { at }
    : { problem: `is ambiguous: its lines are at lines ${at + 1} and ${second + 1}; give it more context` };
}

/** The first line that is not as the hunk says. */
function mismatch(lines: readonly string[], old: readonly string[], stated: number | undefined): string {
  const start = stated ?? lines.indexOf(old[0] ?? '');
  const off = start < 0 ? 0 : old.findIndex((line, n) => lines[start + n] !== line);
  const quoted = (line = '') => JSON.stringify(line).slice(0, 200);
  const wanted = quoted(old[Math.max(0, off)]);
  if (start < 0) return `no line of the file is ${wanted}`;
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length;
  const is = start + off < count ? `there is ${quoted(lines[start + off])}` : `the file has ${count} lines`;
  return `at line ${start + off + 1} it expects ${wanted}, and ${is}`;
}

function hunksOf(diff: string): { readonly hunks: readonly Hunk[] } | { readonly problem: string } {
  const lines = diff.replaceAll('\r\n', '\n').replace(/\n$/, '').split('\n');
  const hunks: Hunk[] = [];
  for (const [n, line] of lines.entries()) {
    const header = /^@@(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*| .*)?$/.exec(line);
    const hunk = hunks.at(-1);
    if (header !== null)
      hunks.push({ from: header[1] === undefined ? undefined : Number(header[1]), old: [], fresh: [] });
    // What comes before the first hunk (names, modes, index) is about the file as a whole.
    else if (hunk === undefined || line.startsWith('\\')) continue;
    else if (line.startsWith('--- ') && (lines[n + 1] ?? '').startsWith('+++ '))
      return { problem: 'the diff is for more than one file: give each file its own patch' };
    else if (line.startsWith('-')) hunk.old.push(line.slice(1));
    else if (line.startsWith('+')) hunk.fresh.push(line.slice(1));
    else if (line.startsWith(' ') || line === '') {
      // An empty line of context often loses its blank.
      hunk.old.push(line.slice(1));
      hunk.fresh.push(line.slice(1));
    } else
      return {
        problem: `line ${n + 1} of the diff begins with neither " ", "-", "+" nor "@@": ${JSON.stringify(line).slice(0, 100)}`,
      };
  }
  if (hunks.length === 0)
    return { problem: 'the diff has no hunk: one begins with a line "@@ -1,3 +1,4 @@"' };
  return { hunks };
}
