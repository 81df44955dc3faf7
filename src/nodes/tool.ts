/** A shell command in the workspace; its exit code and `$FACTORY_OUTPUT` give the outcome. */
import * as z from 'zod';
import { kind, type NodeContext, type NodeFiles } from '../core/contracts/node-kind.ts';
import type { Exit } from '../core/contracts/process.ts';
import { type Json, type JsonObject, mostGivenLevels, parseJson } from '../core/json.ts';
import { mapJson } from '../core/json-places.ts';
import { nearest } from '../core/nearest.ts';
import { once } from '../core/once.ts';
import {
  emptyReport,
  endedBySignal,
  type Failure,
  failed,
  failureClasses,
  type NodeReport,
  type Outcome,
  type OutcomeWord,
  outcomeWords,
} from '../core/outcome.ts';
import {
  answeredOutcome,
  namedLiterals,
  noOwnWords,
  type OutcomeWords,
  wordsOfNode,
} from '../core/own-words.ts';
import { toolCommandProblem } from '../core/policy/commands.ts';
import { ownStepWords } from '../core/policy/own-command.ts';
import { reservedKeyIn } from '../core/policy/reserved-keys.ts';
import { planProblem } from '../core/policy/verification-plan.ts';
import {
  answersPartly,
  anyClass,
  brokenProgram,
  type PossibleOutcome,
  partialSuccess,
  possibleOutcome,
  reportedSuccess,
} from '../core/possible-outcomes.ts';
import { nodeLayout } from '../core/records/layout.ts';
import {
  commonAttributes,
  executableAttributes,
  judgingAttributes,
  toolAttributes,
} from '../core/settings/node.ts';
import { errorFrom, stoppedByDisk } from '../platform/files/disk-error.ts';
import { commandFailure, describeMs } from './command-failure.ts';
import { noTests } from './no-tests.ts';
import { toolCodes, toolFindings } from './tool-findings.ts';

/** Bytes of one argument that Linux starts a program with. */
const longestCommand = 128 * 1024 - 1;

/** Made once: findings about paths hold those of every node. */
const outcomesWith = (answersPartial: boolean): readonly PossibleOutcome[] => [
  reportedSuccess,
  possibleOutcome('fail', { says: true, classes: anyClass('product') }),
  brokenProgram,
  possibleOutcome('skipped', { says: true, usual: false }),
  partialSuccess(answersPartial),
];
const plainOutcomes = outcomesWith(false);
const partlyOutcomes = outcomesWith(true);

export const tool = kind({
  type: 'tool',
  does: 'Runs a shell command in the workspace; its exit code and the JSON in `$FACTORY_OUTPUT` give the outcome.',
  shapes: ['parallelogram'],
  ids: [],
  aliases: ['command'],
  executable: true,
  outcomes: (node) => (answersPartly(node) ? partlyOutcomes : plainOutcomes),
  attributes: { ...commonAttributes, ...executableAttributes, ...judgingAttributes, ...toolAttributes },
  codes: toolCodes,
  check: toolFindings,
  async run({ tool_command, judge, access, shell }, context) {
    const command = commandOf(tool_command ?? '', context);
    if (typeof command !== 'string') return command;
    // Without access to the run directory the step belongs into the sandbox.
    const own = access === 'run' ? ownStepWords(command) : undefined;
    const problem = toolCommandProblem(command, own === undefined ? context.processes.homeAndTmp : 'shared');
    if (problem !== undefined) return failed(problem, 'guardrail');
    const { files } = context;
    const { last } = context.toolState;
    if (last !== undefined) await files.keep('state.json', `${JSON.stringify(last)}\n`);
    const ended = await context.processes.run({
      argv: startOf(shell, command),
      own,
      env: { FACTORY_STATE: nodeLayout(files.path).toolState },
      ...output,
    });
    const code = ended.kind === 'exited' ? ended.code : -1;
    await files.keep('tool.exitcode.txt', `${code}\n`);
    if (stoppedByDisk(command, code))
      throw errorFrom((await files.read(output.stderrName, 4096, 'tail')) ?? '', context.runDir);
    if (ended.kind === 'cancelled') return failed('cancelled', 'cancelled', { broke: true });
    const words = wordsOfNode(context.graph, context.node);
    const written = await writtenOutput(context, words);
    const kept = await writtenState(files, last);
    if ('changed' in kept) context.toolState.keep(kept.changed);
    const word = 'output' in written ? written.output.failure_class : undefined;
    const fail: Fail = async (reason, more) => {
      const { class: of, ...how } = await commandFailure(context, ended, { command, judge, word, ...output });
      return failed(reason, of, { ...how, ...more });
    };
    if (ended.kind !== 'exited') return fail(...broken(ended, context.node.id));
    // A failing exit code counts as a report even with an invalid output file; exit code 0 does not.
    for (const file of [planned(written, context), kept])
      if ('problem' in file) return failed(file.problem, 'config', { exitCode: code, broke: code === 0 });
    const outcome = await reported('output' in written ? written.output : {}, code, fail);
    const passed = outcome.status === 'success' || outcome.status === 'partial_success';
    const untested = passed
      ? await noTests(context, { ...output, command, folder: '.', isCheck: false })
      : undefined;
    return untested === undefined ? outcome : withoutTests(untested, outcome);
  },
});

