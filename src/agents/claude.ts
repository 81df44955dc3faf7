/** The agent program `claude` (`claude -p`): a prompt on standard input, work in the workspace, JSON lines on standard
 *  output, the last of which carries the answer. */
import { join, resolve } from 'node:path';
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
import type { JsonObject } from '../core/json.ts';
import { type ClaudeEvents, claudeEvents, type DeniedCall } from './claude-events.ts';
import { claudeEnding, claudeFailure } from './claude-failure.ts';
import { claudeSession } from './claude-session.ts';
import { type ClaudeSettings, claudeHome, readClaudeSettings } from './claude-settings.ts';
import { showURL } from './openai/settings.ts';
import { holderOf, loginIn } from './program/account.ts';
import { answerRequest, answerSchema } from './program/answer.ts';
import { type HomeNames, homeWith, jsonWithout } from './program/home.ts';
import { because, type Launch, type ProgramEnd, runProgram } from './program/run.ts';
import { claudeSessionName } from './program/session-files.ts';
import type { ProgramDefaults, SettingsTask } from './program/settings.ts';
import { openThreadSession } from './program/thread.ts';
import { shower } from './program/view.ts';

export type ClaudeOptions = ProgramDefaults & { readonly clock: Clock };

/** Variables that hold its keys by default. */
const ownKeys = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'];

/** The agent. It rejects only where the engine's `run` and `keep` do. */
export function claudeAgent(options: ClaudeOptions): Agent {
  const { env, clock } = options;
  return {
    name: 'claude',
    describe: 'claude (the agent program, with its own login or key)',
    tellsCost: true,
    unseen: true,
    threads: true,
    modelFor(task) {
      const read = readClaudeSettings(task, options);
      return 'problem' in read ? undefined : read.settings.model;
    },
    accountFor: (task) => claudeAccount(task, options),
    work: (task, signal) =>
      runProgram(
        {
          name: 'claude',
          title: 'claude',
          install:
            'install it: npm install -g @anthropic-ai/claude-code, or say where it is: claude.path on the node, FACTORY_CLAUDE_PATH',
          timeoutKey: 'claude.timeout',
          env,
          clock,
          readSettings: () => readClaudeSettings(task, options),
          prepare: (_, settings) => launchOf(task, settings, env),
        },
        task,
        signal,
      ),
  };
}

/** Its key and its login, at the server that its environment names. */
function claudeAccount(task: SettingsTask, options: ProgramDefaults): AgentAccount | undefined {
  const { env } = options;
  const read = readClaudeSettings(task, options);
  if ('problem' in read) return undefined;
  const { model = '', envKeys } = read.settings;
  const login = loginIn(accountFile(env), ['oauthAccount', 'accountUuid']);
  const server = env['ANTHROPIC_BASE_URL']?.trim() || undefined;
  const cloud = clouds.filter((name) => (env[name]?.trim() ?? '') !== '');
  return {
    endpoint: server === undefined ? ['claude', ...cloud].join(' ') : showURL(server),
    model,
    holder: holderOf(env, [...ownKeys, ...envKeys], { login, home: claudeHome(env), settings: [] }),
  };
}

/** Variables by which it uses the models of a cloud. */
const clouds = ['CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX'];

async function launchOf(
  task: AgentTask,
  settings: ClaudeSettings,
  env: Environment,
): Promise<Launch | FailedReport> {
  const place = claudePlace(env);
  const home = claudeHome(env);
  const session = await openThreadSession(task, {
    ...{ program: 'claude', home, cwd: settings.workdir, nameOf: claudeSessionName },
  });
  if (session !== undefined && 'kind' in session) return session;
  const args = claudeArgv(settings, answerSchema, session?.resumes);
  const events: ClaudeEvents = claudeEvents({
    ...(session === undefined ? {} : { started: session.started }),
    onText: shower(task),
    acted: (action) => task.acted(action),
    used() {
      const { usage } = usageOf(events, settings);
      if (usage !== undefined) task.used?.(usage);
    },
  });
  return {
    artifacts: {
      'claude.schema.json': `${JSON.stringify(answerSchema, null, 2)}\n`,
      'claude.args.txt': `${['claude', ...args].join(' ')}\n`,
    },
    args,
    program: {
      cwd: settings.workdir,
      ...place,
      home: [...place.home, ...(session?.places ?? [])],
      keys: [...new Set([...ownKeys, ...settings.envKeys])],
      servers: ['ANTHROPIC_BASE_URL'],
      network: true,
      unread: { hidden: settings.hidden },
      stdin: `${task.prompt}\n\n${answerRequest}\n`,
    },
    events: (text) => events.line(text),
    steps: claudeSession(),
    finished: () => events.over,
    session,
    // Its first line names the model.
    asked: () => events.model !== undefined || events.soFar !== undefined,
    async result() {
      const { result } = events;
      const denied = result?.denied ?? [];
      for (const { tool, action } of denied)
        task.log('warn', `claude was denied the tool ${tool}`, {
          detail: action.detail,
          fix: 'allow it: claude.allowed_tools or claude.permission_mode on the node',
        });
      const text = events.answer === undefined ? result?.text : JSON.stringify(events.answer, null, 2);
      const response = text === undefined || text === '' ? undefined : `${text}\n`;
      return {
        ...(response === undefined ? {} : { response }),
        ...usageOf(events, settings),
        ...(denied.length === 0 ? {} : { denied: denied.map(deniedWords) }),
        exited: (end) => reportOf(task, events, response, end),
      };
    },
  };
}

