/** Opens what the nodes of a run are executed with: its agents, programs, texts and secrets. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAgents } from '../../agents/index.ts';
import { needsPromptAlone } from '../../agents/openai/settings.ts';
import { allNodes, type Graph, type Node, writtenId } from '../../core/graph.ts';
import { asksPeople } from '../../core/human-gate.ts';
import { agentKeyOf, asksAgents } from '../../core/pipeline.ts';
import { historyLayout, layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { startRecordIn } from '../../core/records/visit.ts';
import { withFlags } from '../../core/settings/typing.ts';
import { sha256 } from '../../core/sha256.ts';
import { withGoal } from '../../core/variables.ts';
import { allPassed } from '../../engine/environment.ts';
import { executeHere } from '../../engine/layers/index.ts';
import type { Run } from '../../engine/run-context.ts';
import { holdsFolderOf, openHolds } from '../../fleet/holds.ts';
import { sendsFileAlone } from '../../nodes/prompt.ts';
import { realEvery } from '../../platform/clock.ts';
import { makeFolder } from '../../platform/files/write.ts';
import { packageRoot } from '../../platform/package.ts';
import { realSpawn } from '../../platform/process/spawn.ts';
import { OutOfMemory } from '../../platform/process/spawn-error.ts';
import { confining } from '../../platform/sandbox/spawn.ts';
import { openLiveTexts } from '../../run/live-texts.ts';
import { schemaOf } from '../inputs.ts';
import { kindsOf } from '../kinds.ts';
import type { Sandbox } from '../sandbox.ts';
import { keptSecrets } from '../secrets.ts';
import type { LoadedRun } from './own-run.ts';

export async function nodesOfRun(run: LoadedRun & { readonly sandbox: Sandbox }) {
  const { runDir, task, recorded, manifest, sandbox, flags, host, lock } = run;
  const { graph, texts, agents: plans, caps } = task.terms;
  const { variables, prompts, inputFiles, schemas } = texts;
  const { env, clock, log, ownSteps } = host;
  const { workspace, history, answers, notes } = layout(runDir);
  // Before the first sandbox: what does not exist cannot be made read-only in it.
  if (asksPeople(graph)) makeFolder(answers);
  if (asksAgents(graph) && [...allNodes(graph).values()].some(({ settings }) => settings.access === 'run'))
    makeFolder(notes);
  const readText = (path: string) => readFile(path, 'utf8');
  const agents = await createAgents(plans.plans, { env, clock, readFile: readText });
  const live = openLiveTexts(runDir, clock);
  const flagged = withGoal(withFlags(graph, { ...caps, fidelity: manifest.agent.fidelity }), variables);
  const agentFor = (node: Parameters<typeof agentKeyOf>[0]) => agents.get(agentKeyOf(node));
  const value = {
    graph: flagged,
    runId: manifest.run_id,
    workspace,
    start: startRecordIn(recorded.history.records).snapshot,
    setup: manifest.setup,
    ...{ clock, env, log, ownSteps, variables, prompts, inputFiles },
    command_timeout: caps.command_timeout,
    spawn: confining(realSpawn, sandbox.ladder),
    confinement: sandbox.confinement,
    envPass: [...manifest.env_pass, ...(flags.env_pass ?? [])],
    secrets: keptSecrets(env, manifest).secrets,
    autoAnswers: manifest.auto_answers,
    marker: manifest.marker,
    epoch: lock.epoch,
    factoryBin: join(packageRoot(), 'dist', 'bin'),
    node: process.execPath,
    schema: (reference: string) => schemaOf(reference, schemas),
    agentFor,
    promptOnly: promptOnlyIn(agentFor, manifest),
    historyEnv: manifest.git === undefined ? {} : historyEnvironment(history, workspace),
    watcher: live.watching(host.watcher),
    every: realEvery,
    outOfMemory: new OutOfMemory(),
    kinds: kindsOf(graph),
    execute: executeHere,
    waited: 'change' in task && task.waited,
    stopAsked: host.stops.asked,
    early: flags.now === true,
    holds: openHolds({ runsDir: holdsFolderOf(runDir), runDir, epoch: lock.epoch, clock, log }),
    stopAfter: env['ATTRACTION_TEST_STOP_AFTER_NODE'] || undefined,
  };
  for (const passed of allPassed(value))
    log('warn', 'env_pass="*": all secrets of the environment are passed', passed);
  return { value, close: () => live.close() };
}

/** The nodes of a graph whose answers depend on nothing but the text of their prompt_file, each with a hash of who answers;
 *  computed once per graph. */
function promptOnlyIn(
  agentFor: Run['agentFor'],
  { agent: chosen, replay_of }: Partial<Pick<Manifest, 'replay_of'>> & Pick<Manifest, 'agent'>,
): NonNullable<Run['promptOnly']> {
  // A replay may have no agents: the recorded ones answer.
  const isAlone = (node: Node): boolean => {
    const agent = agentFor(node);
    if (agent !== undefined)
      return agent.answersAlone?.(node.settings) === true || agent.preparedFor?.(node.id) === true;
    return (
      replay_of !== undefined &&
      needsPromptAlone(node.settings['agent.backend'] ?? chosen.name, node.settings)
    );
  };
  const known = new WeakMap<Graph, readonly string[]>();
  return (graph) => {
    const found =
      known.get(graph) ??
      [...graph.nodes.values()]
        .filter((node) => sendsFileAlone(graph, node) && isAlone(node))
        .map((node) => `${writtenId(graph, node.id)}=${whoAnswers(node, chosen)}`);
    known.set(graph, found);
    return found;
  };
}

/** Changes with the agent, the model and the effort that answer a node. */
function whoAnswers({ settings }: Node, chosen: Manifest['agent']): string {
  const { name, by_provider, script, model, effort } = chosen;
  const { 'agent.backend': agent, llm_provider, llm_model, reasoning_effort } = settings;
  const own = [agent, llm_provider, llm_model, reasoning_effort];
  return sha256(JSON.stringify([name, by_provider, script?.sha256, model, effort, own]));
}

const historyEnvironment = (history: string, workspace: string): Readonly<Record<string, string>> => ({
  GIT_DIR: history,
  GIT_WORK_TREE: workspace,
  GIT_INDEX_FILE: historyLayout(history).index,
});
