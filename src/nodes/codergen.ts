/** Work done by an agent: assembles and stores the prompt; the agent's report becomes the outcome. */
import type { AgentProgram, AgentReport, AgentTask } from '../agents/agent.ts';
import { agentAttributes } from '../agents/index.ts';
import { type Answer, parseAnswer } from '../agents/program/answer.ts';
import type { Settings } from '../model/attribute.ts';
import type { JsonObject } from '../model/json.ts';
import type { AnsweredBy, Outcome, Said } from '../model/outcome.ts';
import { failed, saidNothing, succeeded } from '../model/outcome.ts';
import { codergenAttributes, commonAttributes, executableAttributes } from '../model/settings/node.ts';
import { testsOutcome } from '../model/tested.ts';
import { reservedKeyIn } from '../policy/reserved.ts';
import { strictScope } from './agent-attributes.ts';
import { modelOf } from './escalation.ts';
import type { NodeAgent, NodeContext } from './kind.ts';
import { kind } from './kind.ts';
import { type Patience, patience } from './patience.ts';
import { withAllowlist, withFeedback, withVerdict } from './prompt.ts';
import { schemaProblem } from './schema.ts';

const attributes = {
  ...commonAttributes,
  ...executableAttributes,
  ...codergenAttributes,
  ...agentAttributes,
} as const;

type Wanted = Settings<typeof attributes>;

/** Bytes of a prompt file; a larger one is not a prompt. */
const promptLimit = 32 * 1024 * 1024;

