/** What a person can do after a run has ended or is suspended: one table for the list, `why`, the page and the notice. Pure. */
import { raisedLimit } from './budget/limits.ts';
import { unfixableClass } from './gates.ts';
import { unreachable } from './json.ts';
import { type FailureClass, isPaused, type PausedWord } from './outcome.ts';
import { quoteWord } from './policy/words.ts';
import { raisedWindows } from './quota-windows.ts';
import type { EndCause } from './records/checkpoint.ts';

/** `continue`: the same run; `edit`: after a change of a file; `fork`: a new run from a checkpoint of it; `start`: the whole run anew;
 *  `look`: a command that shows more. */
export const actionKinds = ['continue', 'edit', 'fork', 'answer', 'deliver', 'start', 'look'] as const;

export type NextAction = {
  readonly kind: (typeof actionKinds)[number];
  /** What it does, and what has to be done before. */
  readonly words: string;
  /** To run unchanged, except for `TEXT` and the folder `DIR`, which the user writes. */
  readonly command: string;
  /** What has to be done before, as a comment behind the command. */
  readonly after?: string;
};

/** How a run stands. */
export type StoodRun = {
  readonly status:
    | 'running'
    | 'completed'
    | 'overridden'
    | 'failed'
    | 'interrupted'
    | 'crashed'
    | 'unreadable'
    | PausedWord;
  readonly reason: string;
  readonly cause: EndCause | undefined;
  /** `NODE` or `NODE@VISIT`; empty without a failure. */
  readonly failedNode: string;
  readonly failureClass?: FailureClass | undefined;
  /** The file, as the user typed it; undefined for one that comes with factory, so that its user does not edit it. */
  readonly pipeline: string | undefined;
  /** A replay without agents that diverged: a resume ends at the same place unless it has --live. */
  readonly offline: boolean;
  /** A failed run that has not reached an exit. */
  readonly resumable: boolean;
  /** The node whose scenarios all passed and are too weak. */
  readonly weakJudge?: string | undefined;
  /** Delivers the run although its judge is weak: undefined where more has failed. Asked only where it matters. */
  readonly delivery?: NextAction | undefined;
  /** A question was answered, and the run has not taken the answer yet. */
  readonly answered?: boolean;
  /** The latest execution of an agent up to the failure, `NODE@VISIT`; undefined without any. Asked only where it matters. */
  readonly agent?: () => string | undefined;
  /** The command that starts a run like it anew. Asked only where it matters. */
  readonly anew?: () => string | undefined;
  /** Where a file declares a node: `FILE:LINE`. */
  readonly placeOf?: (node: string) => string | undefined;
};

/** The node that a failed run is about. One that leaked the holdout has no outcome: there the latest failure is an earlier one. */
export const failedNodeOf = (reason: string, next: string | null, latest: string): string =>
  isLeak(reason) && next !== null && next !== '' ? next : latest;

const isLeak = (reason: string): boolean => reason.startsWith('holdout_leak: ');

/** How the user types it: the program, and the run as a word of a command. */
export type TypedRun = { readonly program: string; readonly run: string };

/** The actions for a run that needs attention, the first one best; none for any other. No command ends in the same way again while
 *  nothing else has changed. */
export function nextActions(stood: StoodRun, typed: TypedRun): readonly NextAction[] {
  const { status } = stood;
  if (isPaused(status)) return afterSuspension(status, stood, typed);
  const { program, run } = typed;
  switch (status) {
    case 'interrupted':
    case 'crashed':
      return [resume(typed, 'Continue: finished executions are kept')];
    case 'failed':
      return afterFailure(stood, typed);
    case 'unreadable':
      return [{ kind: 'look', words: 'See which records are damaged', command: `${program} verify ${run}` }];
    case 'overridden':
      return [
        {
          kind: 'look',
          words: 'See which failure was overridden, and by whom',
          command: `${program} why ${run}`,
        },
      ];
    case 'completed':
    case 'running':
      return [];
    default:
      return unreachable(status);
  }
}

const resume = ({ program, run }: TypedRun, words: string, flags = '', after?: string): NextAction => ({
  kind: 'continue',
  words,
  command: [`${program} resume ${run}`, ...(flags === '' ? [] : [flags])].join(' '),
  ...(after === undefined ? {} : { after }),
});

