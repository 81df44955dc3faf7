/** Work done by an agent: assembles and stores the prompt; the agent's report becomes the outcome. */
import type { AgentProgram, AgentTask } from '../core/contracts/agent.ts';
import { kind, type NodeAgent, type NodeContext } from '../core/contracts/node-kind.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import { modelOf } from '../core/escalation.ts';
import type { Graph, Node } from '../core/graph.ts';
import { failed, type Outcome } from '../core/outcome.ts';
import { wordsNamedAt } from '../core/own-words.ts';
import {
  agentFailures,
  answersPartly,
  answersWithDocument,
  partialSuccess,
  reportedSuccess,
} from '../core/possible-outcomes.ts';
import { testsOutcome } from '../core/routing.ts';
import { withNotes, withoutFinalNewline } from '../core/sent-prompt.ts';
import {
  codergenAttributes,
  commonAttributes,
  executableAttributes,
  isGoalGate,
  type NodeSettings,
} from '../core/settings/node.ts';
import type { Settings } from '../core/settings/types.ts';
import { answeredBy, outcomeOfReport } from './agent-outcome.ts';
import { type Patience, patience } from './patience.ts';
import { withAllowlist, withBranches, withFeedback, withVerdict } from './prompt.ts';
import { askInThread, keptPrompt, type NodePrompt, threadOf } from './thread.ts';

const attributes = {
  ...commonAttributes,
  ...executableAttributes,
  ...codergenAttributes,
} as const;

type CodergenSettings = Settings<typeof attributes>;

/** Bytes of a prompt file; a larger one is not a prompt. */
const promptLimit = 32 * 1024 * 1024;

export const codergen = kind({
  type: 'codergen',
  does: 'Asks an agent to work in the workspace, or a model for an answer.',
  shapes: ['box'],
  ids: [],
  aliases: ['agent', 'codergen.acp', 'stack.observe', 'stack.steer'],
  executable: true,
  outcomes: (node) => [
    reportedSuccess,
    ...agentFailures,
    ...(answersWithDocument(node) && !node.settings.allow_partial
      ? []
      : [partialSuccess(answersPartly(node))]),
  ],
  attributes,
  codes: [
    {
      code: 'sees-holdout',
      severity: 'error',
      rule: 'No agent node has `sees_holdout=true`.',
      wrong: 'start; exit; a [label=a, sees_holdout=true]; start -> a -> exit',
      fix: 'remove it; to let an agent read scenarios, set `codex.allow_read_scenarios=true` or its counterpart',
    },
    {
      code: 'strict-read-scope',
      severity: 'error',
      rule: 'A strict read scope names a folder in the workspace.',
      wrong: 'start; exit; a [label=a, codex.strict_read_scope=true]; start -> a -> exit',
      fix: '`codex.workdir="app"`',
    },
  ],
  check(node, graph) {
    const scope = strictScope(node, graph);
    if (node.settings.sees_holdout !== true) return scope;
    return [
      ...scope,
      {
        code: 'sees-holdout',
        severity: 'error',
        message: `sees_holdout=true on ${node.type} node "${node.id}": agents may not read the holdout`,
        place: { file: graph.file, span: node.attrs.get('sees_holdout')?.valueSpan ?? node.span },
        fix: 'remove it; to let an agent read the scenarios, set codex.allow_read_scenarios=true (claude., command., openai.)',
      },
    ];
  },
  async run(settings, context) {
    const prompt = await wholePrompt(settings, context);
    if ('outcome' in prompt) return prompt.outcome;
    const { agent } = context;
    const broken = (why: string) => failed(why, 'config', { broke: true });
    if (agent === undefined) return broken(`no agent is configured for node "${context.node.id}"`);
    const { response_schema: name } = settings;
    const schema = name === undefined ? undefined : await context.inputs.schema(name);
    if (name !== undefined && schema === undefined)
      return broken(`response_schema "${name}" is not a known schema`);
    const thread = threadOf(context, agent);
    if (thread !== undefined && 'refused' in thread) return broken(thread.refused);
    const watch = watchFor(settings, context, agent);
    try {
      const ask = (text: string, within: Pick<AgentTask, 'thread'>) =>
        agent.ask(
          { ...taskOf(settings, context, { agent, watch, prompt: text, schema }), ...within },
          watch.signal,
        );
      const report = await askInThread(prompt, thread, context, ask);
      for (const usage of report.spentBefore ?? []) agent.spent(usage);
      if (report.kind === 'cancelled' && report.usage !== undefined) agent.spent(report.usage);
      const stalled = report.kind === 'cancelled' && !context.signal.aborted ? watch.why : undefined;
      const outcome =
        stalled === undefined
          ? await outcomeOfReport(report, { settings: settings, context, agent, schema: schema?.schema })
          : stoppedAgent(report.by?.agent ?? agent.name, stalled);
      const by = answeredBy(report, agent.name, modelOf(context.node, context.inputs.values));
      const { denied } = report;
      return {
        ...outcome,
        ...(by === undefined ? {} : { by }),
        ...(denied === undefined ? {} : { denied }),
      };
    } finally {
      watch.end();
    }
  },
});

