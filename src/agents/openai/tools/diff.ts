/** Applying edits and unified diffs to a text: exactly, or not at all. Pure. */

export type Applied = { readonly text: string } | { readonly problem: string };

/** Replaces texts, one after the other; each must stand in the text exactly once. */
export function applyEdits(
  text: string,
  edits: readonly { readonly find: string; readonly replace: string }[],
): Applied {
  let now = text;
  for (const [n, edit] of edits.entries()) {
    const which = edits.length === 1 ? 'the edit' : `edit ${n + 1} of ${edits.length}`;
    const [find, replace] = [likewise(edit.find, text), likewise(edit.replace, text)];
    if (find === '') return { problem: `${which} has an empty "find"` };
    const at = now.indexOf(find);
    if (at < 0)
      return { problem: `${which} does not apply: its "find" is nowhere in the file${near(now, find)}` };
    const again = now.indexOf(find, at + 1);
    if (again >= 0) {
      const lines = `lines ${lineAt(now, at)} and ${lineAt(now, again)}`;
      return {
        problem: `${which} is ambiguous: its "find" stands at ${lines}; take more of the lines around it`,
      };
    }
    now = now.slice(0, at) + replace + now.slice(at + find.length);
  }
  return { text: now };
}

/** A file whose lines all end in CR LF is edited as if they ended in LF. */
const likewise = (piece: string, text: string): string =>
  isCrLf(text) && !piece.includes('\r') ? piece.replaceAll('\n', '\r\n') : piece;
const isCrLf = (text: string): boolean => text.includes('\r\n') && !/(?<!\r)\n/.test(text);

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** Where the first line of what was looked for stands, as far as it does but for blanks. */
function near(text: string, find: string): string {
  const wanted =
    find
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim() ?? '';
  const at = wanted === '' ? -1 : text.split('\n').findIndex((line) => line.trim() === wanted);
  return at < 0
    ? ''
    : `; its first line stands at line ${at + 1}, and what follows (or its indentation) is different`;
}

type Line = { readonly sign: ' ' | '-' | '+'; readonly text: string };
type Hunk = { readonly from: number | undefined; readonly lines: readonly Line[]; readonly noEnd: boolean };

/** Applies a unified diff for one file. Context and removed lines must be those of the file exactly; a hunk that stands
 *  elsewhere than it says is found by them, if there is only one such place. Counts in hunk headers are not relied on. */
export function applyDiff(text: string, diff: string): Applied {
  const read = hunksOf(diff);
  if ('problem' in read) return read;
  const crLf = isCrLf(text);
  const plain = crLf ? text.replaceAll('\r\n', '\n') : text;
  const endsInNewline = plain === '' || plain.endsWith('\n');
  const lines = plain === '' ? [] : plain.split('\n');
  if (plain !== '' && endsInNewline) lines.pop();
  let shift = 0;
  let floor = 0;
  let noEnd = !endsInNewline;
  for (const [n, hunk] of read.hunks.entries()) {
    const which = `hunk ${n + 1} of ${read.hunks.length}`;
    const old = hunk.lines.filter(({ sign }) => sign !== '+').map((line) => line.text);
    const fresh = hunk.lines.filter(({ sign }) => sign !== '-').map((line) => line.text);
    // A hunk without old lines stands after the line that it names.
    const said = hunk.from === undefined ? undefined : (old.length === 0 ? hunk.from : hunk.from - 1) + shift;
    const found = placeOf(lines, old, said, floor);
    if ('problem' in found) return { problem: `${which} ${found.problem}` };
    const reachesEnd = found.at + old.length === lines.length;
    lines.splice(found.at, old.length, ...fresh);
    if (reachesEnd) noEnd = hunk.noEnd || (noEnd && hunk.lines.at(-1)?.sign === ' ');
    floor = found.at + fresh.length;
    if (said !== undefined) shift += fresh.length - old.length + (found.at - said);
  }
  const joined = lines.length === 0 ? '' : `${lines.join('\n')}${noEnd ? '' : '\n'}`;
  return { text: crLf ? joined.replaceAll('\n', '\r\n') : joined };
}

