/** The agent program `codex` (`codex exec`): a prompt on standard input, work in the workspace, an answer in a file. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../system/clock.ts';
import { makeFolder, removeNow } from '../system/files.ts';
import { isFolder } from '../system/read.ts';
import { removeTree } from '../system/remove.ts';
import type { Exit } from '../system/spawn.ts';
import type { Agent, AgentProgram, AgentReport, AgentTask, Usage } from './agent.ts';
import { codexArgv, readScopeOf } from './codex/argv.ts';
import { type CodexEvents, codexEvents } from './codex/events.ts';
import { codexHome, isTemporary } from './codex/home.ts';
import { type CodexDefaults, type CodexSettings, readSettings } from './codex/settings.ts';
import { troubleOf } from './codex/trouble.ts';
import { type Answer, parseAnswer, readAnswer } from './program/answer.ts';
import { findExecutable, isNativeOrOf } from './program/executable.ts';
import { heartbeat, tellEnd } from './program/heartbeat.ts';
import { homeBut } from './program/home.ts';
import { answerRequest, answerSchema } from './program/schema.ts';
import { type ProgramView, programView, shower } from './program/view.ts';

export type CodexOptions = CodexDefaults & { readonly clock: Clock };

/** Variables that hold its keys, where nobody names more. */
const ownKeys = ['OPENAI_API_KEY', 'CODEX_API_KEY'];

/** In its home, what says which programs it runs, and what it is told in every session. */
const ownSettings = [
  'config.toml',
  'hooks.json',
  'hooks',
  'rules',
  'prompts',
  'AGENTS.md',
  'AGENTS.override.md',
];

const mend =
  'install it: npm install -g @openai/codex, or say where it is: codex.path on the node, ATTRACTOR_CODEX_PATH';

type Failed = Extract<AgentReport, { kind: 'failed' }>;
const failed = (failureClass: Failed['class'], reason: string): Failed => ({
  kind: 'failed',
  class: failureClass,
  reason,
});

const notStarted = (reason: string): Failed => ({ ...failed('config', reason), unbilled: true });

/** The agent. It rejects only where the engine's own doors (`run`, `keep`) do. */
export function codexAgent(options: CodexOptions): Agent {
  const { env, clock } = options;
  return {
    name: 'codex',
    describe: 'codex (the agent program, with its own login or key)',
    unseen: true,
    modelFor(task) {
      const read = readSettings(task, options);
      return 'problem' in read ? undefined : read.settings.model;
    },
    async work(task, signal) {
      if (signal.aborted) return { kind: 'cancelled' };
      const read = readSettings(task, options);
      if ('problem' in read) return notStarted(read.problem);
      const outer = await task.sandbox?.();
      const nested = outer?.rung === 'bwrap' && !outer.nests && !read.settings.bypass;
      // Its own sandbox cannot be made inside ours, and every command of the model's would fail; ours holds it.
      const settings = nested ? { ...read.settings, bypass: true } : read.settings;
      if (nested) task.log('info', "codex's own sandbox cannot work inside the stage's, and is switched off");
      const { scope, narrow } = readScopeOf(settings, task.workspace);
      if (settings.strictReadScope && !narrow)
        task.log('warn', 'codex.strict_read_scope hides nothing more: codex.workdir is the whole workspace');
      const program = await findExecutable('codex', settings.executable, env['PATH'], mend);
      if ('problem' in program) return { ...notStarted(program.problem), missing: true };
      if (settings.workdir !== task.workspace && !isFolder(settings.workdir))
        return notStarted(`codex.workdir: there is no folder ${settings.workdir}`);
      const modern = settings.json === true || (await isNativeOrOf('@openai/codex', program.path));

      const response = join(task.nodeDir, 'response.md');
      // It opens no file by way of a link. Inside a sandbox of ours there are none on the way.
      const folder = outer?.rung === 'bwrap' ? task.nodeDir : await realpath(task.nodeDir);
      const files = {
        schema: join(folder, 'codex.output.schema.json'),
        response: join(folder, 'response.md'),
      };
      const argv = codexArgv(settings, files, modern);
      // What an earlier attempt answered is not this one's answer.
      removeNow(response);
      await task.keep('codex.output.schema.json', `${JSON.stringify(answerSchema, null, 2)}\n`);
      await task.keep('codex.args.txt', `${['codex', ...argv].join(' ')}\n`);

      const view = viewOf(task, settings.json ?? modern, env, settings);
      // Inside a sandbox of ours the temporary folder is another one.
      const tmpdir = outer?.rung === 'bwrap' ? { TMPDIR: '/tmp' } : {};
      const place = await placeOf(task, { ...env, ...tmpdir }, modern);
      const began = clock.monotonic();
      task.log('info', 'codex exec started', { program: program.path, workdir: settings.workdir });
      const rest = heartbeat('codex exec', task, clock, settings.heartbeatMs);
      let exit: Exit;
      try {
        exit = await task.run({
          argv: [program.path, ...argv],
          cwd: task.workspace,
          keys: [...new Set([...ownKeys, ...settings.envKeys])],
          network: true,
          unread: scope,
          stdin: `${task.prompt}\n\n${answerRequest}\n`,
          stdoutName: 'codex.stdout.log',
          stderrName: 'codex.stderr.log',
          onStdout: view.stdout,
          onStderr: view.stderr,
          ...place.given,
          ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
        });
      } finally {
        rest();
        await place.leave();
      }
      view.end();
      const report = await reportOf(exit, response, view, settings, clock.now());
      tellEnd('codex exec', task, report, clock.monotonic() - began);
      return report;
    },
  };
}