const deniedWords = ({ tool, action: { detail } }: DeniedCall): string =>
  detail === '' || detail.startsWith(tool) ? detail || tool : `${tool} ${detail}`;

/** By its last line, else as far as its messages report. */
function usageOf(events: ClaudeEvents, settings: ClaudeSettings): { readonly usage?: Usage } {
  const { result } = events;
  const tokens = result ?? events.soFar;
  if (tokens === undefined) return {};
  // Of a server that does not report usage it reports none at all.
  const none = (tokens.inputTokens ?? 0) + (tokens.outputTokens ?? 0) + (result?.costUsd ?? 0) === 0;
  if (none && result?.isError === false) return {};
  // An answer that was lost on its way was worked on; what a server refused was not.
  const lost = result?.status === undefined && events.trouble === 'server_error';
  return {
    usage: {
      // An alias such as `sonnet` is known by its whole name.
      model: events.model ?? settings.model ?? 'claude',
      input_tokens: tokens.inputTokens,
      output_tokens: tokens.outputTokens,
      ...(tokens.cachedTokens === null ? {} : { cached_input_tokens: tokens.cachedTokens }),
      cost_usd: result?.costUsd ?? null,
      ...(result === undefined || lost ? { incomplete: true as const } : {}),
    },
  };
}

function reportOf(
  task: AgentTask,
  events: ClaudeEvents,
  response: string | undefined,
  { code, lastWords, now, fail }: ProgramEnd,
): AgentReport {
  const { result } = events;
  const failed = result !== undefined && (result.isError || result.subtype.startsWith('error'));
  if (code !== 0 || failed) {
    const ending = failed ? claudeEnding(result.subtype) : undefined;
    const lastMessage = failed && result.text !== '' ? result.text : lastWords;
    const how = ending ?? (code === 0 ? 'it reported an error' : `exit status ${code}`);
    const trouble = claudeFailure(failed ? result : undefined, events, lastMessage, now.getTime());
    return { ...fail(trouble.class, `claude failed: ${how}${because(lastMessage)}`), ...trouble };
  }
  if (result === undefined || response === undefined) {
    const lacks = result === undefined ? 'no result line' : 'no answer';
    return fail('agent', `claude output missing: it ended with exit status 0 and ${lacks}`);
  }
  const answer = parseAnswer(response, wordsFor(task));
  return 'problem' in answer
    ? (proseSuccess(task, response) ?? fail('agent', `claude output ${answer.problem}`))
    : { kind: 'finished', ...answer.answer, response };
}

/** Everything after the program's name; the prompt is not among it, it goes to standard input. */
function claudeArgv(settings: ClaudeSettings, schema: JsonObject, resumes: string | undefined): string[] {
  const pair = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, value]);
  return [
    '-p',
    '--output-format',
    'stream-json',
    '--verbose',
    '--json-schema',
    JSON.stringify(schema),
    '--permission-mode',
    settings.permissionMode,
    ...pair('--allowedTools', settings.allowedTools),
    ...pair('--disallowedTools', settings.disallowedTools),
    ...pair('--model', settings.model),
    ...pair('--effort', settings.effort),
    ...pair('--max-turns', settings.maxTurns === undefined ? undefined : String(settings.maxTurns)),
    ...settings.addDirs.flatMap((dir) => ['--add-dir', dir]),
    ...pair('--settings', settings.settings),
    ...pair('--resume', resumes),
    ...settings.args,
  ];
}

/** In its home: its login, which programs it runs, and what it is instructed in every session. */
const own: HomeNames = {
  login: ['.credentials.json'],
  settings:
    /^(?:(?:remote-)?settings(?:\.local)?\.json|CLAUDE\.md|keybindings\.json|agents|commands|hooks|output-styles|rules|plugins|local)$/,
  shared: ['skills'],
};

/** In its file of accounts and servers: what it remembers of projects and their sessions. */
const remembered = /project|history|session/i;

/** Its file of accounts and servers. With the variable it lies in that folder. */
function accountFile(env: Environment): string {
  const folder = env['CLAUDE_CONFIG_DIR']?.trim() ?? '';
  return join(folder !== '' ? resolve(folder) : (env['HOME']?.trim() ?? ''), '.claude.json');
}

/** Its configuration and login, and variables that keep it from calling home, from replacing itself, and from taking
 *  itself for a part of another session of its kind. */
export function claudePlace(env: Environment): Required<Pick<AgentProgram, 'env' | 'home'>> {
  const folder = env['CLAUDE_CONFIG_DIR']?.trim() ?? '';
  const place = claudeHome(env);
  const home =
    place === undefined ? [] : [...homeWith(place, own), ...jsonWithout(accountFile(env), remembered)];
  return {
    home,
    env: {
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDECODE: '',
      CLAUDE_CODE_ENTRYPOINT: '',
      // It may be relative, and the program starts elsewhere.
      ...(folder === '' ? {} : { CLAUDE_CONFIG_DIR: resolve(folder) }),
    },
  };
}
