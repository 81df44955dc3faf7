/** Checks that stand in a test and cannot fail it: what they find is caught, and nobody is told. */

/** What a handler does that leaves a test as good as passed. */
const quiet =
  /^(?:pass|\.\.\.|return(?:\s+(?:None|null|nil|True|true))?|nil|null|:ok|true|_\s*=.*|(?:print|puts|warn|p|console\.\w+|log(?:ger|ging)?\.\w+|System\.(?:out|err)\.print\w*|\w+\.printStackTrace|Console\.Write\w*|IO\.(?:puts|inspect)|e?println!)[\s(].*)?;?$/;

const isQuiet = (lines: readonly string[]): boolean => lines.every((line) => quiet.test(line.trim()));

/** 0-based numbers of the lines whose failures are lost. `lines` have no comments any more. */
export function hollowLines(path: string, lines: readonly string[]): ReadonlySet<number> {
  const hollow = new Set<number>();
  for (const [at, line] of lines.entries()) if (lost.test(line)) hollow.add(at);
  if (path.endsWith('.py')) inPython(lines, hollow);
  else if (/\.(?:rb|exs?)$/.test(path)) inRuby(path, lines, hollow);
  else if (/\.(?:[cm]?[jt]sx?|java|kts?|cs|php|scala|swift|dart|cc|cpp)$/.test(path))
    inBraces(path, lines, hollow);
  return hollow;
}

/** One line that catches, or comes too late. */
const lost =
  /^\s*let\s+_\s*=.*\bcatch_unwind\b|\bcatch_unwind\(.{0,400}\)\s{0,9}\.ok\(\);|^\s*set(?:Timeout|Interval|Immediate)\((?!.*\b(?:done|resolve|reject)\b).*\)\s*;?\s*$/;

const indent = (line: string): number => line.length - line.trimStart().length;

/** The first line at or after `from` that stands no deeper than `depth`. */
function endOf(lines: readonly string[], from: number, depth: number): number {
  let at = from;
  while (at < lines.length && ((lines[at] ?? '').trim() === '' || indent(lines[at] ?? '') > depth)) at++;
  return at;
}

const catchesAll = /^except\s*(?::|.*\b(?:BaseException|Exception|AssertionError)\b)/;

function inPython(lines: readonly string[], hollow: Set<number>): void {
  for (const [at, line] of lines.entries()) {
    const text = line.trim();
    const depth = indent(line);
    if (/^with\s.{0,100}\bsuppress\(.{0,200}(?:Exception|AssertionError)\b/.test(text))
      add(hollow, at + 1, endOf(lines, at + 1, depth));
    if (!/^try\s*:\s*$/.test(text)) continue;
    const end = endOf(lines, at + 1, depth);
    for (let next = end; /^\s*except\b/.test(lines[next] ?? ''); ) {
      const header = (lines[next] ?? '').trim();
      const close = endOf(lines, next + 1, depth);
      const rest = header.replace(/^except[^:]*:/, '');
      if (catchesAll.test(header) && isQuiet([rest, ...lines.slice(next + 1, close)])) {
        add(hollow, at + 1, end);
        break;
      }
      next = close;
    }
  }
}

/** A failed expectation is no StandardError: a bare `rescue` lets it pass, but Elixir's catches all. */
function inRuby(path: string, lines: readonly string[], hollow: Set<number>): void {
  const all = path.endsWith('.rb')
    ? /^rescue\b.*(?:\bException\b|Assertion|Expectation)/
    : /^rescue\b\s*(?:_\w*|[a-z]\w*|ExUnit\.AssertionError)?\s*$/;
  for (const [at, line] of lines.entries()) {
    if (!all.test(line.trim())) continue;
    const depth = indent(line);
    const handler = lines.slice(at + 1, endOf(lines, at + 1, depth));
    if (!isQuiet(handler.map((one) => one.replace(/^\s*(?:_\w*|[a-z]\w*|ExUnit\.AssertionError)\s*->/, ''))))
      continue;
    let from = at - 1;
    while (from >= 0 && ((lines[from] ?? '').trim() === '' || indent(lines[from] ?? '') > depth)) from--;
    add(hollow, from + 1, at);
  }
}

function inBraces(path: string, lines: readonly string[], hollow: Set<number>): void {
  const text = lines.join('\n').replace(texts, (whole) => whole.replace(/[{}]/g, '_'));
  const lineAt = lineCounter(text);
  let left = mostTries;
  for (const found of text.matchAll(/\btry\s*\{/g)) {
    if (left-- === 0) return;
    const open = found.index + found[0].length;
    const end = closing(text, open);
    const header = /^\s*catch\s*(\([^)]*\))?[^{]*\{/.exec(text.slice(end + 1, end + 300));
    if (header === null || !catchesChecks(path, header[1] ?? '')) continue;
    const handler = end + 1 + header[0].length;
    const body = text.slice(handler, closing(text, handler));
    if (isQuiet(body.split('\n'))) add(hollow, lineAt(open), lineAt(end) + 1);
  }
}

/** Tells in which line a position is, of positions each of which comes after the one before, or not far ahead of it. */
function lineCounter(text: string): (position: number) => number {
  let line = 0;
  let at = 0;
  return (position) => {
    for (; at < position; at++) if (text[at] === '\n') line++;
    for (; at > position; at--) if (text[at - 1] === '\n') line--;
    return line;
  };
}

/** Blocks of one file that are looked at, and how far. */
const mostTries = 500;
const mostOfBlock = 64 * 1024;

const texts = /"(?:\\.|[^"\\\n]){0,999}"|'(?:\\.|[^'\\\n]){0,999}'/g;

/** Where the brace that was opened before `from` is closed. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < Math.min(text.length, from + mostOfBlock); at++) {
    if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at;
  }
  return text.length;
}

/** Whether a clause gets a failed check: Java's are errors and no exceptions. */
function catchesChecks(path: string, clause: string): boolean {
  if (/\.(?:java|kts?|scala)$/.test(path)) return /\b(?:Throwable|Error|Assertion\w*)\b/.test(clause);
  if (/\.(?:cs|php|cc|cpp)$/.test(path))
    return clause === '' || /\((?:System\.|\\)?(?:Exception|Throwable|\.\.\.)|Assert|Xunit/.test(clause);
  return true;
}

function add(hollow: Set<number>, from: number, end: number): void {
  for (let at = from; at < end; at++) hollow.add(at);
}
