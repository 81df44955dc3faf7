/** What a run is executed with, whether it starts, is forked, replays or resumes: agents, limits and prices, and how the manifest
 *  records them. */
import type { AgentPlan } from '../../agents/plan.ts';
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import type { ModelServer } from '../../core/model-server.ts';
import { agentNodes, goalOf, pipelineFacts } from '../../core/pipeline.ts';
import { masker } from '../../core/policy/mask.ts';
import { textsToMask } from '../../core/policy/secrets.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { Caps } from '../../core/settings/limits.ts';
import { sha256 } from '../../core/sha256.ts';
import type { Texts } from '../../engine/run-context.ts';
import { budgetGiven } from '../../engine/shared-budget.ts';
import { lostText, storedText } from '../../run/inputs.ts';
import { calledInManifest } from '../called-pipelines.ts';
import { type Inputs, textsOf } from '../inputs.ts';
import { limitsForManifest, limitsOf } from '../limits.ts';
import {
  type GivenServers,
  modelServersFor,
  onlyBuiltIn,
  type RunProvider,
  runProviderOf,
  userSecrets,
} from '../model-servers.ts';
import { typesToRecord } from '../own-kinds.ts';
import {
  type AgentAssignment,
  agentsByProvider,
  describeAgent,
  type LoadedScript,
  loadScript,
  programsFor,
  resolveAgents,
  selfContained,
  usesScript,
} from '../resolve-agents.ts';
import { keptSecrets, secretsProblem } from '../secrets.ts';
import { serversAsked, serversToRecord } from '../servers-asked.ts';
import { type Host, keptScript, type RunFlags } from '../types.ts';
import { readAutoAnswers } from './auto-answers.ts';
import { readPriceFile } from './budget.ts';
import { flagsOfAgent } from './unchanged-inputs.ts';

/** From what the terms follow. */
export type TermsRequest = {
  readonly graph: Graph;
  /** The run that is resumed or forked, which keeps its terms; undefined for one that begins with a workdir. */
  readonly former: { readonly runDir: string; readonly manifest: Manifest } | undefined;
  readonly inputs: Pick<Inputs, 'variables' | 'prompts' | 'schemas'>;
  /** Path of the agent's script as typed; undefined for that of the former run, or of the pipeline. */
  readonly script: string | undefined;
  /** Uses recorded answers only: no agent is created. */
  readonly offline: boolean;
  /** The source of the run's files; empty or undefined without one. */
  readonly workdir?: string;
  /** The run is only checked here: another machine executes it. */
  readonly elsewhere?: boolean;
};

export type RunTerms = {
  readonly graph: Graph;
  readonly texts: Texts;
  readonly agents: AgentAssignment;
  readonly script: Script;
  readonly caps: Caps;
  /** What the manifest has of them. */
  readonly facts: Pick<
    Manifest,
    | 'goal'
    | 'pipeline'
    | 'pipelines'
    | 'prompts'
    | 'schemas'
    | 'variables'
    | 'node_types'
    | 'agent'
    | 'caps'
    | 'origins'
    | 'prices'
    | 'env_pass'
    | 'secrets'
    | 'labels'
    | 'name'
    | 'auto_answers'
  >;
};

/** The script of a run: loaded, and its text for the run directory if that has another one or none. */
type Script = { readonly script: LoadedScript | undefined; readonly text: string | undefined };

type TermsHost = Pick<Host, 'cwd' | 'env'>;

