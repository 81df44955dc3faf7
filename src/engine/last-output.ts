/** Finds the output files of the last command of a tool or verification node. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeLayout } from '../model/layout.ts';

/** Paths of both streams in a node directory; of a verification those of the last command that it ran. */
export async function lastOutputs(
  nodeDir: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { toolStdout, toolStderr } = nodeLayout(nodeDir);
  const last = (await readdir(nodeDir).catch(() => []))
    .map((name) => Number(/^verification\.(\d+)\.stdout\.txt$/.exec(name)?.[1] ?? -1))
    .reduce((a, b) => Math.max(a, b), -1);
  if (last < 0) return { stdout: toolStdout, stderr: toolStderr };
  const path = (stream: string) => join(nodeDir, `verification.${last}.${stream}.txt`);
  return { stdout: path('stdout'), stderr: path('stderr') };
}
