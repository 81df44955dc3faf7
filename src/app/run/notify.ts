/** `--notify`: tells a command or a server how a run has ended, or that it needs attention. */
import { createHmac, randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import type { Clock } from '../../core/contracts/clock.ts';
import type { Environment, Spawn } from '../../core/contracts/process.ts';
import type { Log } from '../../core/contracts/watcher.ts';
import type { Question } from '../../core/records/question.ts';
import { askedIn, type RunResult } from '../../core/records/result.ts';
import { jittered } from '../../core/retry.ts';
import { systemWords } from '../../platform/files/write.ts';
import { type Post, realPost } from '../../platform/http.ts';
import { packageVersion } from '../../platform/package.ts';
import { realSpawn } from '../../platform/process/spawn.ts';
import type { Called } from '../../run/next-command.ts';
import { needsAttention } from '../../run/next-command.ts';
import { openRun } from '../../run/open-run.ts';
import { openQuestionOf } from '../inspect/question.ts';
import { titleOf } from '../inspect/title.ts';
import { newAnswerToken } from './answer-token.ts';

/** How a process has left a run: with a result, or by an error, with its message. */
export type RunLeft =
  | { readonly result: RunResult }
  /** `title`: of a run that has not begun. */
  | { readonly broke: string; readonly next: string; readonly title?: string };

export type NotifyHost = {
  readonly cwd: string;
  readonly called?: Called;
  readonly env: Environment;
  readonly clock: Clock;
  readonly log: Log;
  /** Once it fires, nothing is retried. */
  readonly signal: AbortSignal;
  /** Default: the real ones. */
  readonly post?: Post;
  readonly spawn?: Spawn;
};

/** Milliseconds between attempts, before jitter. */
const waitsMs = [1000, 4000, 16_000];
const postMs = 10_000;
const commandMs = 30_000;

/** Sends the notice to `target`, a command line or the URL of a server. Never rejects: a notice that cannot be delivered is a
 *  warning. Waits for at most about two minutes. */
export async function notify(target: string, runDir: string, left: RunLeft, host: NotifyHost): Promise<void> {
  const id = randomUUID();
  const sentAt = host.clock.now().toISOString();
  try {
    const facts = await factsOf(runDir, left, host);
    const body = JSON.stringify({ schema_version: 1, delivery_id: id, sent_at: sentAt, ...facts });
    const send = isUrl(target) ? toServer : toCommand;
    for (let attempt = 0; ; attempt++) {
      const failed = await send(target, { id, sentAt, body }, host);
      if (failed === undefined) return;
      const wait = host.signal.aborted || failed.final ? undefined : waitsMs[attempt];
      if (wait === undefined) return host.log('warn', 'notification was not delivered', { why: failed.why });
      await host.clock.sleep(jittered(wait, `${id}.${attempt}`), host.signal);
    }
  } catch (error) {
    host.log('warn', 'notification was not delivered', { why: String(error) });
  }
}

export const isUrl = (target: string): boolean => /^https?:\/\//i.test(target);

/** The facts of the notice: nothing in it is a secret, and no text of a holdout. */
async function factsOf(runDir: string, left: RunLeft, host: NotifyHost) {
  const read = await openRun(runDir).manifest();
  const manifest = read.ok ? read.manifest : undefined;
  const known = 'title' in left ? (left.title ?? '') : '';
  const title = manifest === undefined ? known : await titleOf(runDir, manifest);
  const about = {
    run_id: manifest?.run_id ?? basename(runDir),
    title,
    pipeline: manifest?.pipeline_path ?? '',
  };
  if ('broke' in left)
    return {
      ...about,
      ...{ status: 'crashed', needs_attention: true, exit_code: 1, reason: left.broke, next: left.next },
      run_dir: runDir,
    };
  const { status, exit_code, reason, next, wake_at, spent, elapsed_ms } = left.result;
  return {
    ...about,
    ...{ status, needs_attention: needsAttention(status), exit_code, reason, next },
    ...(wake_at === undefined ? {} : { wake_at }),
    ...askedFacts(runDir, askedIn(left.result), host),
    ...{ spent, elapsed_ms, run_dir: runDir },
  };
}

/** The questions; the first one, of most runs the only one, also by itself. */
function askedFacts(runDir: string, asked: readonly Question[], host: NotifyHost) {
  const [first, ...more] = asked.map((one) => questionFacts(runDir, one, host));
  return { ...first, ...(first === undefined || more.length === 0 ? {} : { questions: [first, ...more] }) };
}

/** The question, and how a program answers it: of a server (`factory serve`) over the runs directory the path, with the token that is
 *  good for this question only. */
function questionFacts(runDir: string, asked: Question, host: NotifyHost) {
  const question = openQuestionOf(runDir, asked, host);
  const path = `/api/v1/runs/${basename(runDir)}/answer`;
  try {
    return { question, answer: { path, token: newAnswerToken(runDir, question.id) } };
  } catch (error) {
    host.log('warn', 'the notice has no token for an answer', { why: systemWords(error) });
    return { question };
  }
}

type Notice = { readonly id: string; readonly sentAt: string; readonly body: string };
/** `final`: another attempt would fail too. `why` names no secret: the target may hold one. */
type NotSent = { readonly why: string; readonly final: boolean };

async function toServer(
  url: string,
  { id, sentAt, body }: Notice,
  { env, post = realPost }: NotifyHost,
): Promise<NotSent | undefined> {
  const secret = env['FACTORY_NOTIFY_SECRET'];
  const signature =
    secret === undefined || secret === ''
      ? {}
      : { 'X-Factory-Signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `factory/${packageVersion()}`,
    'X-Factory-Delivery': id,
    'X-Factory-Timestamp': sentAt,
    ...signature,
  };
  const answer = await post({ url, headers, body, timeoutMs: postMs });
  const { host } = new URL(url);
  if ('unreachable' in answer) return { why: `${host}: ${answer.unreachable}`, final: false };
  const { status } = answer;
  if (status >= 200 && status < 300) return undefined;
  return { why: `${host} answered ${status}`, final: status < 500 && status !== 408 && status !== 429 };
}

async function toCommand(
  command: string,
  { body }: Notice,
  { cwd, env, spawn = realSpawn }: NotifyHost,
): Promise<NotSent | undefined> {
  const given = Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined);
  const exit = await spawn.run({
    argv: ['sh', '-c', command],
    cwd,
    env: Object.fromEntries(given),
    stdin: `${body}\n`,
    stdoutFile: '/dev/null',
    stderrFile: '/dev/null',
    timeoutMs: commandMs,
  });
  if (exit.kind === 'exited' && exit.code === 0) return undefined;
  const why =
    exit.kind === 'exited'
      ? `the command exited with ${exit.code}`
      : exit.kind === 'timed_out'
        ? `the command took more than ${commandMs / 1000} s`
        : exit.kind === 'not_found'
          ? exit.why
          : `the command was ended (${exit.kind})`;
  return { why, final: exit.kind === 'exited' && (exit.code === 126 || exit.code === 127) };
}
