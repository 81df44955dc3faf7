/** What a person can do after a run has failed. Pure. */
import {
  commandToFork,
  forkAction,
  type NextAction,
  resumeAction,
  type StoodRun,
  startAnew,
  type TypedRun,
} from './action-commands.ts';
import { afterSetup, failedSetup } from './after-setup.ts';
import { raisedLimit } from './budget/limits.ts';
import type { FailureClass } from './outcome.ts';
import { changeIn, editOf } from './pipeline-edits.ts';
import { quoteWord } from './policy/words.ts';
import { unfixableClass } from './unfixable.ts';

export function afterFailure(stood: StoodRun, typed: TypedRun): readonly NextAction[] {
  const { reason, resumable, failedNode } = stood;
  if (stood.offline && resumable)
    return [resumeAction(typed, 'Continue, with agents that answer where the record ends', '--live')];
  if (stood.weakJudge !== undefined) return afterWeakJudge(stood.weakJudge, stood, typed);
  const hint = (): readonly NextAction[] => hintOf(stood, typed);
  const setup = failedSetup(reason);
  if (setup !== undefined && failedNode !== '') return [...hint(), afterSetup(setup, stood, typed)];
  const unfixable = unfixableClass(reason);
  if (unfixable !== undefined && failedNode !== '') return afterUnfixable(unfixable, stood, typed);
  if (reason.startsWith('audit: '))
    return [
      { kind: 'look', words: 'See what the audit found', command: `${typed.program} audit ${typed.run}` },
      ...hint(),
    ];
  const raised = raisedLimit(reason);
  if (resumable && raised !== undefined)
    return [resumeAction(typed, 'Continue with a higher limit', raised), ...hint()];
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
    return [forkAction(failedNode, typed, `Fix what the reason names, then execute ${failedNode} again`)];
  const file = quoteWord(pipeline);
  const changed = failedNode.replace(/@\d+$/, '');
  return [
    {
      kind: 'edit',
      words: `Fix the command of ${changed} in ${placeOf?.(changed) ?? file}, or install what it runs, then execute it again in a fork`,
      command: `${commandToFork(typed, failedNode)} --pipeline ${file}`,
      after: `fixing ${changed} in ${file}, or what it runs`,
    },
    ...[startAnew(stood, 'Fix the script that it runs, then start a new run')].flatMap((one) => one ?? []),
  ];
}

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
          command: `${commandToFork(typed, at)} --note TEXT`,
        },
      ];
}

/** The same run without a change of the pipeline; undefined where it would end in the same way. */
function unchanged(stood: StoodRun, typed: TypedRun): NextAction | undefined {
  const { cause, failureClass, reason, resumable } = stood;
  if (!resumable) return undefined;
  if (cause === undefined)
    return changeIn(stood) === undefined && !isFinal(reason)
      ? resumeAction(typed, 'Continue, once what the reason names is fixed')
      : undefined;
  if (cause.kind !== 'no_route') return undefined;
  const { node, config } = cause;
  if (config || failureClass === 'infra')
    return resumeAction(
      typed,
      `Fix what ${node} needs outside of the pipeline, then continue`,
      '',
      `fixing what ${node} needs`,
    );
  const mayPass = failureClass === 'agent' || failureClass === 'cancelled' || failureClass === 'internal';
  return mayPass ? resumeAction(typed, `Continue: ${node} is executed once more, unchanged`) : undefined;
}

/** Reasons that hold as long as neither the pipeline nor the work of an agent changes. */
const isFinal = (reason: string): boolean =>
  /^(?:unfixable_failure_source|holdout_leak|max_\w+): /.test(reason);

/** Of a pipeline that the user does not edit, without an agent: only other inputs, or what surrounds it, make it end otherwise. */
function lastResort(stood: StoodRun, typed: TypedRun): NextAction {
  const { failedNode, cause, failureClass, resumable } = stood;
  const node = cause?.kind === 'no_route' ? cause.node : failedNode;
  const surrounds =
    failureClass === undefined || beyondAgents.has(failureClass) || failureClass === 'timeout';
  const start = surrounds ? undefined : startAnew(stood, 'Change what it works on, then start a new run');
  if (start !== undefined) return start;
  if (node !== '') return forkAction(node, typed, `Fix what ${node} needs, then execute it again in a fork`);
  return resumable
    ? resumeAction(typed, 'Continue')
    : { kind: 'look', words: 'See what each node did', command: `${typed.program} show ${typed.run}` };
}
