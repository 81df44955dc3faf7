/** Any program as an agent: a prompt by standard input, file or argument, an answer by file or standard output. */
import { join } from 'node:path';
import type { Usage } from '../model/spent.ts';
import type { Clock } from '../system/clock.ts';
import { removeNow } from '../system/files.ts';
import { isFolder } from '../system/read.ts';
import type { Exit } from '../system/spawn.ts';
import type { Agent, AgentReport, AgentTask } from './agent.ts';
import { readCommandAnswer } from './command/answer.ts';
import {
  type CommandDefaults,
  type CommandFiles,
  type CommandSettings,
  readSettings,
} from './command/settings.ts';
import { readUsage } from './command/usage.ts';
import { type AnswerFile, readAnswer } from './program/answer.ts';
import { findExecutable } from './program/executable.ts';
import { heartbeat, tellEnd } from './program/heartbeat.ts';
import { answerRequest, answerSchema } from './program/schema.ts';
import { programView } from './program/view.ts';

export type CommandOptions = CommandDefaults & { readonly clock: Clock };

const mend = 'install it, or name another one: command.run on the node, FACTORY_COMMAND_RUN';

type Failed = Extract<AgentReport, { kind: 'failed' }>;
/** It was not started, and has cost nothing. */
const config = (reason: string): Failed => ({ kind: 'failed', class: 'config', reason, unbilled: true });

const stdoutName = 'command.stdout.log';
const usageName = 'command.usage.json';

/** The agent. It rejects only where the engine's own doors (`run`, `keep`) do. */
export function commandAgent(options: CommandOptions): Agent {
  const { env, clock } = options;
  return {
    name: 'command',
    unseen: true,
    describe: 'command (the program that the node names)',
    async work(task, signal) {
      if (signal.aborted) return { kind: 'cancelled' };
      const files: CommandFiles = {
        prompt: join(task.nodeDir, 'command.prompt.md'),
        response: join(task.nodeDir, 'response.md'),
        schema: join(task.nodeDir, 'command.schema.json'),
        usage: join(task.nodeDir, usageName),
      };
      const read = settingsFor(task, files, options);
      if ('problem' in read) return config(read.problem);
      const { settings, prompt } = read;
      const program = await findExecutable('command', settings.executable, env['PATH'], mend);
      if ('problem' in program) return { ...config(program.problem), missing: true };
      if (settings.workdir !== task.workspace && !isFolder(settings.workdir))
        return config(`command.workdir: there is no folder ${settings.workdir}`);

      // What an earlier attempt answered is not this one's answer.
      for (const stale of [files.response, files.usage]) removeNow(stale);
      const schema = settings.responseFormat === 'text' ? task.schema?.schema : undefined;
      await task.keep('command.prompt.md', prompt);
      await task.keep('command.schema.json', `${JSON.stringify(schema ?? answerSchema, null, 2)}\n`);
      await task.keep(
        'command.args.txt',
        `${[settings.executable.configured, ...settings.args].join(' ')}\n`,
      );

      const view = programView('command', task, env);
      const began = clock.monotonic();
      task.log('info', 'command started', { program: program.path, workdir: settings.workdir });
      const rest = heartbeat('command', task, clock, settings.heartbeatMs);
      let exit: Exit;
      try {
        exit = await task.run({
          argv: [program.path, ...settings.args],
          cwd: settings.workdir,
          env: {
            FACTORY_PROMPT_FILE: files.prompt,
            FACTORY_RESPONSE_FILE: files.response,
            FACTORY_SCHEMA_FILE: files.schema,
            FACTORY_USAGE_FILE: files.usage,
            FACTORY_WORKSPACE: task.workspace,
            FACTORY_NODE_DIR: task.nodeDir,
            FACTORY_MODEL: settings.model ?? '',
            // Colours would stand in the answer.
            NO_COLOR: '1',
          },
          keys: settings.envKeys,
          home: settings.home,
          network: settings.network,
          unread: { hidden: settings.hidden },
          ...(settings.promptVia === 'stdin' ? { stdin: prompt } : {}),
          stdoutName,
          stderrName: 'command.stderr.log',
          onStdout: view.stdout,
          onStderr: view.stderr,
          ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
        });
      } finally {
        rest();
      }
      view.end();
      const said = await reportOf(exit, task, files, settings, view.lastWords());
      const report = { ...said, ...(await usageOf(exit, task, files, settings)) };
      tellEnd('command', task, report, clock.monotonic() - began);
      return report;
    },
  };
}

