import type { AskedModel } from '../core/agent-words.ts';
import { type Json, own } from '../core/json.ts';
import type { Context } from '../core/outcome.ts';
import { reportedValue } from '../core/policy/reported-keys.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { Mark, RunState } from '../core/records/checkpoint.ts';
import { layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import {
  type Commit,
  type DeniedCalls,
  type Evidence,
  type EvidenceCommand,
  floorStates,
  isolations,
  type Outdated,
  outdatedSchema,
  type RunResult,
} from '../core/records/result.ts';
import { reportedStrength, strengthKey } from '../core/records/strength.ts';
import type { CallRecord, RanCommand, RunRecord, VisitRecord } from '../core/records/visit.ts';
import { sha256 } from '../core/sha256.ts';
import { AgentBefore } from './agent-before.ts';
import { BranchSummary } from './branch-summary.ts';

/** Commands that a result lists. */
const mostCommands = 200;

/** What a result reports of an execution. */
type EvidenceVisit = Pick<VisitRecord, 'node' | 'node_type' | 'visit' | 'commands' | 'artifacts'> & {
  readonly outcome: Pick<VisitRecord['outcome'], 'status'>;
};

/** A summary of the executions of a run. */
export type Visits = {
  readonly failed: number;
  /** Of all executions, what an agent's permissions did not allow. */
  readonly denied: readonly DeniedCalls[];
  /** Undefined without any. */
  readonly answers: RunResult['answers'];
  readonly branches: RunResult['branches'];
  /** Of the journal. */
  readonly mark: Mark;
  /** The latest execution of each node, if it has run a command. */
  readonly latest: readonly EvidenceVisit[];
  /** The models that each node asked, in the order of their first calls. */
  readonly asked: readonly NodeAsked[];
  /** The agent up to the failure of a node. */
  readonly agentBefore: (node: string) => string | undefined;
};

type NodeAsked = AskedModel & { readonly node: string };

/** Sums up executions one by one; it keeps little of each. */
export class VisitSummary {
  private failed = 0;
  private readonly denied = new Map<string, Set<string>>();
  private readonly latest = new Map<string, EvidenceVisit>();
  private readonly asked = new Map<string, NodeAsked>();
  private answers: RunResult['answers'];
  /** Every line about executions and branches. */
  readonly branches = new BranchSummary();
  private readonly agents = new AgentBefore();

  call({ node, agent, model }: NodeAsked): void {
    this.asked.set(JSON.stringify([node, agent, model]), { node, agent, model });
  }

  add(record: Omit<EvidenceVisit, 'outcome'> & Pick<VisitRecord, 'outcome' | 'answer' | 'branch'>): void {
    const { node, node_type, visit, outcome, commands = [], artifacts = {}, answer } = record;
    this.agents.add(record);
    if (answer !== undefined) {
      const { people, automatic, timeouts } = this.answers ?? { people: 0, automatic: 0, timeouts: 0 };
      this.answers = {
        people: people + Number(answer.from !== 'auto' && answer.from !== 'timeout'),
        automatic: automatic + Number(answer.from === 'auto'),
        timeouts: timeouts + Number(answer.from === 'timeout'),
      };
    }
    if (outcome.status === 'fail') this.failed += 1;
    if (outcome.denied !== undefined && outcome.denied.length > 0)
      this.denied.set(node, new Set([...(this.denied.get(node) ?? []), ...outcome.denied]));
    this.latest.set(node, {
      node,
      node_type,
      visit,
      outcome: { status: outcome.status },
      commands,
      artifacts,
    });
  }

  /** `mark`: of the journal with these executions. */
  now(mark: Mark): Visits {
    return {
      failed: this.failed,
      answers: this.answers,
      branches: this.branches.now(),
      denied: [...this.denied].map(([node, calls]) => ({ node, calls: [...calls] })),
      mark: { records: mark.records, sha256: mark.sha256 },
      latest: [...this.latest.values()].filter(({ commands = [] }) => commands.length > 0),
      asked: [...this.asked.values()],
      agentBefore: (node) => this.agents.of(node),
    };
  }
}

/** The executions and the model calls among the records of a journal. */
export function visitsAmong(records: readonly RunRecord[], calls: readonly CallRecord[]): VisitSummary {
  const summary = new VisitSummary();
  for (const record of records) {
    if (record.type !== 'Start') summary.branches.add(record);
    if (record.type === 'Visit') summary.add(record);
  }
  for (const call of calls) if (call.type === 'CallStarted') summary.call(call);
  return summary;
}

/** The tree hashes of these commits of a history; empty if it cannot be read. */
export type TreesOf = (historyDir: string, commits: readonly string[]) => Promise<readonly string[]>;

export async function evidenceOf(
  manifest: Manifest,
  runDir: string,
  treesOf: TreesOf,
  visits: Visits,
  run: {
    readonly failed: boolean;
    readonly snapshot: string | null;
    readonly commits: readonly Commit[];
    readonly proof: readonly string[];
    readonly context: Context;
    readonly origins: RunState['origins'];
  },
): Promise<Evidence> {
  const counted = visits.latest.filter(({ outcome }) => !run.failed || outcome.status === 'fail');
  const judged = judgedIn(run);
  const skipped = unjudgedIn(judged, run);
  const unjudged = skipped ?? withoutHoldout(manifest, run.failed, judged);
  // A `factory scenario` command that ran no scenarios is no evidence.
  const commands = counted
    .flatMap((visit) => commandsOf(visit, run.proof))
    .filter(({ command }) => skipped === undefined || !judging.test(command));
  const made = run.commits.flatMap(({ work_order, commit }) =>
    commit === null ? [] : [{ work_order, commit }],
  );
  const trees = await treesOf(
    layout(runDir).history,
    made.map(({ commit }) => commit),
  );
  return {
    commands: commands.slice(0, mostCommands),
    more_commands: Math.max(0, commands.length - mostCommands),
    inputs: inputsOf(manifest),
    ...(judged === undefined || skipped !== undefined ? {} : { judged }),
    ...(unjudged === undefined ? {} : { unjudged }),
    ...ordersIn(run),
    ...(visits.asked.length === 0 ? {} : { asked: [...visits.asked] }),
    base_commit: manifest.git?.base_commit ?? manifest.base_commit,
    commits: made.map((one, at) => ({ ...one, tree: trees[at] ?? null })),
    snapshot: run.snapshot,
    chain: visits.mark.sha256,
    journals: { [layout('').journal]: visits.mark },
    factory_version: manifest.factory_version,
  };
}

type Reported = { readonly context: Context; readonly origins: RunState['origins'] };

/** The latest result of `factory scenario`; what a node set that may not report it does not count. */
export function judgedIn(reported: Reported): Evidence['judged'] {
  const value = (key: string): unknown => reportedValue(reported, key);
  const [passed, total] = [value('judge.passed'), value('judge.total')];
  if (typeof passed !== 'number' || typeof total !== 'number') return undefined;
  const floor = floorStates.find((state) => state === value('judge.floor'));
  const before = value('judge.passed_before');
  const isolation = isolations.find((one) => one === value('judge.isolation'));
  const strength = reportedStrength({ [strengthKey]: value(strengthKey) });
  return {
    passed,
    total,
    ...(floor === undefined ? {} : { floor }),
    ...(typeof before === 'number' ? { passed_before: before } : {}),
    ...(isolation === undefined ? {} : { isolation }),
    ...(strength === undefined ? {} : { strength }),
  };
}

/** That all scenarios were skipped, or that there were none. */
function unjudgedIn(judged: Evidence['judged'], reported: Reported): string | undefined {
  const none = reportedValue(reported, 'judge.status') === 'none';
  if (judged === undefined || (!none && judged.total > 0)) return undefined;
  const { total } = judged;
  const why =
    total === 0 ? 'there are none' : total === 1 ? 'the only one was skipped' : `all ${total} were skipped`;
  return `no scenario judged the product: ${why}`;
}

/** The note of a build that nothing has judged but its own checks. */
function withoutHoldout(
  { git, holdout }: Manifest,
  failed: boolean,
  judged: Evidence['judged'],
): string | undefined {
  if (git === undefined || holdout !== undefined || failed || judged !== undefined) return undefined;
  return 'no scenario judged the product: the run has no holdout';
}

/** What the build reported of its work orders. */
function ordersIn(reported: Reported): Pick<Evidence, 'unchecked_orders' | 'unchanged_orders' | 'outdated'> {
  const listed = (key: string): readonly Json[] => {
    const value = reportedValue(reported, key);
    return Array.isArray(value) ? value : [];
  };
  const unchecked = listed('build.unchecked').map(String);
  const unchanged = listed('build.unchanged').map(String);
  const outdated = reportedOutdated(reported);
  return {
    ...(unchecked.length === 0 ? {} : { unchecked_orders: unchecked }),
    ...(unchanged.length === 0 ? {} : { unchanged_orders: unchanged }),
    ...(outdated.length === 0 ? {} : { outdated: [...outdated] }),
  };
}

/** Commands that accepted earlier orders and did not hold on the last commit. */
export const reportedOutdated = (reported: Reported): readonly Outdated[] =>
  outdatedSchema().array().safeParse(reportedValue(reported, 'build.outdated')).data ?? [];

/** The hashes of all inputs of a run. */
export function inputsOf(manifest: Manifest): Evidence['inputs'] {
  const texts = (of: Manifest['prompts'] = {}) =>
    Object.fromEntries(Object.entries(of).map(([name, text]) => [name, text.sha256]));
  const { holdout, agent, prices } = manifest;
  return {
    pipeline: manifest.pipeline.sha256,
    ...(manifest.pipelines === undefined ? {} : { pipelines: texts(manifest.pipelines) }),
    variables: Object.fromEntries(
      Object.entries(manifest.variables).map(([name, { value, file }]) => [
        name,
        file?.sha256 ?? sha256(value),
      ]),
    ),
    prompts: texts(manifest.prompts),
    schemas: texts(manifest.schemas),
    scenarios: holdout === undefined ? null : { sha256: holdout.sha256, files: holdout.files },
    agent_script: agent.script?.sha256 ?? null,
    prices: prices?.sha256 ?? null,
  };
}

const judging = /\bfactory scenario\b/;

/** Commands of the planner and builder that check nothing of the product. */
const bookkeeping = /^factory (?:order (?!proof\b)|plan\b)/;

function commandsOf(visit: EvidenceVisit, proof: readonly string[]): EvidenceCommand[] {
  const { node, node_type, outcome, commands = [], artifacts = {} } = visit;
  const about = { node, visit: visit.visit, outcome: outcome.status };
  const printed = ({ stdout, stderr }: Pick<RanCommand, 'stdout' | 'stderr'>) => ({
    stdout_sha256: own(artifacts, stdout) ?? null,
    stderr_sha256: own(artifacts, stderr) ?? null,
  });
  return commands.flatMap((ran): EvidenceCommand[] => {
    const command = spokenCommand(ran.argv);
    if (bookkeeping.test(command)) return [];
    const what = node_type === 'verification' ? node_type : whatIs(command);
    const one = { ...about, what, command, exit_code: ran.exit_code, ...printed(ran) };
    // A successful proof has passed all its commands; their outputs are its artifacts.
    const inside = what !== 'proof' || outcome.status !== 'success' ? [] : proof;
    return [
      one,
      ...inside.map((text, n) => {
        const names = { stdout: `proof.${n}.stdout.txt`, stderr: `proof.${n}.stderr.txt` };
        return { ...about, what, command: text, exit_code: 0, ...printed(names) };
      }),
    ];
  });
}

/** The shell's own text of a shell command; else its words, quoted where they need it. */
export function spokenCommand(argv: readonly string[]): string {
  const [program, flag, text] = argv;
  return program === 'sh' && flag === '-c' && argv.length === 3
    ? (text ?? '')
    : argv.map(quoteWord).join(' ');
}

function whatIs(command: string): EvidenceCommand['what'] {
  if (/^factory order proof\b/.test(command)) return 'proof';
  return isJudging(command) ? 'scenario' : 'tool';
}

/** Whether a command of a tool runs scenarios. */
export const isJudging = (command: string): boolean =>
  judging.test(command) || /\bscripts\/scenarios\//.test(command);
