/** Carries out a step of our own pipelines in this process, with the records that a program would leave. */
import { isAbsolute } from 'node:path';
import type { Spawn } from '../core/contracts/process.ts';
import { masker } from '../core/policy/mask.ts';
import { runInProcess } from '../platform/process/in-process.ts';
import { keepText } from '../run/artifacts.ts';

/** What a step gets of its process. */
export type OwnStepIo = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly signal: AbortSignal;
};
/** Runs the step with these words and returns its exit code. */
export type OwnSteps = (words: readonly string[], io: OwnStepIo) => Promise<number>;

/** Runs the step with these words in place of the program of a request. */
export const inThisProcess = (steps: OwnSteps, words: readonly string[]): Spawn => ({
  async run({ cwd, env, stdoutFile, stderrFile, mask = [], timeoutMs, signal }) {
    const printed: Record<'out' | 'err', string[]> = { out: [], err: [] };
    const ended = await runInProcess(
      (stop) =>
        steps(words, {
          cwd,
          env: { ...env, PATH: trustedPath(env['PATH'], cwd) },
          out: (text) => void printed.out.push(text),
          err: (text) => void printed.err.push(text),
          signal: stop,
        }),
      { timeoutMs, signal },
    );
    const masked = masker(mask);
    await keepText(stdoutFile, masked(printed.out.join('')));
    await keepText(stderrFile, masked(printed.err.join('')));
    return ended;
  },
});

/** The folders of PATH that no node can write to: the step's programs run outside the sandbox. */
const trustedPath = (path: string | undefined, workspace: string): string =>
  (path ?? '')
    .split(':')
    .filter((folder) => isAbsolute(folder) && !`${folder}/`.startsWith(`${workspace}/`))
    .join(':');
