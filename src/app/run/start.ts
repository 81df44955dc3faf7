/** Starts runs: reads the inputs, chooses the agents, creates the run directory. */
import { resolve } from 'node:path';
import type { Caps } from '../../core/budget/limits.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { buildsHistory, codergens, goalOf, startOf, workdirOf } from '../../core/pipeline.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';
import { budgetGiven } from '../../engine/shared-budget.ts';
import { chooseHoldout } from '../../holdout/seal.ts';
import { homeProblem } from '../../holdout/vault.ts';
import { headCommit } from '../../platform/git.ts';
import { packageVersion } from '../../platform/package.ts';
import { type Inputs, readInputs, textsOf } from '../inputs.ts';
import { limitsForManifest, limitsOfGraph, limitsWith } from '../limits.ts';
import {
  type AgentAssignment,
  type LoadedScript,
  loadScript,
  resolveAgents,
  scriptProblem,
  selfContained,
} from '../resolve-agents.ts';
import { type Sandbox, sandboxOf } from '../sandbox.ts';
import { keptSecrets, secretsProblem } from '../secrets.ts';
import { type Finished, type Host, keptScript, type RunFlags } from '../types.ts';
import { readPriceFile } from './budget.ts';
import { createRun, type Historian, type NewRun } from './create-run.ts';
import { agentNow } from './prepare-resume.ts';
import { driveMade } from './resume.ts';

type Where = { readonly runsDir: string; readonly runId: string };

/** Starts a run and runs it to its end. Leaves nothing behind if it refuses. */
export async function startRun(
  graph: Graph,
  where: Where,
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  const { cwd, env } = host;
  const homeless = homeProblem(env);
  if (homeless !== undefined) return { problems: [homeless] };
  const misnamed = secretsProblem(env);
  if (misnamed !== undefined) return misnamed;
  const read = await readInputs(graph, flags.vars, cwd);
  if ('problems' in read) return read;
  const { inputs } = read;
  const cast = await castRun(graph, inputs, flags, host);
  if ('problems' in cast) return cast;
  const workdir = workdirOf(graph, flags, cwd);
  const { variables } = inputs;
  const choice = { flag: flags.holdout, cwd, variables, workdir, runsDir: where.runsDir, env };
  const found = await chooseHoldout(graph, choice);
  if ('problem' in found) return { problems: [found.problem] };
  const holdout = found.wanted;
  const places = { runsDir: where.runsDir, workdir: workdir ?? '', holdoutFrom: holdout?.from };
  const sandbox = await sandboxOf(graph, places, flags.sandbox, host);
  if ('problems' in sandbox) return sandbox;
  const caps = limitsWith(flags, limitsOfGraph(graph));
  const priced = await readPriceFile(graph, flags.prices, env, cwd);
  if ('problems' in priced) return priced;
  const budget = budgetGiven(env);
  if (budget !== undefined && 'problems' in budget) return budget;
  const prices = priced.kept;
  const start = { graph, where, flags, host, inputs, cast, workdir, holdout, sandbox, caps, prices };
  const made = await createRun(await newRun(start));
  return driveMade(made, graph, { casting: cast.casting, inputs: textsOf(inputs), caps }, flags, host);
}

/** What a run starts with. */
type Start = {
  readonly graph: Graph;
  readonly where: Where;
  readonly flags: RunFlags;
  readonly host: Host;
  readonly inputs: Inputs;
  readonly cast: Cast;
  readonly workdir: string | undefined;
  readonly holdout: NewRun['holdout'];
  readonly sandbox: Sandbox;
  readonly caps: Caps;
  readonly prices: Manifest['prices'] | undefined;
};

type Cast = {
  readonly casting: AgentAssignment;
  readonly script: LoadedScript | undefined;
  /** Its text for the run directory; undefined if no agent answers from it. */
  readonly text: string | undefined;
};