/** The settings and the prompt, to which a request for the answer's form is added only where the node says `json`. */
function settingsFor(
  task: AgentTask,
  files: CommandFiles,
  options: CommandOptions,
): { readonly settings: CommandSettings; readonly prompt: string } | { readonly problem: string } {
  const bare = `${task.prompt}\n`;
  const first = readSettings({ ...task, prompt: bare }, files, options);
  if ('problem' in first || first.settings.responseFormat !== 'json') return { ...first, prompt: bare };
  const prompt = `${bare}\n${answerRequest}\nThe schema: ${JSON.stringify(answerSchema)}\n`;
  const second = readSettings({ ...task, prompt }, files, options);
  return { ...second, prompt };
}

async function reportOf(
  exit: Exit,
  task: AgentTask,
  files: CommandFiles,
  { responseVia, responseFormat }: CommandSettings,
  lastWords: string,
): Promise<AgentReport> {
  if (exit.kind === 'cancelled') return { kind: 'cancelled' };
  const file =
    responseVia === 'stdout' || responseVia === 'none' ? undefined : await readAnswer(files.response);
  const fail = (failureClass: Failed['class'], reason: string): Failed => ({
    kind: 'failed',
    class: failureClass,
    reason,
    ...(file?.text === undefined ? {} : { response: file.text }),
  });
  const because = lastWords === '' ? '' : `: ${lastWords}`;
  switch (exit.kind) {
    case 'not_found':
      return {
        ...config(`cannot start the command: ${exit.why}`),
        ...(exit.noRoom === true ? { class: 'infra' as const } : { missing: true }),
      };
    case 'timed_out':
      return fail(
        'timeout',
        `command timeout after ${exit.afterMs / 1000}s (longer: timeout or command.timeout on the node)`,
      );
    case 'signalled':
      return fail('agent', `command failed: ended by ${exit.signal}${because}`);
    case 'exited': {
      if (exit.code !== 0) return fail('agent', `command failed: exit status ${exit.code}${because}`);
      if (responseVia === 'none') return done;
      const said = file ?? (responseVia === 'file' ? undefined : await standardOutput(task));
      if (said === undefined)
        return fail(
          'agent',
          'the command ended with exit status 0 and wrote no answer ($FACTORY_RESPONSE_FILE)',
        );
      if ('problem' in said) return fail('agent', `the answer of the command ${said.problem}`);
      const answer = readCommandAnswer(said.text, responseFormat);
      if ('problem' in answer) {
        return {
          ...fail('agent', `the answer of the command ${answer.problem}`),
          response: said.text,
        };
      }
      if ('text' in answer && answer.text.trim() === '')
        return fail('agent', 'the command ended with exit status 0 and answered nothing');
      return 'text' in answer
        ? { kind: 'answered', text: answer.text }
        : { kind: 'finished', ...answer.answer, response: said.text };
    }
  }
}

/** What it has told of its calls; of a program that was cut, the least that it has used. */
async function usageOf(
  exit: Exit,
  task: AgentTask,
  files: CommandFiles,
  { model }: CommandSettings,
): Promise<{ readonly usage?: Usage }> {
  const read = exit.kind === 'not_found' ? undefined : await readUsage(files.usage, model);
  if (read === undefined) return {};
  // As all that is kept: without secrets.
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
  readAnswer(join(task.nodeDir, stdoutName), 'evidence');

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
