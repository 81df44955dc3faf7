/** Context keys that a result repeats as facts, and whose word counts for each: any tool may write any key, since every program that it
 *  starts can, the product too. Pure. */
import type { Node } from '../graph.ts';
import { type Json, own } from '../json.ts';
import type { Context } from '../outcome.ts';
import { toolSeesHoldout } from '../settings/node.ts';

type Reporter = { readonly keys: readonly string[]; readonly may: (node: Node) => boolean };

/** The command alone, with variables and redirections: what runs before, behind or within it could write another report, or leave a
 *  process that does. */
const onlyCommand = (words: string): RegExp =>
  new RegExp(
    `^factory\\s+${words}(?:'[^']*'|"(?:[^"$\`]|\\$\\{?\\w)*"|\\$\\{?\\w|\\\\\\n|[0-9]?>&|&>|[^;&|$()\`\\n'"])*$`,
  );
const runsScenarios = onlyCommand('scenario\\s+(?:run|selftest)\\b');
const builds = onlyCommand('order\\s');

const commandOf = ({ settings }: Node): string => (settings.tool_command ?? '').trim();

const reporters: readonly Reporter[] = [
  {
    // What the scenarios said: of a tool that had them.
    keys: [
      'status',
      'class',
      'failures',
      'passed',
      'total',
      'floor',
      'passed_before',
      'isolation',
      'strength',
    ].map((name) => `judge.${name}`),
    may: (node) => runsScenarios.test(commandOf(node)) && toolSeesHoldout(node.settings),
  },
  {
    // What the build made and proved: of its steps, which have the records of the run.
    keys: ['commits', 'head', 'needed', 'proof', 'unchecked', 'unchanged', 'outdated'].map(
      (name) => `build.${name}`,
    ),
    may: (node) => builds.test(commandOf(node)) && node.settings.access !== undefined,
  },
];
const reporterOf = new Map(reporters.flatMap((one) => one.keys.map((key) => [key, one] as const)));

/** Whether the report of a tool counts for the key: any tool's does for keys that no result repeats. */
export function mayReport(node: Node | undefined, key: string): boolean {
  const reporter = reporterOf.get(key);
  return reporter === undefined || (node?.type === 'tool' && reporter.may(node));
}

/** Whether a result repeats the key as a fact. */
export const isReported = (key: string): boolean => reporterOf.has(key);

/** What a tool that may report the key has reported last. */
export const reportedValue = (
  { context, origins }: { readonly context: Context; readonly origins: Readonly<Record<string, string>> },
  key: string,
): Json | undefined => (own(origins, key) === 'tool' ? own(context, key) : undefined);
