/** Every path of a run directory and of the workspace's `.factory/`, defined once. */
import { join } from 'node:path';

export const historyLayout = (historyDir: string) => ({
  settings: join(historyDir, 'factory.gitconfig'),
  start: join(historyDir, 'factory-start.json'),
  /** The sealed paths of the run, if it has any. */
  sealed: join(historyDir, 'factory-sealed.json'),
  /** Patterns of workspace paths that git ignores. */
  exclude: join(historyDir, 'info', 'exclude'),
  /** Seen by commands of nodes that call git; matches the run's head between nodes. */
  index: join(historyDir, 'index'),
  /** Used for factory's commits; recreated for each. */
  scratchIndex: join(historyDir, 'factory.index'),
});

/** The run's last commit. A separate ref, so that changes of branches by a node do not move it. */
export const headRef = 'refs/factory/head';
export const baseRef = 'refs/factory/base';
/** The workdir's HEAD, if the run begins with another commit. */
export const copiedRef = 'refs/factory/copied';
/** The same commit as `headRef`, as a branch for commands of nodes that call git. */
export const branchRef = 'refs/heads/factory';

/** Content of the file HEAD of every run's history. */
export const headText = `ref: ${branchRef}\n`;

/** The files of one run. `run` is `<runsdir>/<run id>`. */
export const layout = (run: string) => {
  // Normalised once: a join for each path would be slow.
  const at = join(run, '_').slice(0, -1);
  return {
    root: run,
    manifest: `${at}manifest.json`,
    events: `${at}events.jsonl`,
    trace: `${at}trace.jsonl`,
    checkpoint: `${at}checkpoint.json`,
    /** The state of the run, line by line: the only file besides the contents that a resume reads it from. */
    journal: `${at}journal.jsonl`,
    result: `${at}result.json`,
    /** Findings of the audit at the end of the run; missing without an audit. */
    audit: `${at}audit.json`,
    /** Stops Node's search for package.json above the workspace. */
    barrier: `${at}package.json`,
    workspace: `${at}workspace`,
    /** The answers to questions of human gates, one file each: of several that answer the first one wins. In a run without gates no
     *  such folder exists, and a node may have its name. */
    answers: `${at}answers`,
    /** Notes of people to the agents of the run, one numbered file each. No node can have this name. */
    notes: `${at}steer-notes`,
    locks: `${at}lock`,
    /** Blanks, while a process executes the run: a full disk has room for its last records. Not covered by hashes. */
    room: `${at}lock/room`,
    /** The content store: the texts that the run was started with, long texts of agents, and the files of the
     *  workspace after every execution. */
    contents: `${at}contents`,
    history: `${at}history.git`,
    /** Workspace files hidden from an agent, and the list of them. No node can have these names. */
    hidden: `${at}.hidden`,
    /** Private home and temporary folders of sandboxed nodes; removed when the node ends. */
    scratch: `${at}.scratch`,
    hiddenList: `${at}.hidden.json`,
    /** The holdout, packed and encrypted. No node can have this name. */
    sealed: `${at}.sealed`,
    /** In a replay, a copy of the recorded run's records. No node can have this name. */
    followed: `${at}.replay`,
    /** What people asked for from outside (start, stop, deliver, …), one act a line. Not covered by hashes. */
    acts: `${at}acts.jsonl`,
    /** A request to the owner to stop, which it removes. Not covered by hashes. No node can have this name. */
    stopRequest: `${at}stop-request.json`,
    /** Hashes of the tokens with which notices let people answer, one a line. Not covered by hashes. No node can have this name. */
    answerTokens: `${at}answer-tokens.txt`,
    /** What the run prints in the background; each process appends. Not covered by hashes. No node can have this name. */
    log: `${at}run.log`,
    /** What the nodes that run now print and their models say, masked: one `LiveText` a line, replaced when one begins and no
     *  other runs. Not covered by hashes, never needed to resume. No node can have this name. */
    live: `${at}.live.jsonl`,
    /** The sessions of agents at work, masked, one file an execution. Not covered by hashes, never needed to resume, removed when the
     *  execution has ended: its artifacts have its session. No node can have this name. */
    sessions: `${at}.sessions`,
    node: (id: string) => join(run, id),
  };
};
export type Layout = ReturnType<typeof layout>;

