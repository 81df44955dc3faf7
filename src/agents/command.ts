/** Any program as an agent: a prompt by standard input, file or argument, an answer by file or standard output. */
import { join } from 'node:path';
import {
  type AgentAnswer,
  agentWord,
  bareOutcome,
  contradictionIn,
  documentVerdict,
  parseAnswer,
  spokenIn,
  wordsFor,
} from '../core/agent-answer.ts';
import { bareAnswer } from '../core/answer-json.ts';
import { proseSuccess } from '../core/auto-status.ts';
import type { Usage } from '../core/budget/usage.ts';
import type { Agent, AgentReport, AgentTask } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Exit } from '../core/contracts/process.ts';
import { agentOutcomes } from '../core/outcome.ts';
import { namedLiterals, type OutcomeWords } from '../core/own-words.ts';
import { removeNow } from '../platform/files/write.ts';
import { commandSession, commandSessionName } from './command-session.ts';
import { type CommandFiles, type CommandSettings, readCommandSettings } from './command-settings.ts';
import { readUsage } from './command-usage.ts';
import { type AnswerFile, answerRequest, answerSchema, readAnswerFile } from './program/answer.ts';
import { saysOutage } from './program/failure.ts';
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
  return withPrompt(`${task.prompt}\n\n${answerRequest}\nThe schema: ${JSON.stringify(answerSchema)}\n`);
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
  const answer = readCommandAnswer(response.text, responseFormat, {
    document: task.schema !== undefined || task.settings.response_file !== undefined,
    tested: task.tested === true,
    words: wordsFor(task),
  });
  if ('problem' in answer)
    return (
      proseSuccess(task, response.text) ?? {
        ...fail('agent', `the answer of the command ${answer.problem}`),
        response: response.text,
      }
    );
  if (!('text' in answer)) return { kind: 'finished', ...answer.answer, response: response.text };
  return answer.text.trim() === ''
    ? fail('agent', 'the command ended with exit status 0 and answered nothing')
    : { kind: 'answered', text: answer.text };
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

/** What a command answered, by its format. */
export type CommandAnswer =
  | { readonly answer: AgentAnswer }
  | { readonly text: string }
  /** Reads after "the answer of the command". */
  | { readonly problem: string };

/** What of the node decides how an answer without a fixed form is taken. `document`: it goes to a file or has another
 *  schema, so that an outcome within it is a part of the document. `tested`: edges test the node's outcome. */
export type Use = { readonly document: boolean; readonly tested: boolean; readonly words: OutcomeWords };

/** Reads an answer that is there. */
function readCommandAnswer(text: string, format: CommandSettings['responseFormat'], use: Use): CommandAnswer {
  switch (format) {
    case 'text':
      return { text };
    case 'json':
      return parseAnswer(text, use.words);
    case 'outcome':
      return outcomeIn(text, use.words);
    case 'auto':
      return use.document ? (documentVerdict(text, use.words) ?? { text }) : reported(text, use);
  }
}

/** An outcome where the text says one; other words are a success unless edges want to know. */
function reported(text: string, { tested, words }: Use): CommandAnswer {
  const spoken = spokenIn(text, words, tested);
  if (!('none' in spoken)) return spoken;
  if (bareAnswer(text).trim() === '') return { text: '' };
  if (!tested) return { text };
  return {
    problem:
      'gives no outcome, and the edges of the node test it: response_format=json asks for one, response_format=text takes any ' +
      'answer as a success',
  };
}

/** An outcome's word, or a word of the pipeline's own, on the first line that is not blank; what follows are notes, or the reason of
 *  a failure. */
function outcomeIn(text: string, words: OutcomeWords): CommandAnswer {
  const [first = '', ...rest] = bareAnswer(text).trim().split('\n');
  const word = agentWord(first, words);
  if (word === undefined) {
    const known = [...agentOutcomes, ...namedLiterals(words)].join(', ');
    return { problem: `has the first line ${JSON.stringify(first.slice(0, 80))}, which is none of ${known}` };
  }
  const answer = bareOutcome(word.outcome, rest.join('\n'), word.label);
  return contradictionIn(answer, rest.join('\n'), words) ?? { answer };
}
