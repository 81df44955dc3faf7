/** Deterministic checks: the files of a plan must exist, its commands must be allowed and exit with 0. */
import { kind, type NodeContext } from '../core/contracts/node-kind.ts';
import type { Exit } from '../core/contracts/process.ts';
import { unreachable } from '../core/json.ts';
import { failed, type Outcome, succeeded } from '../core/outcome.ts';
import type { PlannedFor } from '../core/policy/added-words.ts';
import {
  parseVerificationCommand,
  plannedCommandProblem,
  showsNoCommit,
  verificationCommandProblem,
} from '../core/policy/commands.ts';
import { scenariosNamed } from '../core/policy/holdout-paths.ts';
import { parseVerificationPlan } from '../core/policy/verification-plan.ts';
import { brokenProgram, commandClasses, plainSuccess, possibleOutcome } from '../core/possible-outcomes.ts';
import {
  commonAttributes,
  executableAttributes,
  judgingAttributes,
  verificationAttributes,
} from '../core/settings/node.ts';
import type { Settings } from '../core/settings/types.ts';
import { commandFailure, describeMs } from './command-failure.ts';
import { noTests } from './no-tests.ts';

const attributes = {
  ...commonAttributes,
  ...executableAttributes,
  ...judgingAttributes,
  ...verificationAttributes,
} as const;

type Result = {
  readonly command: string;
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
};

/** Bytes of each stream that `verification.results.json` quotes; the full output is in separate files. */
const quoted = 256 * 1024;

export const verification = kind({
  type: 'verification',
  does: 'Checks the product without an agent: the files of a plan must exist, and its commands exit with 0.',
  shapes: [],
  ids: [],
  executable: true,
  outcomes: () => [plainSuccess, possibleOutcome('fail', { classes: commandClasses }), brokenProgram],
  attributes,
  codes: [
    {
      code: 'verification-commands',
      severity: 'error',
      rule: 'Every verification lists the commands that it may run.',
      wrong: 'start; exit; a [type=verification]; start -> a -> exit',
      fix: '`verification.allowed_commands="npm test"`',
    },
  ],
  check(node) {
    if (node.settings['verification.allowed_commands'] !== undefined) return [];
    return [
      {
        code: 'verification-commands',
        severity: 'error',
        message: `verification node "${node.id}" has no verification.allowed_commands`,
        fix: 'list the commands it may run, e.g. verification.allowed_commands="npm test,node --test", or "@plan" for the commands a tool decides',
      },
    ];
  },
  run: verify,
});

type VerificationSettings = Settings<typeof attributes>;

/** What has been checked so far; it is written for every outcome, also with commands that ran before a refused one. */
type Evidence = { readonly checked: string[]; readonly results: Result[]; readonly seconds: number[] };

async function verify(settings: VerificationSettings, context: NodeContext): Promise<Outcome> {
  const key = settings['verification.plan_context_key'];
  const asPlanned = settings['verification.allowed_commands']?.includes('@plan') === true;
  const value = context.inputs.values[key];
  if (value === undefined || value === null)
    return failed(`verification plan missing in context key: ${key}`, 'product');
  if (asPlanned && context.inputs.origin(key) !== 'tool') {
    return failed(
      `verification.allowed_commands="@plan" takes only a plan that a tool set, and "${key}" was set by an agent`,
      'guardrail',
    );
  }
  const parsed = parseVerificationPlan(value, {
    workspace: context.workspace.path,
    seenAt: context.workspace.seenAt,
    byTool: asPlanned,
  });
  if ('problem' in parsed) return failed(`verification plan is not valid: ${parsed.problem}`, 'product');
  const { plan } = parsed;
  await context.files.keep('verification.plan.json', `${JSON.stringify(plan, null, 2)}\n`);
  const evidence: Evidence = { checked: [], results: [], seconds: [] };
  const outcome =
    (await checkFiles(plan.files, context, evidence)) ??
    (await checkWorkdir(settings['verification.workdir'], context)) ??
    (await runCommands(plan.commands, settings, context, evidence)) ??
    succeeded();
  const { checked, results, seconds } = evidence;
  await context.files.keep(
    'verification.results.json',
    `${JSON.stringify({ checked_files: checked, commands: results }, null, 2)}\n`,
  );
  await context.files.keep('verification.seconds.json', `${JSON.stringify(seconds)}\n`);
  return outcome;
}

async function checkFiles(
  files: readonly string[],
  context: NodeContext,
  { checked }: Evidence,
): Promise<Outcome | undefined> {
  for (const file of files) {
    if ((await context.workspace.stat(file)) !== 'file') {
      const sealed = sealedFrom(file, context);
      if (sealed !== undefined) return failed(`required file: ${sealed}`, 'config', { broke: true });
      return failed(`required file missing: ${file}`, 'product');
    }
    checked.push(file);
  }
  return undefined;
}

async function checkWorkdir(workdir: string, context: NodeContext): Promise<Outcome | undefined> {
  const is = await context.workspace.stat(workdir);
  if (is === 'dir') return undefined;
  const why = is === 'file' ? 'is a file, not a folder' : 'does not exist in the workspace';
  // A builder may make the folder: an edge on outcome=fail takes it.
  return failed(`verification.workdir "${workdir}" ${why}`, 'product', { broke: true });
}

