/** Starts runs in the background, where they outlive the process and the terminal that started them. */
import { basename, join } from 'node:path';
import * as z from 'zod';
import { placedMessage } from '../core/diagnostic.ts';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { packageRoot } from '../platform/package.ts';
import { type BackgroundStart, startInBackground } from '../platform/process/background.ts';
import type { StartReport } from './answers.ts';
import { typedCommand } from './typed-command.ts';

export type DetachedStart = BackgroundStart & {
  /** What it printed until it began or ended. */
  readonly stdout: string;
  readonly stderr: string;
};

export type DetachOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with what it prints until it has begun, as it arrives. */
  readonly out?: (text: string) => void;
  readonly err?: (text: string) => void;
  readonly signal?: AbortSignal;
};

/** What such a command answers with. `argv`: the command line that does the same; `dir` is of the run, if nothing has begun. */
export const reportOfStart = (
  started: DetachedStart,
  argv: readonly string[],
  { dir, program = 'factory' }: { readonly dir: string; readonly program?: string | undefined },
): StartReport => {
  const { runDir, log, pid } = started.kind === 'begun' ? started : { runDir: dir, log: null, pid: null };
  const command = typedCommand(program, argv);
  const status = started.kind === 'begun' ? 'running' : 'ended';
  return { schema_version: 1, status, run_id: basename(runDir), run_dir: runDir, log, pid, command };
};

const placeSchema = once(() =>
  z.object({ file: z.string(), span: z.object({ start: z.object({ line: z.int(), column: z.int() }) }) }),
);

/** The message begins with the place of the problem. */
const problemSchema = once(() =>
  z
    .object({
      code: z.string(),
      message: z.string(),
      fix: z.string().default(''),
      place: placeSchema().optional(),
    })
    .transform(({ place, message, ...rest }) => ({ ...rest, message: placedMessage(message, place) })),
);
export type StartProblem = z.infer<ReturnType<typeof problemSchema>>;

const refusedSchema = once(() => z.object({ problems: z.array(problemSchema()).min(1) }));

/** The first problem that a command with `--json` has printed; undefined where it printed none. */
export const problemPrinted = ({ stdout }: Pick<DetachedStart, 'stdout'>): StartProblem | undefined =>
  refusedSchema().safeParse(jsonIn(stdout)).data?.problems[0];

/** Why a command with `--json` has begun nothing. */
export const problemOfStart = (
  started: Pick<DetachedStart, 'stdout' | 'stderr'>,
): Omit<StartProblem, 'code'> =>
  problemPrinted(started) ?? {
    message: started.stderr.trim().split('\n', 1)[0] || 'the command failed',
    fix: '',
  };

/** Runs `factory …argv` (`run`, `resume` or `fork` with their flags) in the background. Settles as soon as the run has begun; what
 *  it prints then is in `log`. A command line that is refused has `ended` with its exit code, and with what it said. */
export async function startDetached(
  argv: readonly string[],
  { cwd, env, out, err, signal }: DetachOptions,
): Promise<DetachedStart> {
  const heard = { stdout: '', stderr: '' };
  const started = await startInBackground(join(packageRoot(), 'dist/cli.js'), argv, {
    cwd,
    env,
    signal,
    out: (text) => {
      heard.stdout += text;
      out?.(text);
    },
    err: (text) => {
      heard.stderr += text;
      err?.(text);
    },
  });
  return { ...started, ...heard };
}