/** What to do before a suspended run can continue. */
export const suspensionWords: Readonly<Record<PausedWord, string>> = {
  paused_quota: 'Wait: the command waits for the quota and resumes (--now tries at once)',
  paused_outage: 'Wait: the command tries until the provider is back; without --wait it tries at once',
  paused_auth:
    'Set the key (OPENAI_API_KEY) or the login of the agent program to one that is accepted, then resume',
  paused_disk: 'Make room on that disk (files, or a larger quota), then resume',
  paused_wait: 'Wait: the command waits until then and resumes',
  paused_cap:
    'Wait: the command waits for the next day and resumes; or raise the cap (factory queue set), then resume',
  paused_answer: 'Answer the question: the run then resumes',
  paused_billing: "See the plan and the billing of the key's account, then resume",
};

function afterSuspension(status: PausedWord, stood: StoodRun, typed: TypedRun): readonly NextAction[] {
  const words = suspensionWords[status];
  switch (status) {
    case 'paused_auth':
    case 'paused_billing':
    case 'paused_disk':
      return [resume(typed, words)];
    case 'paused_answer':
      return stood.answered === true
        ? [resume(typed, 'Continue with the answer that was given')]
        : [{ kind: 'answer', words, command: `${typed.program} answer ${typed.run}` }];
    case 'paused_quota': {
      const raised = raisedWindows(stood.reason);
      return [
        raised === undefined
          ? resume(typed, words, '--wait')
          : resume(typed, 'Continue, with twice as many resets of the quota to wait for', raised),
      ];
    }
    case 'paused_outage':
    case 'paused_wait':
    case 'paused_cap':
      return [resume(typed, words, '--wait')];
    default:
      return unreachable(status);
  }
}

function afterFailure(stood: StoodRun, typed: TypedRun): readonly NextAction[] {
  const { reason, resumable, failedNode } = stood;
  if (stood.offline && resumable)
    return [resume(typed, 'Continue, with agents that answer where the record ends', '--live')];
  if (stood.weakJudge !== undefined) return afterWeakJudge(stood.weakJudge, stood, typed);
  const hint = (): readonly NextAction[] => hintOf(stood, typed);
  const unfixable = unfixableClass(reason);
  if (unfixable !== undefined && failedNode !== '') return afterUnfixable(unfixable, stood, typed);
  if (reason.startsWith('audit: '))
    return [
      { kind: 'look', words: 'See what the audit found', command: `${typed.program} audit ${typed.run}` },
      ...hint(),
    ];
  const raised = raisedLimit(reason);
  if (resumable && raised !== undefined)
    return [resume(typed, 'Continue with a higher limit', raised), ...hint()];
  const same = unchanged(stood, typed);
  const edit = editOf(stood, typed);
  if (stood.failureClass === 'scenario')
    return [...otherScenarios(stood, typed), edit ?? lastResort(stood, typed)];
  if (edit !== undefined)
    return same !== undefined && stood.failureClass === 'infra'
      ? [same, edit, ...hint()]
      : [edit, same, ...hint()].flatMap((one) => one ?? []);
  if (same !== undefined) return [same, ...hint()];
  const forks = hint();
  return forks.length > 0 ? forks : [lastResort(stood, typed)];
}

/** A stronger suite, or a person who accepts that this one is weak. */
const afterWeakJudge = (
  node: string,
  { delivery }: StoodRun,
  { program, run }: TypedRun,
): readonly NextAction[] => [
  {
    kind: 'edit',
    words:
      'Write more scenarios, next to copies of these, into a folder DIR: they judge the same commits in a fork',
    command: `${program} fork ${run} --before ${node} --holdout DIR`,
    after: 'writing more scenarios into DIR',
  },
  ...(delivery === undefined ? [] : [delivery]),
  {
    kind: 'look',
    words: 'See what the scenarios did not notice',
    command: `${program} scenario survivors ${run}`,
  },
];

/** A new run, for what this one and its forks keep. */
function startAnew({ anew }: StoodRun, words: string): NextAction | undefined {
  const command = anew?.();
  return command === undefined ? undefined : { kind: 'start', words, command };
}

