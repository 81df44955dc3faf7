/** The agent program `codex` (`codex exec`): a prompt on standard input, work in the workspace, an answer in a file. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAnswer, wordsFor } from '../core/agent-answer.ts';
import { proseSuccess } from '../core/auto-status.ts';
import type { Usage } from '../core/budget/usage.ts';
import type {
  Agent,
  AgentAccount,
  AgentProgram,
  AgentReport,
  AgentTask,
  FailedReport,
} from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import { removeTree } from '../platform/files/remove.ts';
import { makeFolder } from '../platform/files/write.ts';
import { type CodexEvents, codexEvents, codexFailure, codexUsageIn } from './codex-events.ts';
import { codexSession } from './codex-session.ts';
import { type CodexSettings, codexHome, codexNames, readCodexSettings } from './codex-settings.ts';
import { codexArgv, isTemporary, readScopeOf } from './codex-words.ts';
import { showURL } from './openai/settings.ts';
import { holderOf, loginIn } from './program/account.ts';
import { type AnswerFile, answerRequest, answerSchema, readAnswerFile } from './program/answer.ts';
import { isNativeOrOf } from './program/executable.ts';
import { homeWith } from './program/home.ts';
import { because, type Launch, type ProgramEnd, runProgram } from './program/run.ts';
import { codexSessionName } from './program/session-files.ts';
import type { ProgramDefaults, SettingsTask } from './program/settings.ts';
import { openThreadSession, type ThreadSession } from './program/thread.ts';
import { shower } from './program/view.ts';

export type CodexOptions = ProgramDefaults & { readonly clock: Clock };

/** Variables that hold its keys by default. */
const ownKeys = ['OPENAI_API_KEY', 'CODEX_API_KEY'];

/** The agent. It rejects only where the engine's `run` and `keep` do. */
export function codexAgent(options: CodexOptions): Agent {
  const { env, clock } = options;
  return {
    name: 'codex',
    describe: 'codex (the agent program, with its own login or key)',
    unseen: true,
    threads: true,
    modelFor(task) {
      const read = readCodexSettings(task, options);
      return 'problem' in read ? undefined : read.settings.model;
    },
    accountFor: (task) => codexAccount(task, options),
    work: (task, signal) =>
      runProgram(
        {
          name: 'codex',
          title: 'codex exec',
          install:
            'install it: npm install -g @openai/codex, or say where it is: codex.path on the node, ATTRACTOR_CODEX_PATH',
          timeoutKey: 'codex.timeout_seconds',
          env,
          clock,
          readSettings: () => scopedSettings(task, options),
          prepare: (_, settings, path) => launchOf(task, settings, path, options),
        },
        task,
        signal,
      ),
  };
}

/** Its key and its login, at the server that its environment or configuration names. */
function codexAccount(task: SettingsTask, options: ProgramDefaults): AgentAccount | undefined {
  const { env } = options;
  const read = readCodexSettings(task, options);
  if ('problem' in read) return undefined;
  const { model = '', profile, overrides, envKeys } = read.settings;
  const home = codexHome(env);
  const login = home === undefined ? undefined : loginIn(join(home, 'auth.json'), ['tokens', 'account_id']);
  const server = env['OPENAI_BASE_URL']?.trim() || undefined;
  return {
    endpoint: server === undefined ? 'codex' : showURL(server),
    model,
    holder: holderOf(env, [...ownKeys, ...envKeys], { login, home, settings: [profile ?? '', ...overrides] }),
  };
}

/** The settings; a strict scope that names nothing in the workspace would hide nothing of it. */
function scopedSettings(task: AgentTask, options: ProgramDefaults): ReturnType<typeof readCodexSettings> {
  const read = readCodexSettings(task, options);
  if ('problem' in read || !read.settings.strictReadScope) return read;
  if (readScopeOf(read.settings, task.workspace).narrow) return read;
  return {
    problem:
      'codex.strict_read_scope hides nothing: codex.workdir is the whole workspace. Name the folder that it may see: ' +
      'codex.workdir="app" (or codex.add_dirs)',
  };
}

