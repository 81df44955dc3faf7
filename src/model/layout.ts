/** Every path of a run directory and of the workspace's `.factory/`, spelled once. */
import { join } from 'node:path';

/** The files of one run. `run` is `<runsdir>/<run id>`. */
export const layout = (run: string) => {
  // Normalised once: a join each would be paid at every call.
  const at = join(run, '_').slice(0, -1);
  return {
    root: run,
    manifest: `${at}manifest.json`,
    events: `${at}events.jsonl`,
    trace: `${at}trace.jsonl`,
    checkpoint: `${at}checkpoint.json`,
    /** What each finished visit changed; the checkpoint says how much of it counts. */
    visits: `${at}visits.jsonl`,
    /** Every call of a model that costs something, as it begins and as it ends. */
    calls: `${at}calls.jsonl`,
    result: `${at}result.json`,
    /** What the audit at the end of the run has found; missing where there was none. */
    audit: `${at}audit.json`,
    /** Ends Node's search for a package above the workspace. */
    barrier: `${at}package.json`,
    workspace: `${at}workspace`,
    locks: `${at}lock`,
    inputs: `${at}inputs`,
    /** New texts of `inputs/` while a resume puts them there, in a folder named by the manifest that they belong to. No
     *  node can have this name. */
    change: `${at}.change`,
    snapshots: `${at}snapshots`,
    history: `${at}history.git`,
    /** What of the workspace is out of an agent's sight, and the list of it. No node can have these names. */
    hidden: `${at}.hidden`,
    /** Private homes and temporary folders of confined stages; gone when they are over. */
    scratch: `${at}.scratch`,
    hiddenList: `${at}.hidden.json`,
    /** The holdout, packed and encrypted. No node can have this name. */
    sealed: `${at}.sealed`,
    /** What agents were asked and what they answered, call by call. */
    exchanges: `${at}exchanges`,
    /** Of a replay: the records of the other run that it follows. No node can have this name. */
    followed: `${at}.replay`,
    node: (id: string) => join(run, id),
  };
};
export type Layout = ReturnType<typeof layout>;

/** Names that a node id may not take, because the run directory uses them. */
export const reservedNodeIds: readonly string[] = [
  'workspace',
  'lock',
  'inputs',
  'snapshots',
  'exchanges',
  '__proto__',
];

/** The files of recorded exchanges, in `<run>/exchanges` or a copy of it. */
export const exchangesLayout = (dir: string) => ({
  root: dir,
  /** A line for each call. */
  calls: join(dir, 'calls.jsonl'),
  /** Texts too long for a line, each named by its SHA-256. */
  body: (sha256: string) => join(dir, 'bodies', sha256),
  bodies: join(dir, 'bodies'),
});

/** The record that a replay answers from, in `<run>/.replay`. */
export const followedLayout = (dir: string) => ({
  exchanges: join(dir, 'exchanges'),
  visits: join(dir, 'visits.jsonl'),
  /** Artifacts of tools and verifications, each file named by its SHA-256. */
  artifacts: join(dir, 'artifacts'),
  artifact: (sha256: string) => join(dir, 'artifacts', sha256),
  /** The result of the last proof of the commits. */
  proof: join(dir, 'proof.json'),
  /** Where the replay diverged from the record; missing as long as it has not. */
  divergence: join(dir, 'divergence.json'),
});

/** The files of one node's latest visit. `dir` is `<run>/<node>`. Asked for many times at every
 *  stage, so nothing is normalised. */
export const nodeLayout = (dir: string) => ({
  root: dir,
  stage: `${dir}/stage.json`,
  status: `${dir}/status.json`,
  diff: `${dir}/workspace.diff.json`,
  prompt: `${dir}/prompt.md`,
  response: `${dir}/response.md`,
  reasoning: `${dir}/reasoning.md`,
  usage: `${dir}/usage.json`,
  toolStdout: `${dir}/tool.stdout.txt`,
  toolStderr: `${dir}/tool.stderr.txt`,
  toolExitcode: `${dir}/tool.exitcode.txt`,
  verificationPlan: `${dir}/verification.plan.json`,
  verificationResults: `${dir}/verification.results.json`,
  rerun: [`${dir}/rerun.json`, `${dir}/rerun.stdout.txt`, `${dir}/rerun.stderr.txt`],
  output: `${dir}/output.json`,
  context: `${dir}/context.json`,
  visits: `${dir}/visits`,
});

/** What the engine and its pipelines keep in a workspace, relative to it. */
export const inWorkspace = {
  factory: '.factory',
  inputs: '.factory/in',
  plan: '.factory/plan',
  planPrompt: '.factory/plan/prompt.md',
  planAnswer: '.factory/plan/answer.json',
  planState: '.factory/plan/state.json',
  planSpec: '.factory/plan/spec.md',
  planOriginal: '.factory/plan/original-prompt.md',
  planChecked: '.factory/plan/plan.json',
  planNormalized: '.factory/plan/manifest_normalized.json',
  orders: '.factory/orders',
  order: '.factory/order',
  orderPrompt: '.factory/order/prompt.md',
  orderProposal: '.factory/order/proposal.json',
  orderState: '.factory/order/state.json',
} as const;

/** Context key of the product failures that chose a node's model, where it names several. */
export const escalationKey = (node: string): string => `internal.escalation.${node}`;
