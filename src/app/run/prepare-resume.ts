/** The agents, limits and manifest of a run that is resumed or forked. */
import type { Caps } from '../../core/budget/limits.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { goalOf } from '../../core/pipeline.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';
import { budgetGiven } from '../../engine/shared-budget.ts';
import { readPlain } from '../../platform/files/read.ts';
import { inputPath } from '../../run/inputs.ts';
import type { Inputs } from '../inputs.ts';
import { limitsForManifest, limitsNow, limitsWith } from '../limits.ts';
import {
  type AgentAssignment,
  describeAgent,
  type LoadedScript,
  loadScript,
  resolveAgents,
  selfContained,
} from '../resolve-agents.ts';
import { keptSecrets, secretsProblem } from '../secrets.ts';
import { type Host, keptScript, type RunFlags } from '../types.ts';
import { readPriceFile } from './budget.ts';
import { flagsOfAgent } from './unchanged-inputs.ts';

type Given = {
  readonly runDir: string;
  /** Inputs that replace the manifest's. */
  readonly fresh: Inputs | undefined;
  /** Path of the agent's script as typed; undefined for the one that the run in `runDir` has kept. */
  readonly script: string | undefined;
  /** Uses recorded answers only: no agent is created. */
  readonly offline?: boolean;
};

/** The script of a run: loaded, and its text for the run directory if that has another one or none. */
type Script = { readonly script: LoadedScript | undefined; readonly text: string | undefined };

export type ReadyResume = {
  readonly casting: AgentAssignment;
  readonly caps: Caps;
  readonly manifest: Manifest;
  /** Text of a script for the run directory; undefined if it has one or needs none. */
  readonly script: string | undefined;
  readonly answers: LoadedScript | undefined;
};

export async function prepareResume(
  current: Graph,
  manifest: Manifest,
  given: Given,
  flags: RunFlags,
  host: Host,
): Promise<ReadyResume | Refusal> {
  const budget = budgetGiven(host.env);
  if (budget !== undefined && 'problems' in budget) return budget;
  const misnamed = secretsProblem(host.env);
  if (misnamed !== undefined) return misnamed;
  const script =
    given.script === undefined
      ? await keptScriptOf(manifest, given.runDir)
      : await namedScript(current, given.script, host.cwd);
  if ('problems' in script) return script;
  const casting = castAgain(current, manifest, given, script, flags, host);
  if ('problems' in casting) return casting;
  const caps = limitsWith(flags, limitsNow(manifest, current));
  // Other prices change only how calls are counted, so they need no --accept-changes.
  const priced =
    flags.prices === undefined
      ? { kept: manifest.prices }
      : await readPriceFile(undefined, flags.prices, {}, host.cwd);
  if ('problems' in priced) return priced;
  const next: Manifest = {
    ...withTexts(manifest, current, given.fresh),
    env_pass: [...new Set([...manifest.env_pass, ...flags.envPass])],
    ...keptSecrets(host.env, manifest),
    agent: agentNow(current, manifest.agent, casting, script, given.script !== undefined, flags),
    caps: limitsForManifest(caps),
    ...(priced.kept === undefined ? {} : { prices: priced.kept }),
  };
  return { casting, caps, manifest: next, script: script.text, answers: script.script };
}

async function namedScript(current: Graph, path: string, cwd: string): Promise<Script | Refusal> {
  const loaded = await loadScript(current, path, cwd);
  if ('problems' in loaded) return loaded;
  const { script } = loaded;
  if (script === undefined) return { script, text: undefined };
  const whole = await selfContained(script);
  return 'problems' in whole ? whole : { script, text: `${JSON.stringify(whole, null, 2)}\n` };
}