/** Artifacts with what the command prints. */
const output = { stdoutName: 'tool.stdout.txt', stderrName: 'tool.stderr.txt' } as const;

/** The command, read by its shell. A shell with options is started by `sh`: what is set before a node's program (limits, the
 *  check that this process still owns the run) is set by `sh -c`. */
const startOf = (shell: readonly string[], command: string): readonly [string, ...string[]] =>
  shell.join(' ') === 'sh' ? ['sh', '-c', command] : ['sh', '-c', 'exec "$@"', 'sh', ...shell, '-c', command];

/** A failure with the class that the command's end and its output give it. */
type Fail = (reason: string, more: Partial<Failure & NodeReport>) => Promise<Outcome>;

/** The command with its references expanded, or why it is not run. */
function commandOf(text: string, { inputs }: NodeContext): string | Outcome {
  const expanded = inputs.expand(text, 'shell');
  if ('unknown' in expanded)
    return failed(`tool_command names ${expanded.unknown}, which has no value`, 'config', { broke: true });
  const bytes = Buffer.byteLength(expanded.text);
  if (bytes > longestCommand)
    return failed(
      `tool_command is ${bytes} bytes long with the values of its references, and a program takes at most ${longestCommand} in one argument: read long values from the JSON file $FACTORY_CONTEXT`,
      'config',
      { broke: true },
    );
  return expanded.text;
}

/** What the command wrote to `$FACTORY_OUTPUT`; the file is rewritten with secrets masked. */
async function writtenOutput(
  { files, inputs }: Pick<NodeContext, 'files' | 'inputs'>,
  words: OutcomeWords,
): Promise<ReturnType<typeof parseOutput>> {
  // The text ends at a character boundary; a character has at most four bytes.
  const file = await files.read('output.json', outputLimit + 4);
  if (file !== undefined && Buffer.byteLength(file) <= outputLimit) await files.keep('output.json', file);
  else if (file !== undefined) await files.mask('output.json');
  return files.wasNoFile('output.json')
    ? { problem: '$FACTORY_OUTPUT is not a regular file: write the JSON itself to it' }
    : parseOutput(file, words, inputs.latestKeys);
}

/** What was written, or why the tool may not set a plan. */
function planned(written: ReturnType<typeof parseOutput>, { node, graph }: NodeContext) {
  if ('problem' in written) return written;
  const problem = planProblem(node, graph, written.output.context_updates);
  return problem === undefined ? written : { problem };
}

async function writtenState(
  files: NodeFiles,
  last: JsonObject | undefined,
): Promise<ReturnType<typeof parseToolState>> {
  return files.wasNoFile('state.json')
    ? { problem: '$FACTORY_STATE is not a regular file: write the JSON itself to it' }
    : parseToolState(await files.read('state.json', outputLimit + 4), last);
}

/** The failure of a command that did not run to its end. */
function broken(
  ended: Exclude<Exit, { kind: 'exited' | 'cancelled' }>,
  node: string,
): readonly [string, Partial<Failure & NodeReport>] {
  switch (ended.kind) {
    case 'not_found':
      return [`cannot start ${ended.program}: ${ended.why}`, { broke: true }];
    case 'timed_out':
      return [
        `timeout: tool_command was still running after ${describeMs(ended.afterMs)}; its process group was ended (set timeout on node "${node}")`,
        { broke: true },
      ];
    case 'signalled':
      return [endedBySignal, { broke: true, notes: `ended by ${ended.signal}` }];
  }
}

/** A success of a command that ran no test is a failure of the product. */
const withoutTests = (why: string, { label, suggested, updates, notes }: Outcome): Outcome =>
  failed(why, 'product', { label, suggested, updates, notes });

/** The outcome of a command that ran to its end. */
function reported(output: ToolOutput, code: number, fail: Fail): Promise<Outcome> | Outcome {
  const common = {
    ...emptyReport,
    label: output.preferred_next_label ?? '',
    ...(output.ownWord === undefined ? {} : { ownWord: output.ownWord }),
    suggested: output.suggested_next_ids ?? [],
    updates: output.context_updates ?? {},
    notes: output.notes ?? '',
  };
  const reason = output.failure_reason;
  if (code !== 0) return fail(reason ?? `tool_exit_code_${code}`, common);
  if (output.unknown !== undefined) {
    if (output.failure_class !== undefined) return fail(reason ?? output.unknown, common);
    return failed(output.unknown, 'config', { ...common, exitCode: code, broke: true });
  }
  const status = output.outcome ?? 'success';
  switch (status) {
    case 'fail':
      return fail(reason ?? 'the tool reported failure', common);
    case 'retry':
      return { ...common, status, reason: reason ?? '' };
    default:
      return { ...common, status };
  }
}