/** The same work for fixed scenarios: the run and its plain forks keep those that it has. */
const otherScenarios = (stood: StoodRun, { program, run }: TypedRun): readonly NextAction[] => [
  ...(stood.failedNode === ''
    ? []
    : [
        {
          kind: 'edit' as const,
          words:
            'Fix the scenario in a copy DIR of its folder: the scenarios there judge the same work in a fork',
          command: `${program} fork ${run} --before ${stood.failedNode} --holdout DIR`,
          after: 'fixing the scenario in DIR',
        },
      ]),
  ...[startAnew(stood, 'Fix the scenario, then start a new run')].flatMap((one) => one ?? []),
];

/** After a failure that no agent can fix. A resume would begin with the agent. */
function afterUnfixable(cause: FailureClass, stood: StoodRun, typed: TypedRun): readonly NextAction[] {
  const { failedNode, pipeline, placeOf } = stood;
  const others = cause === 'scenario' ? otherScenarios(stood, typed) : [];
  if (others.length > 0) return others;
  if (cause !== 'config' || pipeline === undefined)
    return [again(failedNode, typed, `Fix what the reason names, then execute ${failedNode} again`)];
  const file = quoteWord(pipeline);
  const changed = failedNode.replace(/@\d+$/, '');
  return [
    {
      kind: 'edit',
      words: `Fix the command of ${changed} in ${placeOf?.(changed) ?? file}, or install what it runs, then execute it again in a fork`,
      command: `${execute(typed, failedNode)} --pipeline ${file}`,
      after: `fixing ${changed} in ${file}, or what it runs`,
    },
    ...[startAnew(stood, 'Fix the script that it runs, then start a new run')].flatMap((one) => one ?? []),
  ];
}

const execute = ({ program, run }: TypedRun, node: string): string =>
  `${program} fork ${run} --at ${node} --before`;

const again = (node: string, typed: TypedRun, words: string): NextAction => ({
  kind: 'fork',
  words,
  command: execute(typed, node),
});

/** Failures that no other work of an agent prevents. */
const beyondAgents: ReadonlySet<FailureClass> = new Set([
  'scenario',
  'infra',
  'config',
  'internal',
  'cancelled',
]);

/** A fork from the agent whose work has failed, with a note for it. */
function hintOf({ agent, failureClass }: StoodRun, typed: TypedRun): readonly NextAction[] {
  const isBeyond = failureClass !== undefined && beyondAgents.has(failureClass);
  const at = isBeyond ? undefined : agent?.();
  return at === undefined
    ? []
    : [
        {
          kind: 'fork',
          words: `Execute ${at} again in a fork, with a hint for its agent`,
          command: `${execute(typed, at)} --note TEXT`,
        },
      ];
}

/** The same run without a change of the pipeline; undefined where it would end in the same way. */
function unchanged(stood: StoodRun, typed: TypedRun): NextAction | undefined {
  const { cause, failureClass, reason, resumable } = stood;
  if (!resumable) return undefined;
  if (cause === undefined)
    return changeIn(stood) === undefined && !isFinal(reason)
      ? resume(typed, 'Continue, once what the reason names is fixed')
      : undefined;
  if (cause.kind !== 'no_route') return undefined;
  const { node, config } = cause;
  if (config || failureClass === 'infra')
    return resume(
      typed,
      `Fix what ${node} needs outside of the pipeline, then continue`,
      '',
      `fixing what ${node} needs`,
    );
  const mayPass = failureClass === 'agent' || failureClass === 'cancelled' || failureClass === 'internal';
  return mayPass ? resume(typed, `Continue: ${node} is executed once more, unchanged`) : undefined;
}

/** Reasons that hold as long as neither the pipeline nor the work of an agent changes. */
const isFinal = (reason: string): boolean =>
  /^(?:unfixable_failure_source|holdout_leak|max_\w+): /.test(reason);

/** What has to be changed where: `do` as an order, `after` as what was done. */
type Change = { readonly node: string; readonly do: string; readonly after: string };

