/** Reports of secrets that an answer holds, and of those that a failed node did not get. */
import type { Agent } from '../agents/agent.ts';
import { namedIn, type Secret } from '../policy/secrets.ts';
import { masker } from '../system/mask.ts';

/** The same agent; of an answer that holds secrets the report says which. */
export const markingSecrets = (
  agent: Agent,
  secretsIn: (text: string) => readonly string[] | undefined,
): Agent => ({
  ...agent,
  async work(task, signal) {
    const report = await agent.work(task, signal);
    if (report.kind !== 'answered') return report;
    // A recorded answer was masked when it was recorded.
    const secrets = report.secrets ?? secretsIn(report.text);
    return secrets === undefined ? report : { ...report, secrets };
  },
});

/** The variables whose values a text holds; undefined for none. Of a text that was printed, and masked on its way (`printed`), they
 *  are not known. */
export function secretsIn(
  text: string,
  secrets: readonly Secret[],
  printed: boolean,
): readonly string[] | undefined {
  const names = secrets.filter(({ mask }) => masker(mask)(text) !== text).map(({ name }) => name);
  if (names.length > 0) return [...new Set(names)];
  return printed && text.includes('***') ? [] : undefined;
}

/** Adds the values of secrets that a program gets. */
export function addPassed(
  values: Set<string>,
  secrets: readonly Secret[],
  withheld: readonly string[],
): void {
  for (const { name, mask } of secrets)
    if (!withheld.includes(name)) for (const value of mask) values.add(value);
}

/** A hint for a failure of programs that name variables they did not get, in their command line or in the end of their output. */
export function withheldHint(
  programs: readonly { readonly text: string; readonly withheld: readonly string[] }[],
  output: string,
  node: string,
): string | undefined {
  const last = programs.at(-1);
  if (last === undefined) return undefined;
  const names = namedIn(`${last.text}\n${output}`, last.withheld);
  if (names.length === 0) return undefined;
  const are = names.length === 1 ? 'is a secret' : 'are secrets';
  return `${names.join(', ')} ${are} and withheld: set env_pass="${names.join(',')}" on node "${node}", or --env-pass`;
}
