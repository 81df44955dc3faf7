/** Recognises commands that ended with 0 although no test ran, or tests failed. */
import type { NodeContext } from '../core/contracts/node-kind.ts';
import type { CheckCommand } from '../core/policy/check-words.ts';
import { runnersBehind } from '../core/policy/runners-behind.ts';
import { failedTests, untested } from '../core/policy/test-summary.ts';

/** Bytes: of a script or a settings file, and of each output stream. */
const most = { text: 1024 * 1024, stream: 8 * 1024 * 1024 };

type Ended = {
  readonly command: CheckCommand;
  /** Where it ran, relative to the workspace. */
  readonly folder: string;
  readonly stdoutName: string;
  readonly stderrName: string;
  /** Any command of the node is a check; else only one that starts a test runner. */
  readonly isCheck: boolean;
};

/** Why the success of a command does not count: tests failed, or none ran (with the setting that accepts that); else
 *  undefined. */
export async function noTests(
  { node, files, workspace }: Pick<NodeContext, 'node' | 'files' | 'workspace'>,
  { command, folder, stdoutName, stderrName, isCheck }: Ended,
): Promise<string | undefined> {
  if (node.settings.allow_no_tests) return undefined;
  const runners = await runnersBehind(command, folder, (path) => workspace.read(path, most.text));
  if (runners.length === 0 && !isCheck) return undefined;
  const read = async (name: string) => (await files.read(name, most.stream, 'tail')) ?? '';
  const output = `${await read(stdoutName)}\n${await read(stderrName)}`;
  const failed = failedTests(output, runners);
  if (failed !== undefined) return failed;
  const why = untested(output, runners);
  return why === undefined ? undefined : `${why}; allow_no_tests=true on node "${node.id}" accepts that`;
}