async function launchOf(
  task: AgentTask,
  read: CodexSettings,
  path: string,
  { env, clock }: CodexOptions,
): Promise<Launch | FailedReport> {
  const outer = await task.sandbox?.();
  const isInside = outer?.rung === 'bwrap';
  // Its own sandbox cannot be made inside ours, and every command of the model would fail; ours confines it.
  const nested = isInside && !outer.nests && !read.bypass;
  const settings = nested ? { ...read, bypass: true } : read;
  if (nested) task.log('info', "codex's own sandbox cannot work inside the node's, and is switched off");
  const { scope } = readScopeOf(settings, task.workspace);
  const modern = settings.json === true || (await isNativeOrOf('@openai/codex', path));
  // It opens no file through a link. Inside a sandbox of ours there are none on the way.
  const folder = isInside ? task.nodeDir : await realpath(task.nodeDir);
  const files = { schema: join(folder, 'codex.output.schema.json'), response: join(folder, 'response.md') };
  const home = codexHome(env);
  const nameOf = (id: string) => codexSessionName(id, clock.now());
  const session = await openThreadSession(task, { program: 'codex', home, cwd: settings.workdir, nameOf });
  if (session !== undefined && 'kind' in session) return session;
  const args = codexArgv(settings, files, modern, session);
  const events = eventsOf(task, settings, session);
  // Inside a sandbox of ours the temporary folder is another one.
  const place = placeOf(task, isInside ? { ...env, TMPDIR: '/tmp' } : env, modern, session);
  return {
    artifacts: {
      'codex.output.schema.json': `${JSON.stringify(answerSchema, null, 2)}\n`,
      'codex.args.txt': `${['codex', ...args].join(' ')}\n`,
    },
    args,
    program: {
      cwd: task.workspace,
      keys: [...new Set([...ownKeys, ...settings.envKeys])],
      servers: ['OPENAI_BASE_URL'],
      network: true,
      unread: scope,
      stdin: `${task.prompt}\n\n${answerRequest}\n`,
      ...place.given,
    },
    ...((settings.json ?? modern)
      ? { events: events.line, steps: codexSession(), finished: () => events.turn === 'over' }
      : {}),
    cleanUp: place.leave,
    session,
    asked: () => events.turn !== undefined,
    async result(exit) {
      // A turn that did not end has not reported what it used.
      const usage = usageOf(
        events,
        settings,
        exit.kind === 'exited' && events.failure === undefined && events.turn !== 'open',
      );
      const file = await readAnswerFile(join(task.nodeDir, 'response.md'));
      return {
        ...(file?.text === undefined ? {} : { response: file.text }),
        ...usage,
        lastError: events.lastError,
        exited: (end) => reportOf(task, events, file, end),
      };
    },
  };
}

/** The program's home, and another temporary folder where it would find its home in the usual one. */
function placeOf(
  task: AgentTask,
  env: Environment,
  modern: boolean,
  session: ThreadSession | undefined,
): { readonly given: Pick<AgentProgram, 'env' | 'home'>; leave(): Promise<void> } {
  const home = codexHome(env);
  const given = {
    home: home === undefined ? [] : [...homeWith(home, codexNames), ...(session?.places ?? [])],
    env: {
      // It may be relative, and the program starts elsewhere.
      ...(home !== undefined && (env['CODEX_HOME']?.trim() ?? '') !== '' ? { CODEX_HOME: home } : {}),
      // Its database repeats the turns of a session.
      ...(session?.aside === undefined ? {} : { CODEX_SQLITE_HOME: session.aside }),
    },
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

function eventsOf(task: AgentTask, settings: CodexSettings, session: ThreadSession | undefined): CodexEvents {
  const events: CodexEvents = codexEvents({
    ...(session === undefined ? {} : { started: session.started }),
    ...(session?.resumes === undefined ? {} : { spent: codexUsageIn(task.thread?.before ?? '') }),
    onText: shower(task),
    acted: (action) => task.acted(action),
    used() {
      const { usage } = usageOf(events, settings, false);
      if (usage !== undefined) task.used?.(usage);
    },
  });
  return events;
}

/** What its turns reported; `whole` unless there was more. */
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

function reportOf(
  task: AgentTask,
  events: CodexEvents,
  file: AnswerFile | undefined,
  { code, lastWords, now, fail }: ProgramEnd,
): AgentReport {
  const message = events.failure ?? (code === 0 && events.turn !== 'open' ? undefined : events.lastError);
  if (code !== 0 || message !== undefined) {
    const how = code === 0 ? 'its turn failed' : `exit status ${code}`;
    // Without events its last words say it, after a label.
    const lastMessage = message ?? lastWords.replace(/^error: */i, '');
    const { class: failureClass, ...wait } = codexFailure(lastMessage, now);
    return { ...fail(failureClass, `codex exec failed: ${how}${because(message ?? lastWords)}`), ...wait };
  }
  if (events.turn === 'open')
    return fail('agent', 'codex exec failed: it ended with exit status 0 in the middle of its turn');
  if (file === undefined)
    return fail(
      'agent',
      'codex output missing: it ended with exit status 0 and wrote no answer (response.md)',
    );
  if ('problem' in file) return fail('agent', `codex output ${file.problem}`);
  const answer = parseAnswer(file.text, wordsFor(task));
  return 'problem' in answer
    ? (proseSuccess(task, file.text) ?? fail('agent', `codex output ${answer.problem}`))
    : { kind: 'finished', ...answer.answer, response: file.text };
}
