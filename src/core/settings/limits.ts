/** The limits of a run, each declared once: graph attributes, flags, the manifest, HTTP and what a resume keeps are made from
 *  these tables. */
import {
  type AttributeSpec,
  type AttributeTable,
  attr,
  count,
  duration,
  number,
  type Settings,
  word,
} from './types.ts';

/** Limits that end the run when they are reached. */
export const amountLimits = {
  max_steps: attr(count(1), 'How many executions of nodes the run may make.', {
    default: '10000',
    flag: '--max-steps <n>',
    help: 'limit of node executions in the run',
    http: true,
    title: 'Executions of nodes',
  }),
  max_wall: attr(duration(), 'How long the run may work; waits for a provider or a quota do not count.', {
    flag: '--max-wall <duration>',
    help: 'time limit of the run, such as 2h',
    http: true,
    title: 'Time',
    recorded: 'max_wall_ms',
    unset: 'no limit',
    example: '2h',
  }),
  max_tokens: attr(count(), 'How many tokens the model calls of the run may use, input and output.', {
    flag: '--max-tokens <n>',
    help: 'token limit of the model calls, input and output together',
    http: true,
    title: 'Tokens',
    unset: 'no limit',
    example: '200000',
  }),
  max_cost_usd: attr(number(0), 'What the model calls of the run may cost, in US dollars.', {
    flag: '--max-cost-usd <usd>',
    help: 'cost limit of the model calls, in US dollars',
    http: true,
    title: 'Cost, USD',
    unset: 'no limit',
    example: '2.50',
  }),
} as const satisfies AttributeTable;

/** Limits that are graph attributes, too. */
export const graphLimits = {
  ...amountLimits,
  max_restarts: attr(count(), 'How often edges with loop_restart may restart the run.', {
    default: '5',
    flag: '--max-restarts <n>',
    help: 'limit of restarts by edges with loop_restart',
    http: true,
    title: 'Restarts',
    recordedIfSet: true,
  }),
  // Without a default: a nested run inherits the word of the run above it.
  unknown_cost: attr(
    word('stop', 'allow'),
    'Whether calls of unknown cost may continue under a limit on costs or tokens.',
    {
      flag: '--unknown-cost <word>',
      help: 'under a cost limit: stop or allow calls of unknown cost (default: stop)',
      http: true,
      title: 'Calls of unknown cost',
      unset: 'stop',
      example: 'allow',
    },
  ),
  park_after: attr(
    duration(),
    'How long a run waits for a quota or for a provider that is down before it is suspended.',
    {
      default: '2m',
      flag: '--park-after <duration>',
      help: 'longest wait for a quota or an outage before the run is suspended',
      http: true,
      title: 'Wait for a quota or an outage',
      recorded: 'park_after_ms',
    },
  ),
  max_outage: attr(duration(), 'How long a run with `--wait` waits for a provider that is down.', {
    default: '8h',
    flag: '--max-outage <duration>',
    help: 'with --wait: longest outage that is waited for',
    http: true,
    title: 'Outage that a waiting run waits for',
    recorded: 'max_outage_ms',
  }),
  max_windows: attr(
    count(1),
    'How often a run continues at the reset of a quota, by itself and without finishing a node, before it needs a person.',
    {
      default: '8',
      flag: '--max-windows <n>',
      help: 'resets of a quota at which the run continues without finishing a node',
      http: true,
      title: 'Resets of a quota without progress',
      recordedIfSet: true,
    },
  ),
} as const satisfies AttributeTable;

/** All limits of a run. */
export const runLimits = {
  ...graphLimits,
  max_visits: attr(count(1), 'How many executions each node may have, whatever its text says.', {
    flag: '--max-visits <n>',
    help: 'limit of executions per node, instead of the limits in the graph',
    http: true,
    title: 'Executions of each node',
    example: '100',
  }),
  command_timeout: attr(duration(), 'How long each command of a verification and each model call may take.', {
    recorded: 'command_timeout_ms',
    unset: "the node's timeout",
  }),
} as const satisfies AttributeTable;

type All = Settings<typeof runLimits>;
export type LimitName = keyof All;
type Defaulted = { [K in LimitName]: undefined extends All[K] ? never : K }[LimitName];

/** The limits of a run; durations are milliseconds. */
export type Caps = Pick<All, Defaulted> &
  Partial<Omit<All, Defaulted>> & {
    /** Whether the run waits for what passes at an unknown time: a rate limit without one, an outage. Default true. */
    readonly park_passing?: boolean | undefined;
  };

/** What limits are made of: those that are set, by their names. */
export type LimitFlags = { readonly [K in LimitName]?: Exclude<All[K], undefined> };

export const limitNames = Object.keys(runLimits) as readonly LimitName[];

/** The name of a limit in the manifest. */
export const recordedName = (name: LimitName): string => {
  const { recorded }: AttributeSpec = runLimits[name];
  return recorded ?? name;
};

/** A limit in the manifest; undefined for none. */
export const limitRecorded = <K extends LimitName>(
  caps: Readonly<Record<string, unknown>>,
  name: K,
): Caps[K] => (caps[recordedName(name)] ?? undefined) as Caps[K];
