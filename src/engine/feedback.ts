/** Feedback for later nodes about a failure: `last_failure.*`, read from the failed node's artifacts. */
import { existsSync } from 'node:fs';
import type { Json } from '../model/json.ts';
import { nodeLayout } from '../model/layout.ts';
import { type Failure, toldReason } from '../model/outcome.ts';
import { head, mostAtOnce, readSome, tailOf } from '../system/read.ts';
import type { LeakGuard } from './leaks.ts';

/** Bytes of each part of a summary, and of the whole. */
const limits = { reason: 600, stderr: 600, stdout: 300, verification: 600, agent: 600, all: 2200 } as const;

/** Agents whose programs leave logs of those names. */
const agentPrograms = ['codex', 'claude', 'command'] as const;

type Stage = { readonly node: string; readonly type: string; readonly at: string };

/** The part of the feedback that needs no artifacts. */
export const factsOf = (stage: Stage, failure: Failure): Record<string, Json> => ({
  'last_failure.node_id': stage.node,
  'last_failure.node_type': stage.type,
  'last_failure.reason': head(failure.reason, 2000),
  'last_failure.class': failure.class,
  ...(failure.hopeless === true ? { 'last_failure.hopeless': true } : {}),
  'last_failure.at': stage.at,
});

/** `last_failure.node_id|node_type|reason|class|hopeless|at|artifacts|summary`. Every text in it is masked already: it comes
 *  from masked artifacts or from the masked reason. */
export async function feedback(
  nodeDir: string,
  stage: Stage,
  failure: Failure,
): Promise<Record<string, Json>> {
  const at = nodeLayout(nodeDir);
  const named: readonly (readonly [string, string])[] = [
    ['status', at.status],
    ['tool_stdout', at.toolStdout],
    ['tool_stderr', at.toolStderr],
    ['tool_exitcode', at.toolExitcode],
    ['verification_results', at.verificationResults],
    ['verification_plan', at.verificationPlan],
    ...agentPrograms.flatMap((name): [string, string][] => [
      [`${name}_stdout`, `${nodeDir}/${name}.stdout.log`],
      [`${name}_stderr`, `${nodeDir}/${name}.stderr.log`],
    ]),
    ['codex_response', at.response],
  ];
  const artifacts: Record<string, string> = {};
  for (const [name, path] of named) if (existsSync(path)) artifacts[name] = path;
  const parts = [
    `failed_node=${stage.node}`,
    `failed_node_type=${stage.type}`,
    `failure_reason=${head(toldReason(failure.reason, failure.attribution), limits.reason)}`,
    `failure_class=${failure.class}`,
  ];
  if (artifacts['tool_exitcode'] !== undefined)
    parts.push(`tool_exit_code=${((await readSome(at.toolExitcode, 20)) ?? '').trim()}`);
  const labelled: readonly (readonly [string, string, number])[] = [
    ['stderr', at.toolStderr, limits.stderr],
    ['stdout', at.toolStdout, limits.stdout],
    ...agentPrograms.map((name): [string, string, number] => [
      `${name}_stderr`,
      `${nodeDir}/${name}.stderr.log`,
      limits.agent,
    ]),
  ];
  for (const [label, path, most] of labelled) {
    const text = ((await readSome(path, most, 'tail')) ?? '').trim();
    if (text !== '') parts.push(`${label}:\n${text}`);
  }
  const verified = (await verificationTail(at.verificationResults, limits.verification)).trim();
  if (verified !== '') parts.push(`verification:\n${verified}`);
  return {
    ...factsOf(stage, failure),
    'last_failure.artifacts': artifacts,
    'last_failure.summary': head(parts.join('\n'), limits.all),
  };
}

/** The same, without lines of the holdout that a failing scenario printed. */
export async function printable(
  feedback: Record<string, Json>,
  guard: Pick<LeakGuard, 'printable'> | undefined,
): Promise<Record<string, Json>> {
  if (guard === undefined) return feedback;
  const texts = ['last_failure.reason', 'last_failure.summary'];
  const cleaned = texts.map(async (key) => [key, await guard.printable(String(feedback[key]))] as const);
  return { ...feedback, ...Object.fromEntries(await Promise.all(cleaned)) };
}

/** The command that failed, with the tails of what it printed. */
async function verificationTail(path: string, most: number): Promise<string> {
  let results: unknown;
  try {
    results = JSON.parse((await readSome(path, mostAtOnce)) ?? '');
  } catch {
    return '';
  }
  if (
    typeof results !== 'object' ||
    results === null ||
    !('commands' in results) ||
    !Array.isArray(results.commands)
  )
    return '';
  const last: unknown = results.commands.at(-1);
  if (typeof last !== 'object' || last === null) return '';
  const field = (key: string): string => {
    const value: unknown = Object.entries(last).find(([k]) => k === key)?.[1];
    return value === undefined ? '' : String(value);
  };
  const streams = (['stderr', 'stdout'] as const)
    .map((name) => [name, field(name).trim()] as const)
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `${name}: ${tailOf(Buffer.from(text), most / 2)}`);
  return [`command: ${head(field('command'), 200)}`, `exit_code: ${field('exit_code')}`, ...streams].join(
    '\n',
  );
}