const stoppedAgent = (name: string, why: string): Outcome =>
  failed(`the agent ${name} was stopped: ${why}`, 'stalled', { broke: true });

/** What the agent is asked for, and what it may use. */
function taskOf(
  settings: CodergenSettings,
  context: NodeContext,
  {
    agent,
    watch,
    prompt,
    schema,
  }: {
    readonly agent: NodeAgent;
    readonly watch: Patience;
    readonly prompt: string;
    readonly schema: AgentTask['schema'];
  },
): AgentTask {
  const { graph, node, files, processes, attempt } = context;
  const model = modelOf(node, context.inputs.values)?.model ?? settings.llm_model?.[0];
  return {
    node: node.id,
    call: agent.call,
    prompt,
    workspace: context.workspace.path,
    nodeDir: files.path,
    settings: node.settings,
    ...(model === undefined ? {} : { model }),
    ...(schema === undefined ? {} : { schema }),
    // A goal gate judges the answer itself.
    ...(!isGoalGate(settings) && testsOutcome(graph, node.id) ? { tested: true } : {}),
    named: wordsNamedAt(graph, node.id),
    ...(attempt.timeout.explicit ? { timeoutMs: attempt.timeout.ms } : { idleMs: attempt.timeout.ms }),
    onText(piece, channel) {
      watch.heard();
      agent.stream(piece, channel);
    },
    expand: (text) => context.inputs.expand(text, 'plain'),
    run: (program) => processes.runAgent(heardBy(watch, program), watch.signal),
    sandbox: () => processes.agentSandbox(),
    keep: (name, content) => files.keep(name, content),
    log: (level, message, fields) => context.log(level, message, fields),
    acted(action) {
      watch.acted(action);
      agent.acted(action);
    },
    session: (line) => agent.session(line),
    waits: (wait) => agent.waits(wait),
  };
}

const watchFor = (settings: CodergenSettings, context: NodeContext, agent: NodeAgent): Patience =>
  patience({
    clock: context.clock,
    silentMs: settings.stall_timeout,
    sameCalls: settings.max_same_calls,
    changedSince: (at) => agent.changedSince(at),
  });

/** The program; its output counts as activity. */
const heardBy = (watch: Patience, program: AgentProgram): AgentProgram => ({
  ...program,
  onStdout(text) {
    watch.heard();
    program.onStdout?.(text);
  },
  onStderr(text) {
    watch.heard();
    program.onStderr?.(text);
  },
});

