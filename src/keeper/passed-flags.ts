/** The flags of a run that another process begins: as words of its command line, with absolute paths, and with what the environment
 *  of this process sets. */
import { resolve } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { type Diagnostic, type Refusal, wrong } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { agentKeyOf, agentNodes, backendOf } from '../core/pipeline.ts';
import {
  flagOfSetting,
  runSettings,
  type SettingFlags,
  type SettingName,
  settingNames,
} from '../core/settings/run.ts';
import type { AttributeSpec } from '../core/settings/types.ts';
import { variablesOf } from '../core/variables.ts';

/** The value of a flag, with the texts that gave it. */
export type TypedFlag = { readonly value: unknown; readonly typed: readonly string[] };
export type TypedFlags = { readonly [K in SettingName]?: TypedFlag };

/** Settings whose texts are paths in the current folder. */
const pathNames: readonly SettingName[] = ['workdir', 'prices', 'agent_script', 'holdout_from'];
/** The words of a setting that is a path otherwise. */
const answerWords = ['first', 'default'];

/** The flags, and those that variables set, for a run of `graph`. */
export function withEnvironment(
  given: TypedFlags,
  env: Environment,
  graph: Graph,
): { readonly flags: TypedFlags; readonly warnings: readonly string[] } | Refusal {
  const flags: { [K in SettingName]?: TypedFlag } = { ...given };
  const problems: Diagnostic[] = [];
  const agent = given.agent === undefined ? agentIn(env, graph) : {};
  if ('problem' in agent) problems.push(agent.problem);
  for (const name of settingNames) {
    const spec: AttributeSpec = runSettings[name];
    const text = name === 'agent' ? agent.text : textIn(env, spec.variable);
    if (flags[name] !== undefined || text === undefined) continue;
    const read = spec.read({ kind: 'string', text });
    if (read.ok) flags[name] = { value: read.value, typed: [text] };
    else
      problems.push(
        wrong('usage', `${spec.variable} is "${text}", which ${read.why}`, `it is ${spec.wants}`),
      );
  }
  if (problems.length > 0) return { problems };
  return { flags, warnings: agent.warning === undefined ? [] : [agent.warning] };
}

type AgentIn = { readonly text?: string; readonly warning?: string; readonly problem?: Diagnostic };

/** The agent that the environment chooses, where the flag for it chooses the same. */
function agentIn(env: Environment, graph: Graph): AgentIn {
  const override = ['ATTRACTION_BACKEND', 'ATTRACTOR_BACKEND'].find((name) => textIn(env, name) === 'fake');
  const nodes = agentNodes(graph);
  if (override !== undefined) {
    const other = nodes.find((node) => agentKeyOf(node) !== '');
    if (other === undefined) return { text: 'fake' };
    const message = `${override}=fake replaces also the agent of node "${other.id}", which no flag does`;
    return { problem: wrong('usage', message, `unset it here, and set it for the workers: factory keep`) };
  }
  const by = ['FACTORY_AGENT', 'ATTRACTOR_AGENT_BACKEND'].find((name) => textIn(env, name) !== undefined);
  if (by === undefined) return {};
  const free = nodes.find((node) => backendOf(node) === '' && agentKeyOf(node) !== '');
  if (free === undefined) return { text: textIn(env, by) ?? '' };
  return {
    warning: `${by} is not passed on: node "${free.id}" names an llm_provider, which goes before it; --agent chooses one agent for all`,
  };
}

function textIn(env: Environment, name: string | undefined): string | undefined {
  const text = name === undefined ? '' : (env[name]?.trim() ?? '');
  return text === '' ? undefined : text;
}

export const settingsOf = (flags: TypedFlags): SettingFlags =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, flag.value])) as SettingFlags;

/** The words that set the same in another folder. */
export function wordsOf(flags: TypedFlags, cwd: string): readonly string[] {
  return settingNames.flatMap((name) =>
    (flags[name]?.typed ?? []).map(
      (text) => `${flagOfSetting(runSettings[name])}=${inPlace(name, text, cwd)}`,
    ),
  );
}

function inPlace(name: SettingName, text: string, cwd: string): string {
  const isPath = pathNames.includes(name) || (name === 'auto_answer' && !answerWords.includes(text.trim()));
  return isPath ? resolve(cwd, text.trim()) : text;
}

/** `--var` for each, with absolute paths of files. */
export function variableWords(
  vars: Readonly<Record<string, string>>,
  graph: Graph,
  cwd: string,
): readonly string[] {
  const files = variablesOf(graph).filter(({ file }) => file);
  return Object.entries(vars).map(([name, value]) => {
    if (value.startsWith('@')) return `--var=${name}=@${resolve(cwd, value.slice(1))}`;
    return `--var=${name}=${files.some((one) => one.name === name) ? resolve(cwd, value) : value}`;
  });
}
