/** Any program as an agent: a prompt by standard input, file or argument, an answer by file or standard output. */
import { join } from 'node:path';
import type { Usage } from '../core/budget/usage.ts';
import type { Agent, AgentReport, AgentTask } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Exit } from '../core/contracts/process.ts';
import { removeNow } from '../platform/files/write.ts';
import { commandSession, commandSessionName } from './command-session.ts';
import { type CommandFiles, type CommandSettings, readCommandSettings } from './command-settings.ts';
import { readUsage } from './command-usage.ts';
import { type AnswerFile, answerSchema, readAnswerFile } from './program/answer.ts';
import { saysOutage } from './program/failure.ts';
import { answerReport, promptAsking } from './program/free-answer.ts';
import { because, type Launch, type ProgramEnd, runProgram } from './program/run.ts';
import type { ProgramDefaults } from './program/settings.ts';

export type CommandOptions = ProgramDefaults & { readonly clock: Clock };

const usageName = 'command.usage.json';

/** With the prompt as the program gets it. */
type Settings = CommandSettings & { readonly prompt: string };

/** The agent. It rejects only where the engine's `run` and `keep` do. */
export function commandAgent(options: CommandOptions): Agent {
  const { env, clock } = options;
  return {
    name: 'command',
    unseen: true,
    describe: 'command (the program that the node names)',
    work(task, signal) {
      const files: CommandFiles = {
        prompt: join(task.nodeDir, 'command.prompt.md'),
        response: join(task.nodeDir, 'response.md'),
        schema: join(task.nodeDir, 'command.schema.json'),
        usage: join(task.nodeDir, usageName),
        session: join(task.nodeDir, commandSessionName),
      };
      return runProgram(
        {
          name: 'command',
          title: 'command',
          install: 'install it, or name another one: command.run on the node, FACTORY_COMMAND_RUN',
          timeoutKey: 'command.timeout',
          env,
          clock,
          readSettings: () => settingsFor(task, files, options),
          prepare: async (_, settings) => launchOf(task, settings, files, clock),
        },
        task,
        signal,
      );
    },
  };
}

function launchOf(task: AgentTask, settings: Settings, files: CommandFiles, clock: Clock): Launch {
  // What an earlier attempt has used and done is not this one's.
  removeNow(files.usage);
  removeNow(files.session);
  const session = commandSession(task, settings.model, clock);
  const schema = settings.responseFormat === 'text' ? task.schema?.schema : undefined;
  return {
    artifacts: {
      'command.prompt.md': settings.prompt,
      'command.schema.json': `${JSON.stringify(schema ?? answerSchema, null, 2)}\n`,
      'command.args.txt': `${[settings.executable.configured, ...settings.args].join(' ')}\n`,
    },
    args: settings.args,
    program: {
      cwd: settings.workdir,
      env: {
        FACTORY_PROMPT_FILE: files.prompt,
        FACTORY_RESPONSE_FILE: files.response,
        FACTORY_SCHEMA_FILE: files.schema,
        FACTORY_USAGE_FILE: files.usage,
        FACTORY_SESSION_FILE: files.session,
        FACTORY_WORKSPACE: task.workspace,
        FACTORY_NODE_DIR: task.nodeDir,
        FACTORY_MODEL: settings.model ?? '',
        // Colours would be part of the answer.
        NO_COLOR: '1',
      },
      keys: settings.envKeys,
      home: settings.home,
      network: settings.network,
      unread: { hidden: settings.hidden },
      grows: { name: commandSessionName, onText: session.push },
      ...(settings.promptVia === 'stdin' ? { stdin: settings.prompt } : {}),
    },
    async result(exit) {
      await session.keep();
      const inFile = settings.responseVia === 'auto' || settings.responseVia === 'file';
      const file = inFile && exit.kind !== 'cancelled' ? await readAnswerFile(files.response) : undefined;
      return {
        ...(file?.text === undefined ? {} : { response: file.text }),
        ...(await usageOf(exit, task, files, settings)),
        exited: (end) => reportOf(task, settings, file, end),
      };
    },
  };
}

/** The settings and the prompt, which asks for the form of the answer only where the node says `json`. */
function settingsFor(
  task: AgentTask,
  files: CommandFiles,
  options: CommandOptions,
): { readonly settings: Settings } | { readonly problem: string } {
  const withPrompt = (prompt: string) => {
    const read = readCommandSettings({ ...task, prompt }, files, options);
    return 'problem' in read ? read : { settings: { ...read.settings, prompt } };
  };
  const bare = withPrompt(`${task.prompt}\n`);
  if ('problem' in bare || bare.settings.responseFormat !== 'json') return bare;
  return withPrompt(promptAsking(task.prompt));
}

async function reportOf(
  task: AgentTask,
  { responseVia, responseFormat }: CommandSettings,
  file: AnswerFile | undefined,
  { code, lastWords, fail }: ProgramEnd,
): Promise<AgentReport> {
  if (code !== 0) {
    const isOutage = saysOutage(lastWords);
    const report = fail(
      isOutage ? 'infra' : 'agent',
      `command failed: exit status ${code}${because(lastWords)}`,
    );
    return isOutage ? { ...report, park: { kind: 'outage' } } : report;
  }
  if (responseVia === 'none') return done;
  const response = file ?? (responseVia === 'file' ? undefined : await standardOutput(task));
  if (response === undefined)
    return fail('agent', 'the command ended with exit status 0 and wrote no answer ($FACTORY_RESPONSE_FILE)');
  if ('problem' in response) return fail('agent', `the answer of the command ${response.problem}`);
  return answerReport(task, response.text, responseFormat, {
    fail,
    answer: 'the answer of the command',
    nothing: 'the command ended with exit status 0 and answered nothing',
  });
}

/** What it has reported of its calls; of a program that was ended, the least that it has used. */
async function usageOf(
  exit: Exit,
  task: AgentTask,
  files: CommandFiles,
  { model }: CommandSettings,
): Promise<{ readonly usage?: Usage }> {
  const read = exit.kind === 'not_found' ? undefined : await readUsage(files.usage, model);
  if (read === undefined) return {};
  // Kept with secrets masked, as all artifacts.
  if (read.text !== undefined) await task.keep(usageName, read.text);
  if ('problem' in read) {
    task.log('warn', `the usage file of the command ${read.problem}; what it has used is unknown`, {
      file: files.usage,
    });
    return {};
  }
  return { usage: { ...read.usage, ...(exit.kind === 'exited' ? {} : { incomplete: true }) } };
}

const standardOutput = (task: AgentTask): Promise<AnswerFile | undefined> =>
  readAnswerFile(join(task.nodeDir, 'command.stdout.log'), 'evidence');

/** Its exit code was all that was asked for. */
const done: AgentReport = {
  kind: 'finished',
  outcome: 'success',
  label: '',
  suggested: [],
  notes: 'the command ended with exit status 0',
  reason: '',
  updates: {},
  response: undefined,
};
