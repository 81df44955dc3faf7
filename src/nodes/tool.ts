/** A shell command in the workspace; its exit code and `$FACTORY_OUTPUT` give the outcome. */
import { nodeLayout } from '../model/layout.ts';
import type { Failure, Outcome, Said } from '../model/outcome.ts';
import { endedBySignal, failed, saidNothing } from '../model/outcome.ts';
import {
  commonAttributes,
  executableAttributes,
  judgingAttributes,
  toolAttributes,
} from '../model/settings/node.ts';
import { toolCommandProblem } from '../policy/commands.ts';
import { ownStepWords } from '../policy/own-command.ts';
import { stoppedByDisk, toldTrouble } from '../system/disk-trouble.ts';
import { blamed } from './blamed.ts';
import { describeMs } from './duration.ts';
import { kind } from './kind.ts';
import { outputLimit, parseOutput, parseToolState } from './output.ts';

/** Bytes of one argument that Linux starts a program with. */
const longestCommand = 128 * 1024 - 1;

export const tool = kind({
  type: 'tool',
  does: 'Runs a shell command in the workspace; its exit code and the JSON in `$FACTORY_OUTPUT` give the outcome.',
  shapes: ['parallelogram'],
  ids: [],
  executable: true,
  attributes: { ...commonAttributes, ...executableAttributes, ...judgingAttributes, ...toolAttributes },
  codes: [
    {
      code: 'tool-command',
      severity: 'error',
      rule: 'Every tool has a command.',
      wrong: 'start; exit; a [shape=parallelogram]; start -> a -> exit',
      fix: '`tool_command="npm test"`',
    },
  ],
  check(node) {
    if (node.settings.tool_command !== undefined) return [];
    const meant = ['command', 'cmd', 'run', 'script'].find((name) => node.attrs.has(name));
    return [
      {
        code: 'tool-command',
        severity: 'error',
        message: `tool node "${node.id}" has no tool_command`,
        fix:
          meant === undefined
            ? 'give it tool_command="…", the shell text to run in the workspace'
            : `write tool_command in place of ${meant}`,
      },
    ];
  },
  async run({ tool_command, judge, access }, context) {
    const expanded = context.inputs.expand(tool_command ?? '', 'shell');
    if ('unknown' in expanded) {
      return failed(`tool_command names ${expanded.unknown}, which has no value`, 'config', { broke: true });
    }
    const bytes = Buffer.byteLength(expanded.text);
    if (bytes > longestCommand)
      return failed(
        `tool_command is ${bytes} bytes long with the values of its references, and a program takes at most ${longestCommand} in one argument: read long values from the JSON file $FACTORY_CONTEXT`,
        'config',
        { broke: true },
      );
    const problem = toolCommandProblem(expanded.text);
    if (problem !== undefined) return failed(problem, 'guardrail');
    const toolState = context.toolState.last;
    if (toolState !== undefined) await context.files.keep('state.json', `${JSON.stringify(toolState)}\n`);
    const ended = await context.processes.run({
      argv: ['sh', '-c', expanded.text],
      // Without access to the run directory the step belongs into the sandbox.
      own: access === 'run' ? ownStepWords(expanded.text) : undefined,
      env: { FACTORY_STATE: nodeLayout(context.files.path).toolState },
      stdoutName: 'tool.stdout.txt',
      stderrName: 'tool.stderr.txt',
    });
    const code = ended.kind === 'exited' ? ended.code : -1;
    await context.files.keep('tool.exitcode.txt', `${code}\n`);
    if (stoppedByDisk(expanded.text, code))
      throw toldTrouble((await context.files.read('tool.stderr.txt', 4096, 'tail')) ?? '', context.runDir);
    if (ended.kind === 'cancelled') return failed('cancelled', 'cancelled', { broke: true });
    // The text ends at a character boundary; a character has at most four bytes.
    const said = await context.files.read('output.json', outputLimit + 4);
    // Rewritten with secrets masked.
    if (said !== undefined && Buffer.byteLength(said) <= outputLimit)
      await context.files.keep('output.json', said);
    else if (said !== undefined) await context.files.mask('output.json');
    const written = context.files.wasNoFile('output.json')
      ? { problem: '$FACTORY_OUTPUT is not a regular file: write the JSON itself to it' }
      : parseOutput(said);
    const output = 'output' in written ? written.output : {};
    const kept = context.files.wasNoFile('state.json')
      ? { problem: '$FACTORY_STATE is not a regular file: write the JSON itself to it' }
      : parseToolState(await context.files.read('state.json', outputLimit + 4), toolState);
    if ('changed' in kept) context.toolState.keep(kept.changed);
    const blame = () =>
      blamed(context, ended, {
        command: expanded.text,
        judge,
        word: output.failure_class,
        stdoutName: 'tool.stdout.txt',
        stderrName: 'tool.stderr.txt',
      });
    const fail = async (reason: string, more: Partial<Failure & Said>): Promise<Outcome> => {
      const { class: of, ...how } = await blame();
      return failed(reason, of, { ...how, ...more });
    };
    switch (ended.kind) {
      case 'not_found':
        return fail(`cannot start ${ended.program}: ${ended.why}`, { broke: true });
      case 'timed_out':
        return fail(
          `timeout: tool_command was still running after ${describeMs(ended.afterMs)}; its process group was ended (set timeout on node "${context.node.id}")`,
          { broke: true },
        );
      case 'signalled':
        return fail(endedBySignal, { broke: true, notes: `ended by ${ended.signal}` });
      case 'exited': {
        // A failing exit code counts as a report even with an invalid output file; exit code 0 does not.
        for (const file of [written, kept])
          if ('problem' in file) return failed(file.problem, 'config', { exitCode: code, broke: code === 0 });
        const common = {
          ...saidNothing,
          label: output.preferred_next_label ?? '',
          suggested: output.suggested_next_ids ?? [],
          updates: output.context_updates ?? {},
          notes: output.notes ?? '',
        };
        const reason = output.failure_reason;
        if (code !== 0) return fail(reason ?? `tool_exit_code_${code}`, common);
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
    }
  },
});
