/** A shell command in the workspace; its exit code and `$FACTORY_OUTPUT` are its verdict. */
import { text } from '../model/attribute.ts';
import type { FailureClass, Outcome } from '../model/outcome.ts';
import { failed, saidNothing } from '../model/outcome.ts';
import { toolCommandProblem } from '../policy/commands.ts';
import { describeMs } from './duration.ts';
import type { Site } from './kind.ts';
import { commonAttributes, executableAttributes, kind } from './kind.ts';
import { outputLimit, parseOutput } from './output.ts';

export const tool = kind({
  type: 'tool',
  shapes: ['parallelogram'],
  ids: [],
  executable: true,
  attributes: { ...commonAttributes, ...executableAttributes, tool_command: text() },
  check(node, { tool_command }) {
    if (tool_command !== undefined) return [];
    return [
      {
        code: 'tool-command',
        severity: 'error',
        message: `tool node "${node.id}" has no tool_command`,
        fix: 'give it tool_command="…", the shell text to run in the workspace',
      },
    ];
  },
  async run({ tool_command }, site) {
    const expanded = site.expand(tool_command ?? '', 'shell');
    if ('unknown' in expanded) {
      return failed(`tool_command names ${expanded.unknown}, which has no value`, 'config', { broke: true });
    }
    const problem = toolCommandProblem(expanded.text);
    if (problem !== undefined) return failed(problem, 'guardrail');
    const ended = await site.run({
      argv: ['sh', '-c', expanded.text],
      stdoutName: 'tool.stdout.txt',
      stderrName: 'tool.stderr.txt',
    });
    const code = ended.kind === 'exited' ? ended.code : -1;
    await site.keep('tool.exitcode.txt', `${code}\n`);
    switch (ended.kind) {
      case 'cancelled':
        return failed('cancelled', 'cancelled', { broke: true });
      case 'not_found':
        return failed(`cannot start ${ended.program}: ${ended.why}`, 'config', { broke: true });
      case 'timed_out':
        return failed(
          `timeout: tool_command was still running after ${describeMs(ended.afterMs)}; its process group was ended (set timeout on node "${site.node.id}")`,
          'timeout',
          { broke: true },
        );
      case 'signalled':
        return failed(
          `tool_exit_code_-1 (ended by ${ended.signal})`,
          (await markedClass(site)) ?? 'product',
          { broke: true },
        );
      case 'exited': {
        const said = await site.readNodeFile('output.json', outputLimit + 1);
        // Written anew by us, so that no secret of the tool's stays in it.
        if (said !== undefined && said.length <= outputLimit) await site.keep('output.json', said);
        const written = parseOutput(said);
        const failing = code !== 0 || ('output' in written && written.output.outcome === 'fail');
        return judge(code, written, failing ? await markedClass(site) : undefined);
      }
    }
  },
});

/** The verdict of a command that ran to its end. */
function judge(
  code: number,
  written: ReturnType<typeof parseOutput>,
  marked: FailureClass | undefined,
): Outcome {
  if ('problem' in written) return failed(written.problem, 'config', { exitCode: code });
  const { output } = written;
  const common = {
    ...saidNothing,
    label: output.preferred_next_label ?? '',
    suggested: output.suggested_next_ids ?? [],
    updates: output.context_updates ?? {},
    notes: output.notes ?? '',
  };
  const said = output.failure_class ?? marked;
  const how = { ...common, exitCode: code, classSaid: said !== undefined };
  if (code !== 0) {
    const byCode: FailureClass = code === 86 ? 'infra' : code === 126 || code === 127 ? 'config' : 'product';
    return failed(output.failure_reason ?? `tool_exit_code_${code}`, said ?? byCode, how);
  }
  const status = output.outcome ?? 'success';
  switch (status) {
    case 'fail':
      return failed(output.failure_reason ?? 'the tool reported failure', said ?? 'product', how);
    case 'retry':
      return { ...common, status, reason: output.failure_reason ?? '' };
    default:
      return { ...common, status };
  }
}

/** `failure_class=product|scenario|infra` as a line of its own on standard error, else standard output; the last one
 *  counts. */
async function markedClass(site: Pick<Site, 'readNodeFile'>): Promise<FailureClass | undefined> {
  for (const name of ['tool.stderr.txt', 'tool.stdout.txt']) {
    const found = [
      ...((await site.readNodeFile(name, 65_536, 'tail')) ?? '').matchAll(
        /^\s*failure_class=(product|scenario|infra)\s*$/gm,
      ),
    ];
    const word = found.at(-1)?.[1];
    if (word === 'product' || word === 'scenario' || word === 'infra') return word;
  }
  return undefined;
}