export async function termsOf(
  request: TermsRequest,
  flags: RunFlags,
  host: TermsHost,
): Promise<RunTerms | Refusal> {
  const { graph, inputs } = request;
  const before = request.former?.manifest;
  const { env, cwd } = host;
  const budget = budgetGiven(env);
  if (budget !== undefined && 'problems' in budget) return budget;
  const misnamed = secretsProblem(env);
  if (misnamed !== undefined) return misnamed;
  const cast = await castRun(request, flags, host);
  if ('problems' in cast) return cast;
  const caps = limitsOf(flags, graph, before);
  // Other prices change only how calls are counted, so they need no --accept-changes.
  const priced =
    before !== undefined && flags.prices === undefined
      ? { kept: before.prices }
      : await readPriceFile(graph, flags.prices, env, cwd);
  if ('problems' in priced) return priced;
  const answers = await readAutoAnswers(flags.auto_answer, before, cwd);
  if ('problems' in answers) return answers;
  const { variables, prompts, schemas } = inputs;
  const goal = goalOf(graph);
  const labels = flags.labels === undefined ? before?.labels : [...new Set(flags.labels)].sort();
  return {
    graph,
    texts: textsOf(inputs),
    ...cast,
    caps,
    facts: {
      ...(goal === undefined ? {} : { goal }),
      pipeline: { text: graph.text, sha256: sha256(graph.text), ...pipelineFacts(graph) },
      ...calledInManifest(graph, cwd, before?.pipelines),
      prompts: { ...prompts },
      schemas: { ...schemas },
      variables,
      ...typesToRecord(graph),
      agent: agentFacts(request, cast, flags, env),
      ...limitsForManifest(flags, graph, before),
      ...(priced.kept === undefined ? {} : { prices: priced.kept }),
      env_pass: [...new Set([...(before?.env_pass ?? []), ...(flags.env_pass ?? [])])],
      ...keptSecrets(env, before, cast.secrets),
      ...(labels === undefined ? {} : { labels }),
      // A fork has the name that it is given: that of the other run would be ambiguous. Notices have it too.
      ...(flags.name === undefined ? {} : { name: masker(textsToMask(env))(flags.name) }),
      ...answers,
    },
  };
}

/** The manifest of a run with other terms. */
export function withTerms(
  { goal: _, node_types: __, pipelines: ___, ...manifest }: Manifest,
  { facts }: RunTerms,
): Manifest {
  return { ...manifest, ...facts };
}

type Cast = Pick<RunTerms, 'agents' | 'script'> & {
  readonly servers: readonly ModelServer[];
  /** Variables with the keys of servers. */
  readonly secrets: readonly string[];
  /** Named for the run. */
  readonly provider: RunProvider;
};

/** The agents of the run, and their script. A former run keeps its agent, whatever the environment sets now. */
async function castRun(request: TermsRequest, flags: RunFlags, host: TermsHost): Promise<Cast | Refusal> {
  const { graph, former, script: path, offline, elsewhere = false } = request;
  const found = await scriptOf(request, host.cwd);
  if ('problems' in found) return found;
  const { script } = found;
  const { name, model, effort, temperature } = agentBefore(request, flags);
  const given = serversFor(request, host);
  if ('problems' in given) return given;
  const { servers, secrets } = given;
  const runProvider = runProviderOf(former?.manifest, flags, given, host.env);
  const scriptNamed = flags.agent_script !== undefined && path !== undefined;
  const choice = {
    env: former === undefined ? host.env : { ...host.env, ...override(former.manifest, flags.agent) },
    flag: flags.agent ?? (scriptNamed || name === '' ? undefined : name),
    ...(former !== undefined && flags.agent === undefined ? { flagBy: 'the run' } : {}),
    model: flags.model ?? model,
    typedModel: flags.model ?? former?.manifest.agent.flags?.model,
    effort: flags.effort ?? effort,
    temperature,
    ...{ scriptNamed, servers, runProvider },
  };
  const programs = offline || former !== undefined ? [] : await programsFor(graph, host.env, host.cwd);
  const recorded = former?.manifest.agent.by_provider;
  const cast = (answers: LoadedScript | undefined): AgentAssignment | Refusal =>
    offline
      ? { plans: new Map(), main: undefined }
      : resolveAgents(graph, { ...choice, programs, recorded, script: answers, elsewhere });
  const agents = cast(script);
  if ('problems' in agents) return agents;
  const asked = serversAsked(graph, agents, host.env);
  if (asked.problems.length > 0 && !elsewhere) return { problems: asked.problems.slice(0, 1) };
  const more = { servers: asked.servers, secrets, provider: runProvider };
  const isKept = former !== undefined && path === undefined;
  if (script === undefined || isKept || (former === undefined && !usesScript(agents)))
    return { ...more, agents, script: { script, text: undefined } };
  const whole = await selfContained(script);
  if ('problems' in whole) return whole;
  // The run uses the stored copy, as a resume does, so that later changes of the answer files have no effect.
  const stored = cast({ ...script, script: whole });
  if ('problems' in stored) return stored;
  return { ...more, agents: stored, script: { script, text: `${JSON.stringify(whole, null, 2)}\n` } };
}

/** The servers that the files describe here; only the built-in ones where no agent is asked. */
function serversFor(
  { graph, former, workdir, offline }: TermsRequest,
  { cwd, env }: TermsHost,
): GivenServers | Refusal {
  if (offline || agentNodes(graph).length === 0) return { ...onlyBuiltIn, secrets: userSecrets(env) };
  return modelServersFor(workdir || former?.manifest.original_workdir || cwd, env);
}

