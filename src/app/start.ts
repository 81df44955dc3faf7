/** Starts runs: reads the inputs, chooses the agents, creates the run directory. */
import { resolve } from 'node:path';
import { type Caps, spendCapsOf } from '../core/budget/limits.ts';
import type { Refusal } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { buildsHistory, codergens, goalOf, startOf, workdirOf } from '../core/pipeline.ts';
import { sha256 } from '../core/sha256.ts';
import { budgetGiven } from '../engine/shared-budget.ts';
import { chooseHoldout } from '../holdout/seal.ts';
import { headCommit } from '../platform/git.ts';
import { packageVersion } from '../platform/package.ts';
import { readPriceFile } from './budget.ts';
import { createRun } from './create-run.ts';
import { readInputs, textsOf } from './inputs.ts';
import {
  describePlan,
  type LoadedScript,
  loadScript,
  resolveAgents,
  scriptProblem,
  selfContained,
} from './resolve-agents.ts';
import { driveMade } from './resume.ts';
import { sandboxOf } from './sandbox.ts';
import { keptSecrets, secretsProblem } from './secrets.ts';
import { type Doors, type Finished, keptScript, type RunFlags } from './types.ts';
import { flagsOfAgent } from './unchanged-inputs.ts';

/** Starts a run and runs it to its end. Leaves nothing behind if it refuses. */
export async function startRun(
  graph: Graph,
  where: { readonly runsDir: string; readonly runId: string },
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const misnamed = secretsProblem(doors.env);
  if (misnamed !== undefined) return misnamed;
  const read = await readInputs(graph, flags.vars, doors.cwd);
  if ('problems' in read) return read;
  const { inputs } = read;
  const loaded =
    codergens(graph).length === 0 && flags.script === undefined
      ? { script: undefined }
      : await loadScript(graph, flags.script, doors.cwd);
  if ('problems' in loaded) return loaded;
  const castWith = (script: LoadedScript | undefined) =>
    resolveAgents(graph, {
      env: doors.env,
      flag: flags.agent,
      model: flags.model,
      effort: flags.effort,
      temperature: flags.temperature,
      script,
      scriptNamed: flags.script !== undefined,
    });
  let casting = castWith(loaded.script);
  if ('problems' in casting) return casting;
  const keep: Record<string, string> = { ...flags.keep };
  const scripted = [...casting.plans.values()].some(
    (plan) =>
      plan.name === 'scripted' || ('agents' in plan && plan.agents.some((one) => one.name === 'scripted')),
  );
  if (scripted && loaded.script !== undefined) {
    const mismatch = scriptProblem(loaded.script.script, inputs);
    if (mismatch !== undefined) return { problems: [mismatch] };
    const whole = await selfContained(loaded.script);
    if ('problems' in whole) return whole;
    keep[keptScript] = `${JSON.stringify(whole, null, 2)}\n`;
    // The run uses the stored copy, as a resume does, so that later changes of the answer files have no effect.
    casting = castWith({ ...loaded.script, script: whole });
    if ('problems' in casting) return casting;
  }
  const workdir = workdirOf(graph, flags, doors.cwd);
  const found = await chooseHoldout(graph, {
    flag: flags.holdout,
    cwd: doors.cwd,
    variables: inputs.variables,
    workdir,
    runsDir: where.runsDir,
    env: doors.env,
  });
  if ('problem' in found) return { problems: [found.problem] };
  const holdout = found.wanted;
  const sandbox = await sandboxOf(
    graph,
    { runsDir: where.runsDir, workdir: workdir ?? '', holdoutFrom: holdout?.from },
    flags.sandbox,
    doors,
  );
  if ('problems' in sandbox) return sandbox;
  const wanted = graph.settings;
  const caps: Caps = {
    maxSteps: flags.maxSteps ?? wanted.max_steps,
    maxWallMs: flags.maxWallMs ?? wanted.max_wall,
    ...(flags.maxVisits === undefined ? {} : { maxVisits: flags.maxVisits }),
    commandTimeoutMs: flags.commandTimeoutMs,
    maxCostUsd: flags.maxCostUsd ?? wanted.max_cost_usd,
    maxTokens: flags.maxTokens ?? wanted.max_tokens,
    unknownCost: flags.unknownCost ?? wanted.unknown_cost,
    parkAfterMs: flags.parkAfterMs ?? wanted.park_after,
    parkPassing: flags.parkPassing,
    maxOutageMs: flags.maxOutageMs ?? wanted.max_outage,
  };
  const priced = await readPriceFile(graph, flags.prices, doors.env, doors.cwd);
  if ('problems' in priced) return priced;
  const budget = budgetGiven(doors.env);
  if (budget !== undefined && 'problems' in budget) return budget;
  const goal = goalOf(graph);
  const marker = `${where.runId}.${sha256(`${where.runsDir}\0${doors.clock.now().toISOString()}\0${doors.clock.monotonic()}`).slice(0, 16)}`;
  const startedAt = doors.clock.now().toISOString();
  const main = casting.main;
  const headOf = workdir === undefined || buildsHistory(graph) ? null : await headCommit(workdir, doors.env);
  const made = await createRun({
    runId: where.runId,
    unique: marker.slice(-16),
    runsDir: where.runsDir,
    workdir,
    exclude: flags.exclude ?? [],
    inputs,
    holdout,
    env: doors.env,
    goal,
    startNode: startOf(graph).id,
    startedAt,
    signal: doors.signal,
    keep,
    historian: buildsHistory(graph)
      ? {
          begin: async (from, historyDir) =>
            (await import('../git/start-history.ts')).startHistory({
              workdir: from,
              historyDir,
              allowDirty: flags.allowDirty,
              ...(flags.base === undefined ? {} : { base: flags.base }),
              redo: flags.redo === true,
              runId: where.runId,
              env: doors.env,
            }),
          recordBase: async (workspace, historyDir, sealed) =>
            (await import('../git/start-history.ts')).recordBase({
              historyDir,
              workspace,
              sealed,
              runId: where.runId,
              now: doors.clock.now(),
              env: doors.env,
            }),
        }
      : undefined,
    manifest: ({ workspace, workdirKind, git, holdout }) => ({
      schema_version: 1,
      run_id: where.runId,
      pipeline_path: graph.file,
      pipeline_file: resolve(doors.cwd, graph.file),
      original_workdir: workdir ?? '',
      workspace_path: workspace,
      started_at: startedAt,
      ...(goal === undefined ? {} : { goal }),
      factory_version: packageVersion(),
      node_version: process.version,
      pipeline: { text: graph.text, sha256: sha256(graph.text) },
      prompts: { ...inputs.prompts },
      schemas: { ...inputs.schemas },
      variables: inputs.variables,
      agent: {
        name: main?.name ?? '',
        describe: main === undefined ? '' : describePlan(main),
        chosen_by: main?.chosenBy ?? '',
        ...(main !== undefined && 'model' in main ? { model: main.model } : {}),
        ...(main !== undefined && 'effort' in main ? { effort: main.effort } : {}),
        ...(flags.temperature === undefined ? {} : { temperature: flags.temperature }),
        ...(loaded.script !== undefined && scripted
          ? { script: { path: loaded.script.path, sha256: sha256(loaded.script.text), stored: keptScript } }
          : {}),
        ...flagsOfAgent(flags, flags.script === undefined ? undefined : loaded.script?.text),
      },
      base_commit: git?.base_commit ?? headOf,
      workdir_kind: workdirKind,
      ...(git === undefined ? {} : { git }),
      marker,
      caps: {
        max_steps: caps.maxSteps,
        max_wall_ms: caps.maxWallMs ?? null,
        ...(caps.maxVisits === undefined ? {} : { max_visits: caps.maxVisits }),
        ...(caps.commandTimeoutMs === undefined ? {} : { command_timeout_ms: caps.commandTimeoutMs }),
        ...spendCapsOf(caps),
      },
      ...(priced.kept === undefined ? {} : { prices: priced.kept }),
      ...(holdout === undefined ? {} : { holdout }),
      env_pass: [...flags.envPass],
      ...keptSecrets(doors.env),
      sandbox: sandbox.account,
      not_enforced: sandbox.account.missing,
    }),
  });
  return driveMade(made, graph, { casting, inputs: textsOf(inputs), caps }, flags, doors);
}