export const codergen = kind({
  type: 'codergen',
  does: 'Asks an agent to work in the workspace, or a model for an answer.',
  shapes: ['box'],
  ids: [],
  executable: true,
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
        message: `sees_holdout=true on codergen node "${node.id}": agents may not read the holdout`,
        place: { file: graph.file, span: node.attrs.get('sees_holdout')?.valueSpan ?? node.span },
        fix: 'remove it; to let an agent read the scenarios, set codex.allow_read_scenarios=true (claude., command., openai.)',
      },
    ];
  },
  async run(wanted, context) {
    const own = await ownPrompt(wanted, context);
    if ('outcome' in own) return own.outcome;
    const fed = wanted.failure_feedback ? withFeedback(own.text, context.inputs.values) : own.text;
    const listed = withAllowlist(fed, context.graph, context.node);
    const prompt = wanted.goal_gate ? withVerdict(listed, context.attempt.repeats) : listed;
    await context.files.keep('prompt.md', `${prompt}\n`);
    const { agent } = context;
    if (agent === undefined) {
      return failed(`no agent is configured for node "${context.node.id}"`, 'config', { broke: true });
    }
    const schema =
      wanted.response_schema === undefined ? undefined : await context.inputs.schema(wanted.response_schema);
    if (wanted.response_schema !== undefined && schema === undefined) {
      return failed(`response_schema "${wanted.response_schema}" is not a known schema`, 'config', {
        broke: true,
      });
    }
    const chosen = modelOf(context.node, context.inputs.values);
    const watch = watchFor(wanted, context, agent);
    const task: AgentTask = {
      node: context.node.id,
      call: agent.call,
      prompt,
      workspace: context.workspace.path,
      nodeDir: context.files.path,
      attributes: {
        ...Object.fromEntries([...context.node.attrs.values()].map((a) => [a.key, a.value.text])),
        ...(chosen === undefined ? {} : { llm_model: chosen.model }),
      },
      ...(schema === undefined ? {} : { schema }),
      // A goal gate judges the answer itself.
      ...(!wanted.goal_gate && testsOutcome(context.graph, context.node.id) ? { tested: true } : {}),
      ...(context.attempt.timeout.explicit
        ? { timeoutMs: context.attempt.timeout.ms }
        : { idleMs: context.attempt.timeout.ms }),
      onText(piece, channel) {
        watch.heard();
        agent.stream(piece, channel);
      },
      expand: (text) => context.inputs.expand(text, 'plain'),
      run: (program) => context.processes.runAgent(heardBy(watch, program), watch.signal),
      sandbox: () => context.processes.agentSandbox(),
      keep: (name, content) => context.files.keep(name, content),
      log: (level, message, fields) => context.log(level, message, fields),
      acted(action) {
        watch.acted(action);
        agent.acted(action);
      },
    };
    try {
      const report = await agent.ask(task, watch.signal);
      for (const usage of report.spentBefore ?? []) agent.spent(usage);
      const stalled = report.kind === 'cancelled' && !context.signal.aborted ? watch.why : undefined;
      const outcome =
        stalled === undefined
          ? await settle(report, { wanted, context, agent, schema: schema?.schema })
          : failed(`the agent ${report.by?.agent ?? agent.name} was stopped: ${stalled}`, 'stalled', {
              broke: true,
            });
      if (report.kind === 'cancelled' && report.usage !== undefined) agent.spent(report.usage);
      const by = answeredBy(report, agent.name, chosen);
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

const watchFor = (wanted: Wanted, context: NodeContext, agent: NodeAgent): Patience =>
  patience({
    clock: context.clock,
    silentMs: wanted.stall_timeout,
    sameCalls: wanted.max_same_calls,
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

/** The agent that answered, if the node names several agents or several models. */
function answeredBy(
  report: AgentReport,
  name: string,
  chosen: ReturnType<typeof modelOf>,
): AnsweredBy | undefined {
  const { by } = report;
  if (by === undefined && chosen === undefined) return undefined;
  const said = report.kind === 'cancelled' ? undefined : report.usage?.model;
  const model = said ?? chosen?.model;
  return {
    ...(by ?? { agent: name }),
    ...(model === undefined ? {} : { model }),
    ...(chosen === undefined ? {} : { escalation: chosen.escalation }),
  };
}

async function ownPrompt(
  wanted: Wanted,
  context: NodeContext,
): Promise<{ readonly text: string } | { readonly outcome: Outcome }> {
  const broken = (why: string) => ({ outcome: failed(why, 'config', { broke: true }) });
  const text = await writtenPrompt(wanted, context);
  if ('missing' in text) return broken(text.missing);
  if (!wanted.prompt_expand) return text;
  const expanded = context.inputs.expand(text.text, 'plain');
  return 'unknown' in expanded
    ? broken(`the prompt names ${expanded.unknown}, which has no value`)
    : expanded;
}

/** The prompt before anything in it is expanded: a workspace file, a file frozen at the start, the text, the label. */
async function writtenPrompt(
  wanted: Pick<Wanted, 'prompt' | 'prompt_file' | 'label'>,
  context: NodeContext,
): Promise<{ readonly text: string } | { readonly missing: string }> {
  if (wanted.prompt_file !== undefined) {
    const path = context.inputs.expand(wanted.prompt_file, 'plain');
    if ('unknown' in path) return { missing: `prompt_file names ${path.unknown}, which has no value` };
    // The text ends at a character boundary; a character has at most four bytes.
    const read = await context.workspace.read(path.text, promptLimit + 4);
    if (read === undefined) return { missing: `prompt_file "${path.text}" is not in the workspace` };
    if (Buffer.byteLength(read) > promptLimit)
      return { missing: `prompt_file "${path.text}" is larger than ${promptLimit / 1024 / 1024} MiB` };
    return { text: withoutFinalNewline(read) };
  }
  if (wanted.prompt?.startsWith('@') === true) {
    const frozen = context.inputs.prompt(wanted.prompt);
    if (frozen === undefined)
      return { missing: `prompt "${wanted.prompt}" was not read at the start of the run` };
    return { text: withoutFinalNewline(frozen) };
  }
  return { text: wanted.prompt ?? wanted.label ?? context.node.id };
}

const withoutFinalNewline = (text: string): string => text.replace(/\r?\n$/, '');

async function settle(
  report: AgentReport,
  {
    wanted,
    context,
    agent,
    schema,
  }: {
    wanted: Wanted;
    context: NodeContext;
    agent: NodeAgent;
    schema: JsonObject | undefined;
  },
): Promise<Outcome> {
  if (report.kind !== 'cancelled') await storeReportFiles(report, context, agent);
  switch (report.kind) {
    case 'cancelled':
      return failed('cancelled', 'cancelled', { broke: true });
    case 'failed':
      if (report.response !== undefined) await context.files.keep('response.md', report.response);
      return failed(report.reason, report.class, {
        broke: true,
        ...(isUnsaid(report, wanted) ? { unsaid: true } : {}),
        ...(report.model === undefined ? {} : { model: report.model }),
        ...(report.retryAfterMs === undefined ? {} : { retryAfterMs: report.retryAfterMs }),
        ...(report.park === undefined ? {} : { park: report.park }),
        ...(isHopeless(report) ? { hopeless: true } : {}),
      });
    case 'answered': {
      await context.files.keep('response.md', report.text);
      if (report.text.trim() === '') {
        const again = wanted.goal_gate ? { unsaid: true as const } : {};
        return failed('the model answered nothing', 'agent', { broke: true, model: 'output', ...again });
      }
      if (wanted.response_file !== undefined) {
        if (report.secrets !== undefined) return holdsSecret(wanted.response_file, report.secrets);
        const problem = await context.workspace.write(wanted.response_file, report.text);
        if (problem !== undefined)
          return failed(`response_file "${wanted.response_file}" cannot be written: ${problem}`, 'config', {
            broke: true,
          });
      }
      if (wanted.response_check === 'strict' && schema !== undefined) {
        const problem = schemaProblem(report.text, schema);
        if (problem !== undefined) {
          return failed(`the answer does not fit the response schema: ${problem}`, 'agent', {
            broke: true,
            model: 'output',
          });
        }
      }
      return wanted.goal_gate ? verdictIn(report.text) : succeeded();
    }
    case 'finished': {
      if (report.response !== undefined) await context.files.keep('response.md', report.response);
      const reserved = reservedKeyIn(report.updates);
      if (reserved !== undefined) {
        return failed(`the agent set "${reserved}", a key of the engine's own`, 'agent', { broke: true });
      }
      const planKey = wanted['verification.plan_context_key'];
      const said = {
        ...saidNothing,
        label: report.label,
        suggested: report.suggested,
        notes: report.notes,
        updates:
          report.verificationPlan === undefined
            ? report.updates
            : { ...report.updates, [planKey]: report.verificationPlan },
      };
      return outcomeOf(report, said);
    }
  }
}

/** The outcome that an agent answered. */
function outcomeOf({ outcome, reason }: Pick<Answer, 'outcome' | 'reason'>, said: Said): Outcome {
  if (outcome === 'fail') return failed(reason, 'product', said);
  return outcome === 'retry' ? { ...said, status: 'retry', reason } : { ...said, status: outcome };
}

/** Neither the secret nor an answer with a hole may become a file that later nodes use. */
function holdsSecret(file: string, names: readonly string[]): Outcome {
  const which = names.length === 0 ? '' : ` (${names.join(', ')})`;
  return failed(
    `the answer holds the value of a secret${which}, so response_file "${file}" was not written: keep it out of the prompt and of the files that the agent reads; if it is an ordinary word, change it or unset the variable`,
    'agent',
    { broke: true },
  );
}

/** Whether a retry would fail too until the user fixes the cause: a quota and an outage end by themselves. */
const isHopeless = ({ missing, class: of, park }: Extract<AgentReport, { kind: 'failed' }>): boolean =>
  missing === true || of === 'config' || park?.kind === 'auth' || park?.kind === 'billing';

/** Whether the program of a goal gate answered something that is no verdict. */
const isUnsaid = (
  { class: of, response = '' }: Extract<AgentReport, { kind: 'failed' }>,
  wanted: Wanted,
): boolean => wanted.goal_gate && of === 'agent' && response.trim() !== '';

/** Stores what any report may contain: usage, reasoning, artifacts. */
async function storeReportFiles(
  report: Exclude<AgentReport, { kind: 'cancelled' }>,
  context: NodeContext,
  agent: NodeAgent,
): Promise<void> {
  if (report.usage !== undefined) {
    agent.spent(report.usage);
    await context.files.keep('usage.json', `${JSON.stringify(report.usage, null, 2)}\n`);
  }
  if (report.reasoning !== undefined && report.reasoning.trim() !== '')
    await context.files.keep('reasoning.md', report.reasoning);
  for (const { name, content } of report.artifacts ?? []) await context.files.keep(name, content);
}

/** A goal gate needs an explicit verdict: prose alone does not count as success. */
function verdictIn(text: string): Outcome {
  const read = parseAnswer(text, 'ours');
  if ('problem' in read)
    return failed(`a goal gate needs an explicit verdict, and the answer ${read.problem}`, 'agent', {
      broke: true,
      model: 'output',
      unsaid: true,
    });
  const { outcome, reason } = read.answer;
  const why = reason === '' ? 'the agent reported that the goal is not reached' : reason;
  return outcomeOf({ outcome, reason: outcome === 'fail' ? why : reason }, saidNothing);
}