/** The whole prompt, which is stored in `prompt.md` too; `task`: without what it says of the run so far. */
async function wholePrompt(
  settings: CodergenSettings,
  context: NodeContext,
): Promise<NodePrompt | { readonly outcome: Outcome }> {
  const own = await ownPrompt(settings, context);
  if ('outcome' in own) return own;
  const fed = settings.failure_feedback ? withFeedback(own.text, context.inputs.values) : own.text;
  const listed = withAllowlist(fed, context.graph, context.node);
  const branched = withBranches(listed, await context.inputs.joined());
  const { goal_gate: gate } = settings;
  const criterion = typeof gate === 'string' ? gate : undefined;
  const steered = withNotes(branched, await context.inputs.notes());
  const task = isGoalGate(settings) ? withVerdict(steered, criterion, context.attempt.repeats) : steered;
  return keptPrompt(task, context.inputs.conversation.fidelity, context);
}

async function ownPrompt(
  settings: CodergenSettings,
  context: NodeContext,
): Promise<{ readonly text: string } | { readonly outcome: Outcome }> {
  const broken = (why: string) => ({ outcome: failed(why, 'config', { broke: true }) });
  const text = await writtenPrompt(settings, context);
  if ('missing' in text) return broken(text.missing);
  if (!settings.prompt_expand) return text;
  const expanded = context.inputs.expand(text.text, 'prompt');
  return 'unknown' in expanded
    ? broken(`the prompt names ${expanded.unknown}, which has no value`)
    : expanded;
}

/** The prompt before anything in it is expanded: a workspace file, a file frozen at the start, the text, the label. */
async function writtenPrompt(
  settings: Pick<CodergenSettings, 'prompt' | 'prompt_file' | 'label'>,
  context: NodeContext,
): Promise<{ readonly text: string } | { readonly missing: string }> {
  if (settings.prompt_file !== undefined) {
    const path = context.inputs.expand(settings.prompt_file, 'plain');
    if ('unknown' in path) return { missing: `prompt_file names ${path.unknown}, which has no value` };
    // The text ends at a character boundary; a character has at most four bytes.
    const read = await context.workspace.read(path.text, promptLimit + 4);
    if (read === undefined) return { missing: `prompt_file "${path.text}" is not in the workspace` };
    if (Buffer.byteLength(read) > promptLimit)
      return { missing: `prompt_file "${path.text}" is larger than ${promptLimit / 1024 / 1024} MiB` };
    return { text: withoutFinalNewline(read) };
  }
  if (settings.prompt?.startsWith('@') === true) {
    const frozen = context.inputs.prompt(settings.prompt);
    if (frozen === undefined)
      return { missing: `prompt "${settings.prompt}" was not read at the start of the run` };
    return { text: withoutFinalNewline(frozen) };
  }
  return { text: settings.prompt ?? settings.label ?? context.node.id };
}

/* Checks of the attributes that a node sets for its agent. */

type StrictScope = {
  readonly 'codex.strict_read_scope'?: boolean;
  readonly 'codex.workdir'?: string;
  readonly 'codex.add_dirs'?: readonly string[];
};

/** The error for a strict read scope that names nothing below the workspace: everything would stay readable. Which of the
 *  absolute paths lie in the workspace is known only when the node starts. */
export function strictScope(node: Node, graph: Graph): readonly Diagnostic[] {
  const settings = node.settings as NodeSettings & StrictScope;
  if (settings['codex.strict_read_scope'] !== true) return [];
  const named = [settings['codex.workdir'] ?? '', ...(settings['codex.add_dirs'] ?? [])];
  if (named.some((path) => !/^[./]*$/.test(path) || path.startsWith('..') || path.includes('${'))) return [];
  return [
    {
      code: 'strict-read-scope',
      severity: 'error',
      message: `codex.strict_read_scope of "${node.id}" hides nothing: its codex.workdir is the whole workspace`,
      place: { file: graph.file, span: node.attrs.get('codex.strict_read_scope')?.valueSpan ?? node.span },
      fix: 'name the folder that it may see: codex.workdir="app" (or codex.add_dirs); codex.block_read_paths hides single paths',
    },
  ];
}
