/** The part of a failing scenario's output that a builder may see: what was expected and observed, without the scenario's
 *  own text. Pure. */

/** Upper bounds of the visible lines and characters. */
const most = { lines: 40, characters: 4000 } as const;
/** Length from which a line of a scenario is recognised in the output. */
const distinctive = 12;

/** The first line of a failing check's report. */
const report =
  /^\s*(?:\[?fail(?:ed|ure)?\b|not ok\b|✗|✘|×|expected\b|observed\b|actual\b|got\b|wanted\b|but\b|assert)/i;

/** The lines that report failing checks, with what is indented below them; where there are none, the last lines.
 *  `sealed` are the texts of the scenarios: a line that contains one of theirs is left out. */
export function visibleFailure(
  output: { readonly stdout: string; readonly stderr: string },
  sealed: readonly string[],
): string {
  const secret = secretLines(sealed);
  const lines = [output.stdout, output.stderr]
    .flatMap((text) => text.split('\n'))
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '' && !/^\s*failure_class=/.test(line) && !isSecret(line, secret));
  const reports = failing(lines);
  const chosen = reports.length > 0 ? reports.slice(0, most.lines) : lines.slice(-20);
  return [...chosen.join('\n')].slice(0, most.characters).join('');
}

function failing(lines: readonly string[]): readonly string[] {
  let within = false;
  return lines.filter((line) => {
    within = report.test(line) || (within && /^\s/.test(line));
    return within;
  });
}

/** Replaces a line of the holdout. */
export const leftOut = '[a line of the scenario itself is left out]';

/** A text without the lines that contain one of the scenarios', or are the trace (`set -x`) of one. */
export function withoutSealed(text: string, sealed: readonly string[]): string {
  const secret = secretLines(sealed);
  return text
    .split('\n')
    .map((line) => (isSecret(line, secret) ? leftOut : line))
    .join('\n');
}

type Secret = { readonly lines: readonly string[]; readonly traced: boolean };

const secretLines = (sealed: readonly string[]): Secret => ({
  lines: [
    ...new Set(
      sealed
        .flatMap((text) => text.split('\n'))
        .map((line) => line.trim())
        .filter((line) => line.length >= distinctive),
    ),
  ],
  // A trace has the values of variables, so that its lines are not those of the text.
  traced: sealed.some((text) => /^[ \t]*set\s.*-\w*x|\bxtrace\b|sh\s+-\w*x/m.test(text)),
});

const isSecret = (shown: string, { lines, traced }: Secret): boolean => {
  const line = shown.replace(colours, '');
  return (
    /\bcanary:/i.test(line) || (traced && /^\s*\++ \S/.test(line)) || lines.some((own) => line.includes(own))
  );
};

/** A terminal's escape sequences: a program may show a match within a line in another colour. */
const colours = /\x1b\[[0-?]*[ -/]*[@-~]/g;