/** What a tool reports in addition to its exit code: the JSON object in the file `$FACTORY_OUTPUT`, and its state in
 *  `$FACTORY_STATE`. */
const json: () => z.ZodType<Json> = once(() => z.json() as z.ZodType<Json>);

const writtenOutputSchema = once(() =>
  z.strictObject({
    outcome: z.string().optional(),
    preferred_next_label: z.string().optional(),
    suggested_next_ids: z.array(z.string()).optional(),
    context_updates: z.record(z.string(), json()).optional(),
    notes: z.string().optional(),
    failure_reason: z.string().optional(),
    failure_class: z.enum(failureClasses).optional(),
  }),
);
type WrittenOutput = z.infer<ReturnType<typeof writtenOutputSchema>>;

/** What a tool reported. A word that an edge names is a success with this word as its label. `unknown`: why any other word counts for
 *  nothing; the exit code or the class of a failure may still say how it went. */
type ToolOutput = Omit<WrittenOutput, 'outcome'> & {
  readonly outcome?: OutcomeWord;
  readonly ownWord?: true;
  readonly unknown?: string;
};

/** Bytes; a larger file is refused. */
export const outputLimit = 1024 * 1024;

/** For an unknown key: the nearest known key, else all of them. */
function meant(issue: z.ZodError['issues'][number] | undefined): string {
  if (issue?.code !== 'unrecognized_keys' || issue.path.length > 0) return '';
  const keys = Object.keys(writtenOutputSchema().shape);
  const near = nearest(issue.keys[0] ?? '', keys);
  return near === undefined ? `; there are ${keys.join(', ')}` : `; did you mean "${near}"?`;
}

/** The object, or why it is invalid. `text` is undefined if the tool wrote nothing. */
export function parseOutput(
  text: string | undefined,
  words: OutcomeWords = noOwnWords,
  latestKeys?: ReadonlySet<string>,
): { readonly output: ToolOutput } | { readonly problem: string } {
  if (text === undefined) return { output: {} };
  const parsed = jsonOf(text, '$FACTORY_OUTPUT');
  if ('problem' in parsed) return parsed;
  const read = writtenOutputSchema().safeParse(parsed.value);
  if (!read.success) {
    const first = read.error.issues[0];
    const where = first === undefined || first.path.length === 0 ? '' : ` at ${first.path.join('.')}`;
    return { problem: `$FACTORY_OUTPUT is not valid${where}: ${first?.message ?? 'unknown'}${meant(first)}` };
  }
  const reserved = reservedKeyIn((read.data.context_updates ?? {}) as JsonObject, latestKeys);
  if (reserved !== undefined)
    return { problem: `$FACTORY_OUTPUT sets "${reserved}", a key of the engine's own` };
  return { output: withOutcome(read.data, words) };
}

function withOutcome({ outcome: word, ...rest }: WrittenOutput, words: OutcomeWords): ToolOutput {
  if (word === undefined) return rest;
  const answered = answeredOutcome(word, words);
  if (answered === undefined) {
    const known = [...outcomeWords, ...namedLiterals(words)].join(', ');
    const unknown = `$FACTORY_OUTPUT is not valid at outcome: ${JSON.stringify(word.slice(0, 80))} is none of ${known}`;
    return { ...rest, unknown };
  }
  const { outcome, label } = answered;
  if (label === undefined) return { ...rest, outcome };
  // A class names the cause of a failure.
  const isFailed = rest.failure_class !== undefined;
  return { ...rest, preferred_next_label: label, ownWord: true, outcome: isFailed ? 'fail' : outcome };
}

/** The state of the run's tools where it differs from `before`, or why it is invalid. A missing file leaves it unchanged. */
function parseToolState(
  text: string | undefined,
  before: JsonObject | undefined,
): { readonly changed: JsonObject } | { readonly problem: string } | Record<string, never> {
  if (text === undefined) return {};
  const parsed = jsonOf(text, '$FACTORY_STATE');
  if ('problem' in parsed) return parsed;
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: '$FACTORY_STATE is not a JSON object' };
  return JSON.stringify(value) === JSON.stringify(before) ? {} : { changed: value as JsonObject };
}

function jsonOf(text: string, file: string): { readonly value: unknown } | { readonly problem: string } {
  if (Buffer.byteLength(text) > outputLimit) return { problem: `${file} is larger than 1 MiB` };
  try {
    const value = parseJson(text, mostGivenLevels);
    const map = mapJson(text);
    const [twice] = 'duplicates' in map ? map.duplicates : [];
    if (twice !== undefined)
      return { problem: `${file} has the key ${JSON.stringify(twice.key.slice(0, 80))} twice in one object` };
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__'))
      return { problem: `${file} has the key "__proto__"` };
    return { value };
  } catch (error) {
    return { problem: `${file} is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