function placeOf(
  lines: readonly string[],
  old: readonly string[],
  said: number | undefined,
  floor: number,
): { readonly at: number } | { readonly problem: string } {
  const fits = (at: number) => old.every((line, n) => lines[at + n] === line);
  if (old.length === 0) {
    if (lines.length === 0) return { at: 0 };
    return said === undefined || said < floor || said > lines.length
      ? { problem: 'only adds lines and does not say where: give it context lines' }
      : { at: said };
  }
  if (said !== undefined && said >= floor && fits(said)) return { at: said };
  const places: number[] = [];
  for (let at = floor; at + old.length <= lines.length; at += 1) if (fits(at)) places.push(at);
  const [only, second] = places;
  if (only !== undefined && second === undefined) return { at: only };
  if (only !== undefined && second !== undefined)
    return {
      problem: `is ambiguous: its lines stand at lines ${only + 1} and ${second + 1}; give it more context`,
    };
  return { problem: `does not apply: ${mismatch(lines, old, said)}` };
}

/** The first line that is not as the hunk says. */
function mismatch(lines: readonly string[], old: readonly string[], said: number | undefined): string {
  const start = said !== undefined && said >= 0 ? said : lines.indexOf(old[0] ?? '');
  const off = start < 0 ? 0 : old.findIndex((line, n) => lines[start + n] !== line);
  const wanted = JSON.stringify(old[Math.max(0, off)] ?? '').slice(0, 200);
  if (start < 0) return `no line of the file is ${wanted}`;
  const there = lines[start + off];
  const is =
    there === undefined
      ? `the file has ${lines.length} lines`
      : `there is ${JSON.stringify(there).slice(0, 200)}`;
  return `at line ${start + off + 1} it expects ${wanted}, and ${is}`;
}

function hunksOf(diff: string): { readonly hunks: readonly Hunk[] } | { readonly problem: string } {
  const lines = diff.replaceAll('\r\n', '\n').split('\n');
  if (lines.at(-1) === '') lines.pop();
  const hunks: { from: number | undefined; lines: Line[]; noEnd: boolean }[] = [];
  let files = 0;
  for (const [n, line] of lines.entries()) {
    const header = /^@@(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*| .*)?$/.exec(line);
    if (header !== null) {
      hunks.push({ from: header[1] === undefined ? undefined : Number(header[1]), lines: [], noEnd: false });
      continue;
    }
    if (line.startsWith('--- ') && (lines[n + 1] ?? '').startsWith('+++ ')) {
      files += 1;
      if (files > 1)
        return { problem: 'the diff is for more than one file: give each file a patch of its own' };
      continue;
    }
    const hunk = hunks.at(-1);
    // Whatever stands before the first hunk (names, modes, index) is about the file as a whole.
    if (hunk === undefined) continue;
    if (line.startsWith('+++ ') && (lines[n - 1] ?? '').startsWith('--- ')) continue;
    const sign = line.charAt(0);
    if (line.startsWith('\\')) {
      // It is about the line before it; that a removed line had no end is of no interest.
      if (hunk.lines.at(-1)?.sign !== '-') hunk.noEnd = true;
    } else if (sign === ' ' || sign === '-' || sign === '+') {
      hunk.lines.push({ sign, text: line.slice(1) });
    } else if (line === '') {
      // An empty line of context often loses its blank.
      hunk.lines.push({ sign: ' ', text: '' });
    } else {
      return {
        problem: `line ${n + 1} of the diff begins with neither " ", "-", "+" nor "@@": ${JSON.stringify(line).slice(0, 100)}`,
      };
    }
  }
  if (hunks.length === 0)
    return { problem: 'the diff has no hunk: one begins with a line "@@ -1,3 +1,4 @@"' };
  const idle = hunks.findIndex((hunk) => hunk.lines.every(({ sign }) => sign === ' '));
  return idle < 0 ? { hunks } : { problem: `hunk ${idle + 1} of the diff changes nothing` };
}