async function castRun(
  graph: Graph,
  inputs: Inputs,
  flags: RunFlags,
  { env, cwd }: Host,
): Promise<Cast | Refusal> {
  const none = codergens(graph).length === 0 && flags.script === undefined;
  const loaded = none ? { script: undefined } : await loadScript(graph, flags.script, cwd);
  if ('problems' in loaded) return loaded;
  const { agent: flag, model, effort, temperature } = flags;
  const choice = { env, flag, model, effort, temperature, scriptNamed: flags.script !== undefined };
  const { script } = loaded;
  const casting = resolveAgents(graph, { ...choice, script });
  if ('problems' in casting) return casting;
  const scripted = [...casting.plans.values()].some(
    (plan) =>
      plan.name === 'scripted' || ('agents' in plan && plan.agents.some((one) => one.name === 'scripted')),
  );
  if (!scripted || script === undefined) return { casting, script, text: undefined };
  const mismatch = scriptProblem(script.script, inputs);
  if (mismatch !== undefined) return { problems: [mismatch] };
  const whole = await selfContained(script);
  if ('problems' in whole) return whole;
  // The run uses the stored copy, as a resume does, so that later changes of the answer files have no effect.
  const stored = resolveAgents(graph, { ...choice, script: { ...script, script: whole } });
  if ('problems' in stored) return stored;
  return { casting: stored, script, text: `${JSON.stringify(whole, null, 2)}\n` };
}

async function newRun(start: Start): Promise<NewRun> {
  const { graph, where, flags, host, inputs, cast, workdir, holdout } = start;
  const { clock, env, signal } = host;
  const { runId, runsDir } = where;
  const startedAt = clock.now().toISOString();
  const unique = sha256(`${runsDir}\0${startedAt}\0${clock.monotonic()}`).slice(0, 16);
  const builds = buildsHistory(graph);
  const headOf = workdir === undefined || builds ? null : await headCommit(workdir, env);
  return {
    runId,
    unique,
    runsDir,
    workdir,
    exclude: flags.exclude ?? [],
    inputs,
    holdout,
    env,
    goal: goalOf(graph),
    startNode: startOf(graph).id,
    startedAt,
    signal,
    keep: { ...flags.keep, ...(cast.text === undefined ? {} : { [keptScript]: cast.text }) },
    historian: builds ? historianOf(start) : undefined,
    manifest: (facts) => manifestOf(start, { ...facts, startedAt, unique, headOf }),
  };
}

const historianOf = ({ where: { runId }, flags, host: { env, clock } }: Start): Historian => ({
  begin: async (workdir, historyDir) => {
    const { startHistory } = await import('../../git/start-history.ts');
    const { allowDirty, base, redo = false } = flags;
    const based = base === undefined ? {} : { base };
    return startHistory({ workdir, historyDir, allowDirty, ...based, redo, runId, env });
  },
  recordBase: async (workspace, historyDir, sealed) => {
    const { recordBase } = await import('../../git/start-history.ts');
    return recordBase({ historyDir, workspace, sealed, runId, now: clock.now(), env });
  },
});

function manifestOf(
  { graph, where: { runId }, flags, host, inputs, cast, workdir, sandbox, caps, prices }: Start,
  facts: Parameters<NewRun['manifest']>[0] & {
    readonly startedAt: string;
    readonly unique: string;
    readonly headOf: string | null;
  },
): Manifest {
  const { git, holdout } = facts;
  const goal = goalOf(graph);
  const noAgent = { name: '', describe: '', chosen_by: '' };
  const temperature = flags.temperature === undefined ? {} : { temperature: flags.temperature };
  return {
    schema_version: 1,
    run_id: runId,
    pipeline_path: graph.file,
    pipeline_file: resolve(host.cwd, graph.file),
    original_workdir: workdir ?? '',
    workspace_path: facts.workspace,
    started_at: facts.startedAt,
    ...(goal === undefined ? {} : { goal }),
    factory_version: packageVersion(),
    node_version: process.version,
    pipeline: { text: graph.text, sha256: sha256(graph.text) },
    prompts: { ...inputs.prompts },
    schemas: { ...inputs.schemas },
    variables: inputs.variables,
    agent: agentNow(
      graph,
      { ...noAgent, ...temperature },
      cast.casting,
      cast,
      flags.script !== undefined,
      flags,
    ),
    base_commit: git?.base_commit ?? facts.headOf,
    workdir_kind: facts.workdirKind,
    ...(git === undefined ? {} : { git }),
    marker: `${runId}.${facts.unique}`,
    caps: limitsForManifest(caps),
    ...(prices === undefined ? {} : { prices }),
    ...(holdout === undefined ? {} : { holdout }),
    env_pass: [...flags.envPass],
    ...keptSecrets(host.env),
    sandbox: sandbox.account,
    not_enforced: sandbox.account.missing,
  };
}