/** The program's home, and another temporary folder where it would find its home in the usual one. */
async function placeOf(
  task: AgentTask,
  env: CodexDefaults['env'],
  modern: boolean,
): Promise<{
  readonly given: Pick<AgentProgram, 'env' | 'home'>;
  leave(): Promise<void>;
}> {
  const home = codexHome(env);
  const given = {
    home: home === undefined ? [] : homeBut(home, ownSettings),
    // It may be relative, and the program starts elsewhere.
    ...(home !== undefined && (env['CODEX_HOME']?.trim() ?? '') !== '' ? { env: { CODEX_HOME: home } } : {}),
  };
  if (!modern || home === undefined || !isTemporary(home, env)) return { given, leave: async () => {} };
  const temporary = join(task.nodeDir, 'tmp');
  task.log(
    'warn',
    'the home of codex lies among temporary files, where its sandbox fails; it gets another TMPDIR',
    {
      home,
      tmpdir: temporary,
    },
  );
  makeFolder(temporary);
  return {
    given: { ...given, env: { ...given.env, TMPDIR: temporary } },
    leave: () => removeTree(temporary),
  };
}

/** What is made of the output: its events, or its text. */
function viewOf(
  task: AgentTask,
  json: boolean,
  env: CodexDefaults['env'],
  settings: Pick<CodexSettings, 'model'>,
): View {
  const events: CodexEvents = codexEvents({
    said: shower(task),
    acted: (action) => task.acted(action),
    used() {
      const { usage } = usageOf(events, settings, false);
      if (usage !== undefined) task.used?.(usage);
    },
  });
  return { ...programView('codex', task, env, json ? events.line : undefined), events };
}
type View = ProgramView & { readonly events: CodexEvents };

/** What its turns told; `whole` unless there was more than they told. */
function usageOf(
  { tokens }: CodexEvents,
  settings: Pick<CodexSettings, 'model'>,
  whole: boolean,
): { readonly usage?: Usage } {
  if (tokens === undefined) return {};
  return {
    usage: {
      model: settings.model ?? 'codex',
      input_tokens: tokens.input,
      output_tokens: tokens.output,
      ...(tokens.cached === undefined ? {} : { cached_input_tokens: tokens.cached }),
      ...(tokens.reasoning === undefined ? {} : { reasoning_tokens: tokens.reasoning }),
      cost_usd: null,
      ...(whole ? {} : { incomplete: true as const }),
    },
  };
}

async function reportOf(
  exit: Exit,
  response: string,
  { events, lastWords }: View,
  settings: CodexSettings,
  now: Date,
): Promise<AgentReport> {
  // A turn that did not end told nothing of what it used.
  const usage = usageOf(events, settings, exit.kind === 'exited' && events.failure === undefined);
  if (exit.kind === 'cancelled') return { kind: 'cancelled', ...usage };
  const file = await readAnswer(response);
  const beside = { ...(file?.text === undefined ? {} : { response: file.text }), ...usage };
  const fail = (failureClass: Failed['class'], reason: string): Failed => ({
    ...failed(failureClass, reason),
    ...beside,
  });
  const because = (text: string | undefined) => (text === undefined || text === '' ? '' : `: ${text}`);
  switch (exit.kind) {
    case 'not_found':
      return {
        ...notStarted(`cannot start codex: ${exit.why}`),
        ...(exit.noRoom === true ? { class: 'infra' as const } : { missing: true }),
      };
    case 'timed_out':
      return fail(
        'timeout',
        `codex exec timeout after ${exit.afterMs / 1000}s${because(events.lastError)} (longer: timeout or codex.timeout_seconds on the node)`,
      );
    case 'signalled':
      return fail('agent', `codex exec failed: ended by ${exit.signal}${because(lastWords())}`);
    case 'exited': {
      const message = events.failure ?? (exit.code === 0 ? undefined : events.lastError);
      if (exit.code !== 0 || message !== undefined) {
        const how = exit.code === 0 ? 'its turn failed' : `exit status ${exit.code}`;
        const { class: failureClass, ...wait } = troubleOf(message ?? '', now);
        return {
          ...fail(failureClass, `codex exec failed: ${how}${because(message ?? lastWords())}`),
          ...wait,
        };
      }
      const answer = answerOf(file);
      return 'problem' in answer
        ? fail('agent', answer.problem)
        : { kind: 'finished', ...answer.answer, ...beside, response: file?.text };
    }
  }
}

/** The answer of this attempt, if it wrote one that is valid. */
function answerOf(
  file: Awaited<ReturnType<typeof readAnswer>>,
): { readonly answer: Answer } | { readonly problem: string } {
  if (file === undefined)
    return { problem: 'codex output missing: it ended with exit status 0 and wrote no answer (response.md)' };
  if ('problem' in file) return { problem: `codex output ${file.problem}` };
  const parsed = parseAnswer(file.text);
  return 'problem' in parsed ? { problem: `codex output ${parsed.problem}` } : parsed;
}