/** What requests to `factory serve` leave in the runs directory. No run can have these names. */
export const requestLayout = (runsDir: string) => {
  const given = join(runsDir, '.given');
  return {
    /** Texts given for variables of runs: a folder for each run. */
    given,
    givenTo: (runId: string) => join(given, runId),
    /** The holdout directories that were named, one a line. */
    holdouts: join(runsDir, '.holdouts.jsonl'),
  };
};

/** Names in the run directory that a node id must not have. */
export const reservedNodeIds: readonly string[] = ['workspace', 'lock', 'contents', '__proto__'];

/** The record that a replay answers from, in `<run>/.replay`; what it names is in the contents of the replay. */
export const followedLayout = (dir: string) => ({
  /** A copy of that run's journal. */
  journal: layout(dir).journal,
  /** Where the replay diverged from the record; missing as long as it has not. */
  divergence: join(dir, 'divergence.json'),
});

/** The files of a node's latest execution. `dir` is `<run>/<node>`. Called many times per node, so paths are not
 *  normalised. */
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
  toolState: `${dir}/state.json`,
  context: `${dir}/context.json`,
  question: `${dir}/question.json`,
  /** Mutants that the scenarios of a judging node did not notice, encrypted with the key of the run's holdout. */
  survivors: `${dir}/survivors.sealed`,
  /** Of a node that has joined branches: what was merged, and each side of what was not. */
  join: `${dir}/join.json`,
  conflicts: `${dir}/conflicts`,
  visits: `${dir}/visits`,
});

/** In the directory of a node: what the n-th command printed that made the workspace ready for it. */
export const setupOutputs = (n: number) =>
  ({ stdoutName: `setup.${n}.stdout.txt`, stderrName: `setup.${n}.stderr.txt` }) as const;

/** Files of the engine and its pipelines in a workspace, relative to it. */
export const inWorkspace = {
  factory: '.factory',
  inputs: '.factory/in',
  plan: '.factory/plan',
  planPrompt: '.factory/plan/prompt.md',
  planAnswer: '.factory/plan/answer.json',
  /** With the answers to questions about it. */
  planSpec: '.factory/plan/spec.md',
  questionsPrompt: '.factory/plan/questions.md',
  planQuestions: '.factory/plan/questions.json',
  planOriginal: '.factory/plan/original-prompt.md',
  planChecked: '.factory/plan/plan.json',
  planNormalized: '.factory/plan/manifest_normalized.json',
  orders: '.factory/orders',
  order: '.factory/order',
  orderPrompt: '.factory/order/prompt.md',
  orderProposal: '.factory/order/proposal.json',
  /** Prompts of orders that are asked ahead of their turn: `1.md` for the first of a round. */
  ordersAhead: '.factory/order/ahead',
  /** State of tools that run by hand; in a run it is `$FACTORY_STATE`. */
  toolState: '.factory/state.json',
} as const;

/** Context key of the number of product failures by which a node with several models chooses one. */
export const escalationKey = (node: string): string => `internal.escalation.${node}`;

/** The environment variable that marks processes of a run, in addition to `FACTORY_RUN_MARKER`. Its name contains the
 *  marker of the run: a run inside a node of another run adds a variable, and the outer run still finds all its
 *  processes. Its value is the epoch of the owner that started the node: an owner that lost the run never ends processes
 *  of the next owner. */
export const epochVariable = (marker: string): string =>
  `FACTORY_RUN_EPOCH_${marker.slice(-16).replace(/[^A-Za-z0-9]/g, '_')}`;
