/** What a failing check prints of itself, told from the text of the judge that a stage lays open. Pure. */

/** A line that begins what a failing check says. */
const report =
  /^\s*(?:(?:std(?:out|err): )?\[?(?:fail(?:ed|ure|ing)?|error|expected|observed|actual|received|got|want(?:ed)?|but|assert\w*)\b|not ok\b|✗|✘|×|\w*(?:Error|Exception|Failure)\b.*:)/i;
/** Where an interpreter names the place before it quotes the line. */
const place = /^\s*File ".*", line \d+|^\S+:\d+$/;
/** What `set -x` shows, and what only programs are written with. */
const traced = /^\s*\++ /;
const code =
  /[$`{};|&\\]|\w\(|^\s*(?:if|for|while|case|echo|printf|return|exit|test|grep|cat|def|const|let|var|import|from)\b/;

/** The lines of a stage's output that are a failing check's own words (a message, expected and observed texts, a diff, the
 *  line that an interpreter quotes) as numbers of them, 1-based. A judge may print these though they stand in its text. */
export function reportedLines(text: string): Set<number> {
  const found = new Set<number>();
  let within = false;
  let differs = false;
  let before = '';
  for (const [index, line] of text.split('\n').entries()) {
    differs ||= /^(?:@@ |- |---|< |\d+(?:,\d+)?[acd]\d)/.test(line);
    const isTrace = traced.test(line) && !differs;
    if (report.test(line)) within = true;
    else if (isTrace || (!/^\s/.test(line) && code.test(line))) within = false;
    const quoted = place.test(before);
    if (!isTrace && (within || quoted || (differs && /^[-+<> ]/.test(line)) || !code.test(line)))
      found.add(index + 1);
    before = line;
  }
  return found;
}

/** Whether a script has the shell print what it carries out, variables put in. */
export const tracesItself = (text: string): boolean =>
  /^[ \t]*set\s+(?:-[a-z]*x[a-z]*|-o\s+xtrace)\b|^#!.*\b(?:ba|da|z)?sh\s+-[a-z]*x[a-z]*|\b(?:ba|da|z)?sh\s+-[a-z]*x[a-z]*\b/m.test(
    text,
  );

/** The lines of such a trace as numbers, 1-based: steps of a script, which are found in its text no more once variables are
 *  put in. */
export function tracedLines(text: string): Set<number> {
  const found = new Set<number>();
  for (const [index, line] of text.split('\n').entries()) if (/^\++ \S/.test(line)) found.add(index + 1);
  return found;
}