/** Runs the commands in their order; the outcome of the first that is refused or fails. */
async function runCommands(
  commands: readonly string[],
  settings: VerificationSettings,
  context: NodeContext,
  evidence: Evidence,
): Promise<Outcome | undefined> {
  const allowed = settings['verification.allowed_commands'] ?? [];
  const by = context.inputs.origin(settings['verification.plan_context_key']) === 'tool' ? 'tool' : 'agent';
  const workdir = settings['verification.workdir'];
  const workspace = by === 'agent' ? await plannedFor(workdir, context) : undefined;
  const cwd =
    workdir === '.' ? context.workspace.path : `${context.workspace.path}/${workdir.replace(/\/+$/, '')}`;
  for (const [index, command] of commands.entries()) {
    const problem = allowed.includes('@plan')
      ? plannedCommandProblem(command, context.processes.homeAndTmp)
      : verificationCommandProblem(command, allowed, by, workspace, context.processes.homeAndTmp);
    if (problem !== undefined) return failed(problem, 'guardrail');
    const parsed = parseVerificationCommand(command, cwd);
    if ('problem' in parsed) return failed(`verification command rejected: ${parsed.problem}`, 'guardrail');
    const names = {
      stdoutName: `verification.${index}.stdout.txt`,
      stderrName: `verification.${index}.stderr.txt`,
    };
    const began = context.clock.monotonic();
    const ended = await context.processes.run({
      argv: parsed.argv,
      cwd: workdir,
      check: true,
      env: { ...(seesHistory(parsed.argv, context) ? context.processes.historyEnv : {}), ...parsed.env },
      ...names,
    });
    evidence.seconds.push(Math.round(context.clock.monotonic() - began) / 1000);
    const result: Result = {
      command,
      exit_code: ended.kind === 'exited' ? ended.code : -1,
      stdout: (await context.files.read(names.stdoutName, quoted, 'tail')) ?? '',
      stderr: (await context.files.read(names.stderrName, quoted, 'tail')) ?? '',
    };
    evidence.results.push(result);
    const failure = await failureOf(result, ended, settings, parsed.argv, context, names);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

const plannedFor = async (folder: string, context: NodeContext): Promise<PlannedFor> => ({
  all: new Set(context.pathsBefore()),
  changed: await context.changedInRun(),
  folder,
});

async function failureOf(
  { command, stdout, stderr }: Result,
  ended: Exit,
  settings: VerificationSettings,
  argv: readonly string[],
  context: NodeContext,
  names: { readonly stdoutName: string; readonly stderrName: string },
): Promise<Outcome | undefined> {
  if (ended.kind === 'cancelled') return failed('cancelled', 'cancelled', { broke: true });
  const failedAs = `verification command failed: ${command}`;
  const output = `${stdout}\n${stderr}`;
  if (ended.kind === 'exited' && ended.code === 0) {
    const untested = await noTests(context, {
      ...names,
      command: argv,
      folder: settings['verification.workdir'],
      isCheck: true,
    });
    return untested === undefined ? undefined : failed(`${failedAs} (${untested})`, 'product');
  }
  const sealed = sealedFrom(`${command} ${missedIn(output)}`, context);
  if (sealed !== undefined) return failed(`${failedAs}: ${sealed}`, 'config', { broke: true });
  const { class: of, ...how } = await commandFailure(context, ended, {
    command,
    judge: settings.judge,
    ...names,
  });
  const fail = (reason: string, broke: boolean) => failed(reason, of, { ...how, broke });
  switch (ended.kind) {
    case 'not_found':
      return fail(`verification command cannot start: ${command} (${ended.program}: ${ended.why})`, true);
    case 'timed_out': {
      const time = `verification command was still running after ${describeMs(ended.afterMs)}`;
      return fail(`timeout: ${time}: ${command} (set timeout on node "${context.node.id}")`, true);
    }
    case 'signalled':
      return fail(`${failedAs} (ended by ${ended.signal})`, true);
    case 'exited':
      return fail(`${failedAs} (exit=${ended.code})`, false);
    default:
      return unreachable(ended);
  }
}

/** Only direct git commands use the run's history: git commands inside the product's programs must not. */
const seesHistory = (argv: readonly string[], { holdout }: Pick<NodeContext, 'holdout'>): boolean =>
  argv[0] === 'git' && (!holdout.inHistory || showsNoCommit(argv));

/** The lines in which programs report a missing file. */
const missedIn = (output: string): string =>
  output
    .split('\n')
    .filter((line) => /no such file|not found|cannot open/i.test(line))
    .join(' ')
    .replace(/[:,'"]/g, ' ');

/** The failure message if the plan needs a holdout file, which no agent can fix. */
function sealedFrom(folder: string, { holdout }: Pick<NodeContext, 'holdout'>): string | undefined {
  const [named] = scenariosNamed(folder, holdout.withheld);
  return named === undefined
    ? undefined
    : `"${named}" is part of the holdout, which is hidden from this node; leave it to the scenarios, or remove sees_holdout=false`;
}