/** The change of the pipeline after which a failed run that is resumed can end otherwise. */
function changeIn({
  reason,
  cause,
  failedNode,
  failureClass,
}: StoodRun): ((file: string) => Change) | undefined {
  if (cause?.kind === 'no_route') {
    const { node, outcome, config } = cause;
    const edge = `an edge from ${node} for outcome=${outcome}`;
    if (config)
      return (file) => ({
        node,
        do: `Fix ${node} in ${file}`,
        after: `fixing ${node} in ${file}, or what it needs`,
      });
    if (failureClass === 'timeout')
      return (file) => ({
        node,
        do: `Raise timeout of ${node} in ${file}, or add ${edge}`,
        after: `raising timeout of ${node} in ${file}`,
      });
    return (file) => ({
      node,
      do: `Change ${node} in ${file}, or add ${edge}`,
      after: `adding ${edge} to ${file}`,
    });
  }
  if (cause?.kind === 'loop_stopped')
    return (file) => ({
      node: failedNode,
      do: `Change ${failedNode} in ${file}, or what fixes it`,
      after: `a change of ${failedNode}, or of what fixes it, in ${file}`,
    });
  const [, own, limit] =
    /^max_\w+: node "([\w.]+)".*\(((?:manager\.)?max_\w+)(?: on the node)?\)$/.exec(reason) ?? [];
  if (own !== undefined)
    return (file) => ({
      node: own,
      do: `Raise ${limit} of ${own} in ${file}`,
      after: `raising ${limit} of ${own} in ${file}`,
    });
  const [, scripts, agent] =
    /^unfixable_failure_source: .* references (\S+) outside allowed_write_paths for (\S+)$/.exec(reason) ??
    [];
  if (agent !== undefined)
    return (file) => ({
      node: agent,
      do: `Add ${scripts} to allowed_write_paths of ${agent} in ${file}`,
      after: `adding ${scripts} to allowed_write_paths of ${agent} in ${file}`,
    });
  if (!isLeak(reason) || failedNode === '') return undefined;
  return (file) => ({
    node: failedNode,
    do: `Keep the holdout out of what ${failedNode} reads, in ${file}`,
    after: `a change of ${failedNode} in ${file}`,
  });
}

/** The change of the user's pipeline with which the run, or a fork of it, can end otherwise. */
function editOf(stood: StoodRun, typed: TypedRun): NextAction | undefined {
  const { pipeline, resumable, failedNode, failureClass, placeOf } = stood;
  if (pipeline === undefined) return undefined;
  const file = quoteWord(pipeline);
  const placed = (node: string): string => placeOf?.(node) ?? file;
  if (resumable) {
    const change = changeIn(stood);
    if (change === undefined) return undefined;
    return {
      kind: 'edit',
      words: `${change(placed(change(file).node)).do}, then continue`,
      command: `${typed.program} resume ${typed.run} --accept-changes`,
      after: change(file).after,
    };
  }
  if (failedNode === '') return undefined;
  const changed = failedNode.replace(/@\d+$/, '');
  return {
    kind: 'edit',
    words: `${failureClass === 'infra' ? `Fix what ${changed} needs, or change it` : `Change ${changed}`} in ${placed(changed)}, then execute it again in a fork`,
    command: `${execute(typed, failedNode)} --pipeline ${file}`,
    after: `a change of ${changed} in ${file}`,
  };
}

/** Of a pipeline that the user does not edit, without an agent: only other inputs, or what surrounds it, make it end otherwise. */
function lastResort(stood: StoodRun, typed: TypedRun): NextAction {
  const { failedNode, cause, failureClass, resumable } = stood;
  const node = cause?.kind === 'no_route' ? cause.node : failedNode;
  const surrounds =
    failureClass === undefined || beyondAgents.has(failureClass) || failureClass === 'timeout';
  const start = surrounds ? undefined : startAnew(stood, 'Change what it works on, then start a new run');
  if (start !== undefined) return start;
  if (node !== '') return again(node, typed, `Fix what ${node} needs, then execute it again in a fork`);
  return resumable
    ? resume(typed, 'Continue')
    : { kind: 'look', words: 'See what each node did', command: `${typed.program} show ${typed.run}` };
}
