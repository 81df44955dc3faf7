/** Feedback for later nodes about a failure: `last_failure.*`, read from the failed node's artifacts. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { agentPrograms } from '../core/contracts/agent.ts';
import type { StepFacts } from '../core/decision.ts';
import { failureExcerpt, mostReadOfStream } from '../core/failure-excerpt.ts';
import { isAgentType } from '../core/graph.ts';
import { type Json, own } from '../core/json.ts';
import { answerKey } from '../core/latest-keys.ts';
import { type Failure, reasonWithAttribution } from '../core/outcome.ts';
import { nodeLayout } from '../core/records/layout.ts';
import type { LeakGuard } from '../holdout/leak-guard.ts';
import { head, mostAtOnce, readEnds, readSome, tailOf } from '../platform/files/read.ts';

/** Bytes of the reason in a summary, and of a command. */
const limits = { reason: 600, command: 200 } as const;

type Stage = { readonly node: string; readonly type: string; readonly at: string };

/** The part of the feedback that needs no artifacts. */
export const failureFacts = (stage: Stage, failure: Failure): Record<string, Json> => ({
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
    `failure_reason=${head(reasonWithAttribution(failure.reason, failure.attribution), limits.reason)}`,
    `failure_class=${failure.class}`,
  ];
  if (artifacts['tool_exitcode'] !== undefined)
    parts.push(`tool_exit_code=${((await readSome(at.toolExitcode, 20)) ?? '').trim()}`);
  const labelled: readonly (readonly [string, string])[] = [
    ['stderr', at.toolStderr],
    ['stdout', at.toolStdout],
    ...agentPrograms.map((name): [string, string] => [`${name}_stderr`, `${nodeDir}/${name}.stderr.log`]),
  ];
  for (const [label, path] of labelled) {
    const text = await excerptOf(path, stage.node);
    if (text !== '') parts.push(`${label}:\n${text}`);
  }
  const verified = await failedCheck(nodeDir, stage.node);
  if (verified !== '') parts.push(`verification:\n${verified}`);
  return {
    ...failureFacts(stage, failure),
    'last_failure.artifacts': artifacts,
    'last_failure.summary': parts.join('\n'),
  };
}

/** Bytes of an answer or a tool's output in the context. */
const mostOutput = 4096;

/** Bytes that are searched for holdout lines: a line that is cut would not be recognised. */
const mostSearched = 65_536;

/** What the context has of an output, without the end of a line whose beginning was cut off; a character is at most four bytes. */
export const wholeLinesOf = (output: string): string =>
  Buffer.byteLength(output) > mostOutput - 4 ? output.slice(output.indexOf('\n') + 1) : output;

type Printing = Pick<LeakGuard, 'printable'> | undefined;

/** The end of what a tool has printed, for conditions and later nodes: masked, and without lines of the holdout. */
export const toolOutput = async (nodeDir: string, guard: Printing): Promise<string> =>
  (await endOfArtifact(nodeLayout(nodeDir).toolStdout, guard)) ?? '';

/** The values of the keys about the latest answer and output that a graph names. */
export async function latestValues(
  { node, type, executable }: Pick<StepFacts, 'node' | 'type' | 'executable'>,
  nodeDir: string,
  named: ReadonlySet<string>,
  guard: Printing,
): Promise<Readonly<Record<string, string>>> {
  if (!executable || named.size === 0) return {};
  const { toolStdout, toolStderr, response } = nodeLayout(nodeDir);
  const answer = isAgentType(type) ? response : undefined;
  const sources: readonly (readonly [string, string | undefined])[] = [
    ['last_response', answer],
    [answerKey(node), answer],
    ['command.output', type === 'tool' ? toolStdout : undefined],
    ['tool_stderr', type === 'tool' ? toolStderr : undefined],
  ];
  const values: Record<string, string> = named.has('last_stage') ? { last_stage: node } : {};
  for (const [key, path] of sources)
    if (path !== undefined && named.has(key)) values[key] = (await endOfArtifact(path, guard)) ?? '';
  return values;
}

/** The end of an artifact; undefined without one. */
export async function endOfArtifact(path: string, guard: Printing): Promise<string | undefined> {
  const text = await readSome(path, mostSearched, 'tail');
  if (guard === undefined || text === undefined || text === '')
    return text && tailOf(Buffer.from(text), mostOutput);
  const whole = Buffer.byteLength(text) < mostSearched - 3 ? text : text.slice(text.indexOf('\n') + 1);
  return tailOf(Buffer.from(await guard.printable(whole)), mostOutput);
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

/** What the output in this file says of the failure; its place is named as in the run directory. */
const excerptOf = async (path: string, node: string): Promise<string> =>
  failureExcerpt((await readEnds(path, mostReadOfStream)) ?? '', { whole: `${node}/${basename(path)}` });

/** The command that failed, with what its output says of it. */
async function failedCheck(nodeDir: string, node: string): Promise<string> {
  const commands = await commandsRun(nodeLayout(nodeDir).verificationResults);
  const last: unknown = commands.at(-1);
  if (typeof last !== 'object' || last === null) return '';
  const field = (key: string): string => String(own({ ...last } as Record<string, unknown>, key) ?? '');
  const streams = await Promise.all(
    (['stderr', 'stdout'] as const).map(async (name) => {
      const file = join(nodeDir, `verification.${commands.length - 1}.${name}.txt`);
      const whole = `${node}/${basename(file)}`;
      // The results quote only the end of a long output.
      const text = (await readEnds(file, mostReadOfStream)) ?? field(name);
      return [name, failureExcerpt(text, { whole })] as const;
    }),
  );
  return [
    `command: ${head(field('command'), limits.command)}`,
    `exit_code: ${field('exit_code')}`,
    ...streams.filter(([, text]) => text !== '').map(([name, text]) => `${name}: ${text}`),
  ].join('\n');
}

/** The commands in `verification.results.json`; none if it is missing or invalid. */
async function commandsRun(path: string): Promise<readonly unknown[]> {
  try {
    const results: unknown = JSON.parse((await readSome(path, mostAtOnce)) ?? '');
    return typeof results === 'object' && results !== null && 'commands' in results
      ? Array.isArray(results.commands)
        ? results.commands
        : []
      : [];
  } catch {
    return [];
  }
}

/* Finds the output files of the last command of a tool or verification node. */

/** Paths of both streams in a node directory; of a verification those of the last command that it ran. */
export async function lastOutputs(
  nodeDir: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { toolStdout, toolStderr } = nodeLayout(nodeDir);
  const last = (await readdir(nodeDir).catch(() => []))
    .map((name) => Number(/^verification\.(\d+)\.stdout\.txt$/.exec(name)?.[1] ?? -1))
    .reduce((a, b) => Math.max(a, b), -1);
  if (last < 0) return { stdout: toolStdout, stderr: toolStderr };
  const path = (stream: string) => join(nodeDir, `verification.${last}.${stream}.txt`);
  return { stdout: path('stdout'), stderr: path('stderr') };
}
