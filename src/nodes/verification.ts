/** Deterministic checks: the files of a plan must exist, its commands must be allowed and exit with 0. */
import type { Settings } from '../model/attribute.ts';
import type { Outcome } from '../model/outcome.ts';
import { failed, succeeded } from '../model/outcome.ts';
import {
  commonAttributes,
  executableAttributes,
  judgingAttributes,
  verificationAttributes,
} from '../model/settings/node.ts';
import { showsNoCommit } from '../policy/git-questions.ts';
import { scenariosNamed } from '../policy/scenarios.ts';
import { noTestRan } from '../policy/tests-run.ts';
import {
  parseVerificationCommand,
  plannedCommandProblem,
  verificationCommandProblem,
} from '../policy/verification-command.ts';
import { parseVerificationPlan } from '../policy/verification-plan.ts';
import { blamed } from './blamed.ts';
import { describeMs } from './duration.ts';
import type { NodeContext } from './kind.ts';
import { kind } from './kind.ts';

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
  shapes: [],
  ids: [],
  executable: true,
  attributes,
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

async function verify(wanted: Settings<typeof attributes>, context: NodeContext): Promise<Outcome> {
  const key = wanted['verification.plan_context_key'];
  const asPlanned = wanted['verification.allowed_commands']?.includes('@plan') === true;
  const value = context.inputs.values[key];
  if (value === undefined || value === null)
    return failed(`verification plan missing in context key: ${key}`, 'product');
  if (asPlanned && context.inputs.origin(key) !== 'tool') {
    return failed(
      `verification.allowed_commands="@plan" takes only a plan that a tool set, and "${key}" was set by an agent`,
      'guardrail',
    );
  }
  const parsed = parseVerificationPlan(value, { workspace: context.workspace.path, byTool: asPlanned });
  if ('problem' in parsed) return failed(`verification plan is not valid: ${parsed.problem}`, 'product');
  const { plan } = parsed;
  await context.files.keep('verification.plan.json', `${JSON.stringify(plan, null, 2)}\n`);

  const checked: string[] = [];
  const results: Result[] = [];
  const seconds: number[] = [];
  const end = async (outcome: Outcome): Promise<Outcome> => {
    // Store the evidence for every outcome, including commands that ran before a refused one.
    await context.files.keep(
      'verification.results.json',
      `${JSON.stringify({ checked_files: checked, commands: results }, null, 2)}\n`,
    );
    await context.files.keep('verification.seconds.json', `${JSON.stringify(seconds)}\n`);
    return outcome;
  };
  for (const file of plan.files) {
    if ((await context.workspace.stat(file)) !== 'file') {
      const sealed = sealedFrom(file, context);
      if (sealed !== undefined) return end(failed(`required file: ${sealed}`, 'config', { broke: true }));
      return end(failed(`required file missing: ${file}`, 'product'));
    }
    checked.push(file);
  }
  const workdir = wanted['verification.workdir'];
  const workdirIs = await context.workspace.stat(workdir);
  if (workdirIs !== 'dir') {
    const why = workdirIs === 'file' ? 'is a file, not a folder' : 'does not exist in the workspace';
    return end(failed(`verification.workdir "${workdir}" ${why}`, 'config', { broke: true }));
  }
  const cwd =
    workdir === '.' ? context.workspace.path : `${context.workspace.path}/${workdir.replace(/\/+$/, '')}`;
  for (const [index, command] of plan.commands.entries()) {
    const problem = asPlanned
      ? plannedCommandProblem(command)
      : verificationCommandProblem(
          command,
          wanted['verification.allowed_commands'] ?? [],
          context.inputs.origin(key) === 'tool' ? 'tool' : 'agent',
        );
    if (problem !== undefined) return end(failed(problem, 'guardrail'));
    const parsedCommand = parseVerificationCommand(command, cwd);
    if ('problem' in parsedCommand)
      return end(failed(`verification command rejected: ${parsedCommand.problem}`, 'guardrail'));
    const names = {
      stdoutName: `verification.${index}.stdout.txt`,
      stderrName: `verification.${index}.stderr.txt`,
    };
    const began = context.clock.monotonic();
    const ended = await context.processes.run({
      argv: parsedCommand.argv,
      cwd: workdir,
      check: true,
      env: {
        ...(seesHistory(parsedCommand.argv, context) ? context.processes.historyEnv : {}),
        ...parsedCommand.env,
      },
      ...names,
    });
    seconds.push(Math.round(context.clock.monotonic() - began) / 1000);
    const code = ended.kind === 'exited' ? ended.code : -1;
    results.push({
      command,
      exit_code: code,
      stdout: (await context.files.read(names.stdoutName, quoted, 'tail')) ?? '',
      stderr: (await context.files.read(names.stderrName, quoted, 'tail')) ?? '',
    });
    if (ended.kind === 'cancelled') return end(failed('cancelled', 'cancelled', { broke: true }));
    if (ended.kind === 'exited' && ended.code === 0) {
      const untested = results.slice(-1).map(({ stdout, stderr }) => noTestRan(`${stdout}\n${stderr}`))[0];
      if (untested === undefined) continue;
      return end(failed(`verification command failed: ${command} (${untested})`, 'product'));
    }
    const missed = results.slice(-1).map(({ stdout, stderr }) => missedIn(`${stdout}\n${stderr}`));
    const sealed = sealedFrom([command, ...missed].join(' '), context);
    if (sealed !== undefined)
      return end(failed(`verification command failed: ${command}: ${sealed}`, 'config', { broke: true }));
    const { judge } = wanted;
    const { class: of, ...how } = await blamed(context, ended, { command, judge, ...names });
    const fail = (reason: string, broke: boolean) => end(failed(reason, of, { ...how, broke }));
    switch (ended.kind) {
      case 'not_found':
        return fail(`verification command cannot start: ${command} (${ended.program}: ${ended.why})`, true);
      case 'timed_out':
        return fail(
          `timeout: verification command was still running after ${describeMs(ended.afterMs)}: ${command} (set timeout on node "${context.node.id}")`,
          true,
        );
      case 'signalled':
        return fail(`verification command failed: ${command} (ended by ${ended.signal})`, true);
      case 'exited':
        return fail(`verification command failed: ${command} (exit=${ended.code})`, false);
    }
  }
  return end(succeeded());
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
function sealedFrom(wanted: string, { holdout }: Pick<NodeContext, 'holdout'>): string | undefined {
  const [named] = scenariosNamed(wanted, holdout.withheld);
  return named === undefined
    ? undefined
    : `"${named}" is part of the holdout, which is hidden from this node; leave it to the scenarios, or remove sees_holdout=false`;
}