/** The script that a flag names; else that of the former run, or the one that the pipeline bundles for its agents. */
async function scriptOf(
  { graph, former, script: path }: TermsRequest,
  cwd: string,
): Promise<{ readonly script: LoadedScript | undefined } | Refusal> {
  if (former !== undefined && path === undefined) return keptScriptOf(former.manifest, former.runDir);
  if (path === undefined && agentNodes(graph).length === 0) return { script: undefined };
  return loadScript(graph, path, cwd);
}

async function keptScriptOf(
  manifest: Manifest,
  runDir: string,
): Promise<{ readonly script: LoadedScript | undefined } | Refusal> {
  const { script: kept } = manifest.agent;
  if (kept === undefined) return { script: undefined };
  const hash = manifest.texts?.[kept.stored];
  const text = hash === undefined ? undefined : storedText(runDir, hash);
  if (text === undefined)
    return refused(
      'agent-script-file',
      lostText(runDir, `the agent script of run ${manifest.run_id}`),
      'restore a copy of that folder, or name a script with --script (a resume also needs --accept-changes)',
    );
  const { parseAgentScript } = await import('../../agents/script.ts');
  const parsed = parseAgentScript(kept.path, text);
  if ('diagnostics' in parsed) return { problems: parsed.diagnostics };
  // The original path, so that outcomes name the same file before and after a resume.
  return { script: { path: kept.path, script: parsed.script, text } };
}

/** The variables that replace every node's agent, as they were when the run started. */
function override({ agent: { name, chosen_by, flags } }: Manifest, flag: string | undefined) {
  const FACTORY_EFFORT = undefined;
  if (name === '') return { FACTORY_EFFORT };
  const sameAgent = name === 'fake' && /^ATTRACT(?:ION|OR)_BACKEND$/.test(chosen_by);
  const isFake = sameAgent && [undefined, name, flags?.agent].includes(flag);
  return { FACTORY_EFFORT, ATTRACTION_BACKEND: isFake ? name : undefined, ATTRACTOR_BACKEND: undefined };
}

const agentBefore = ({ former }: TermsRequest, { temperature }: RunFlags): Manifest['agent'] =>
  former?.manifest.agent ?? {
    ...{ name: '', describe: '', chosen_by: '' },
    ...(temperature === undefined ? {} : { temperature }),
  };

/** The model of the run as a resume reads it: with its provider, where only its name says that. */
const modelToRecord = (
  { model = '', server }: AgentPlan,
  plans: AgentAssignment['plans'],
  provider: RunProvider,
): string => {
  const isNamed = provider !== undefined || plans.get('')?.server !== server;
  return isNamed || server === undefined || server.provider === 'openai'
    ? model
    : `${server.provider}/${model}`;
};

/** The agent in the manifest. */
function agentFacts(
  request: TermsRequest,
  { agents, script: { script, text }, servers, provider }: Cast,
  flags: RunFlags,
  env: Host['env'],
): Manifest['agent'] {
  const { main, plans } = agents;
  const chosen = agentsByProvider(agents);
  const agent = agentBefore(request, flags);
  const named = request.former === undefined ? flags.agent_script : request.script;
  const same =
    main === undefined || (main.name === 'scripted' && agent.name === 'scripted' && text === undefined);
  return {
    ...agent,
    name: main?.name ?? agent.name,
    describe: same ? agent.describe : describeAgent(main, request.graph, plans, env),
    ...(main === undefined || main.name === agent.name ? {} : { chosen_by: main.chosenBy }),
    ...(Object.keys(chosen).length === 0 ? {} : { by_provider: chosen }),
    ...(provider === undefined ? {} : { provider: provider.name }),
    ...(servers.length === 0 ? {} : { servers: serversToRecord(servers) }),
    ...(main?.model === undefined ? {} : { model: modelToRecord(main, plans, provider) }),
    ...(main !== undefined && 'effort' in main ? { effort: main.effort } : {}),
    ...(flags.fidelity === undefined ? {} : { fidelity: flags.fidelity }),
    ...(text === undefined || script === undefined
      ? {}
      : { script: { path: script.path, sha256: sha256(script.text), stored: keptScript } }),
    ...flagsOfAgent(flags, named === undefined ? undefined : script?.text, agent.flags),
  };
}