async function keptScriptOf(manifest: Manifest, runDir: string): Promise<Script | Refusal> {
  const { script: kept } = manifest.agent;
  if (kept === undefined) return { script: undefined, text: undefined };
  const path = inputPath(runDir, manifest, kept.stored);
  const read = readPlain(path);
  if (read.kind !== 'text')
    return refused(
      'agent-script-file',
      `the agent script of run ${manifest.run_id} is missing (${path})`,
      'restore the file, or name one with --script (a resume also needs --accept-changes)',
    );
  const { text } = read;
  const { parseAgentScript } = await import('../../agents/script.ts');
  const parsed = parseAgentScript(path, text);
  if ('diagnostics' in parsed) return { problems: parsed.diagnostics };
  // The original path, so that outcomes name the same file before and after a resume.
  return { script: { path: kept.path, script: parsed.script, text }, text: undefined };
}

/** The run keeps its agent, whatever the environment sets now. */
function castAgain(
  current: Graph,
  manifest: Manifest,
  given: Given,
  { script }: Script,
  flags: RunFlags,
  { env }: Host,
): AgentAssignment | Refusal {
  if (given.offline === true) return { plans: new Map(), main: undefined };
  const { name, model, effort, temperature } = manifest.agent;
  const scriptNamed = flags.script !== undefined && given.script !== undefined;
  return resolveAgents(current, {
    env: { ...env, FACTORY_EFFORT: undefined, ...override(manifest, flags.agent) },
    flag: flags.agent ?? (scriptNamed || name === '' ? undefined : name),
    ...(flags.agent === undefined ? { flagBy: 'the run' } : {}),
    model: flags.model ?? model,
    effort: flags.effort ?? effort,
    temperature,
    script,
    scriptNamed,
  });
}

/** The variable that replaces every node's agent, from the start of the run. */
function override({ agent: { name, chosen_by, flags } }: Manifest, flag: string | undefined) {
  if (name === '') return {};
  const asBegun = name === 'fake' && /^ATTRACT(?:ION|OR)_BACKEND$/.test(chosen_by);
  const isFake = asBegun && [undefined, name, flags?.agent].includes(flag);
  return { ATTRACTION_BACKEND: isFake ? name : undefined, ATTRACTOR_BACKEND: undefined };
}

/** The manifest gets the new texts, so that the next resume finds no change. A fork that accepted texts of its pipeline file is
 *  compared with that file from then on. */
function withTexts(manifest: Manifest, current: Graph, fresh: Inputs | undefined): Manifest {
  if (fresh === undefined) return manifest;
  const { goal: _, forked_from: fork, ...rest } = manifest;
  const goal = goalOf(current);
  const changed = [...new Set([...(fork?.changed ?? []), 'pipeline'])];
  return {
    ...rest,
    ...(fork === undefined ? {} : { forked_from: { ...fork, changed } }),
    ...(goal === undefined ? {} : { goal }),
    pipeline: { text: current.text, sha256: sha256(current.text) },
    prompts: { ...fresh.prompts },
    schemas: { ...fresh.schemas },
    variables: fresh.variables,
  };
}

/** The agent in the manifest, after `agent` there. */
export function agentNow(
  graph: Graph,
  agent: Manifest['agent'],
  { main, plans }: AgentAssignment,
  { script, text }: Script,
  scriptNamed: boolean,
  flags: RunFlags,
): Manifest['agent'] {
  const same =
    main === undefined || (main.name === 'scripted' && agent.name === 'scripted' && text === undefined);
  return {
    ...agent,
    name: main?.name ?? agent.name,
    describe: same ? agent.describe : describeAgent(main, graph, plans),
    ...(main === undefined || main.name === agent.name ? {} : { chosen_by: main.chosenBy }),
    ...(main !== undefined && 'model' in main ? { model: main.model } : {}),
    ...(main !== undefined && 'effort' in main ? { effort: main.effort } : {}),
    ...(text === undefined || script === undefined
      ? {}
      : { script: { path: script.path, sha256: sha256(script.text), stored: keptScript } }),
    ...flagsOfAgent(flags, scriptNamed ? script?.text : undefined, agent.flags),
  };
}
