/** The agent program `claude` (`claude -p`): a prompt on standard input, work in the workspace, JSON lines on standard
 *  output, the last of which carries the answer. */
import { join } from 'node:path';
import type { Clock } from '../system/clock.ts';
import { removeNow } from '../system/files.ts';
import { isFolder } from '../system/read.ts';
import type { Exit } from '../system/spawn.ts';
import type { Agent, AgentReport, Usage } from './agent.ts';
import { claudeArgv, claudePlace } from './claude/argv.ts';
import { type ClaudeEvents, claudeEvents } from './claude/events.ts';
import { type ClaudeDefaults, type ClaudeSettings, readSettings } from './claude/settings.ts';
import { endingOf, troubleOf } from './claude/trouble.ts';
import { parseAnswer } from './program/answer.ts';
import { findExecutable } from './program/executable.ts';
import { heartbeat, tellEnd } from './program/heartbeat.ts';
import { answerRequest, answerSchema } from './program/schema.ts';
import { type ProgramView, programView, shower } from './program/view.ts';

export type ClaudeOptions = ClaudeDefaults & { readonly clock: Clock };

/** Variables that hold its keys, where nobody names more. */
const ownKeys = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'];

const mend =
  'install it: npm install -g @anthropic-ai/claude-code, or say where it is: claude.path on the node, FACTORY_CLAUDE_PATH';

type Failed = Extract<AgentReport, { kind: 'failed' }>;
/** It was not started, and has cost nothing. */
const config = (reason: string): Failed => ({ kind: 'failed', class: 'config', reason, unbilled: true });

/** The agent. It rejects only where the engine's own doors (`run`, `keep`) do. */
export function claudeAgent(options: ClaudeOptions): Agent {
  const { env, clock } = options;
  return {
    name: 'claude',
    describe: 'claude (the agent program, with its own login or key)',
    tellsCost: true,
    unseen: true,
    modelFor(task) {
      const read = readSettings(task, options);
      return 'problem' in read ? undefined : read.settings.model;
    },
    async work(task, signal) {
      if (signal.aborted) return { kind: 'cancelled' };
      const read = readSettings(task, options);
      if ('problem' in read) return config(read.problem);
      const { settings } = read;
      const program = await findExecutable('claude', settings.executable, env['PATH'], mend);
      if ('problem' in program) return { ...config(program.problem), missing: true };
      if (settings.workdir !== task.workspace && !isFolder(settings.workdir))
        return config(`claude.workdir: there is no folder ${settings.workdir}`);

      const argv = claudeArgv(settings, answerSchema);
      // What an earlier attempt answered is not this one's answer.
      removeNow(join(task.nodeDir, 'response.md'));
      await task.keep('claude.schema.json', `${JSON.stringify(answerSchema, null, 2)}\n`);
      await task.keep('claude.args.txt', `${['claude', ...argv].join(' ')}\n`);

      const events: ClaudeEvents = claudeEvents({
        said: shower(task),
        acted: (action) => task.acted(action),
        used() {
          const { usage } = usageOf(events, settings);
          if (usage !== undefined) task.used?.(usage);
        },
      });
      const view = programView('claude', task, env, events.line);
      const began = clock.monotonic();
      task.log('info', 'claude started', { program: program.path, workdir: settings.workdir });
      const rest = heartbeat('claude', task, clock, settings.heartbeatMs);
      let exit: Exit;
      try {
        exit = await task.run({
          argv: [program.path, ...argv],
          cwd: settings.workdir,
          ...claudePlace(env),
          keys: [...new Set([...ownKeys, ...settings.envKeys])],
          network: true,
          unread: { hidden: settings.hidden },
          stdin: `${task.prompt}\n\n${answerRequest}\n`,
          stdoutName: 'claude.stdout.log',
          stderrName: 'claude.stderr.log',
          onStdout: view.stdout,
          onStderr: view.stderr,
          ...(settings.timeoutMs === undefined ? {} : { timeoutMs: settings.timeoutMs }),
        });
      } finally {
        rest();
      }
      view.end();
      const report = reportOf(exit, events, view, settings, clock.now().getTime());
      tellEnd('claude', task, report, clock.monotonic() - began);
      return report;
    },
  };
}

/** By its last line, else as far as its messages told. */
function usageOf(events: ClaudeEvents, settings: ClaudeSettings): { readonly usage?: Usage } {
  const { result } = events;
  const told = result ?? events.soFar;
  if (told === undefined) return {};
  // A server that does not tell what it used is told of as none at all.
  const nothing = (told.inputTokens ?? 0) + (told.outputTokens ?? 0) + (result?.costUsd ?? 0) === 0;
  if (nothing && result?.isError === false) return {};
  // An answer that was lost on its way was worked on; what a server refused was not.
  const lost = result?.status === undefined && events.trouble === 'server_error';
  return {
    usage: {
      // An alias such as `sonnet` is known by its whole name.
      model: events.model ?? settings.model ?? 'claude',
      input_tokens: told.inputTokens,
      output_tokens: told.outputTokens,
      ...(told.cachedTokens === null ? {} : { cached_input_tokens: told.cachedTokens }),
      cost_usd: result?.costUsd ?? null,
      ...(result === undefined || lost ? { incomplete: true as const } : {}),
    },
  };
}

function reportOf(
  exit: Exit,
  events: ClaudeEvents,
  view: ProgramView,
  settings: ClaudeSettings,
  now: number,
): AgentReport {
  const { result } = events;
  const text = events.answer === undefined ? result?.text : JSON.stringify(events.answer, null, 2);
  const usage = usageOf(events, settings);
  if (exit.kind === 'cancelled') return { kind: 'cancelled', ...usage };
  const beside = { ...(text === undefined || text === '' ? {} : { response: `${text}\n` }), ...usage };
  const fail = (failureClass: Failed['class'], reason: string): Failed => ({
    kind: 'failed',
    class: failureClass,
    reason,
    ...beside,
  });
  const because = (words: string | undefined) => (words === undefined || words === '' ? '' : `: ${words}`);
  switch (exit.kind) {
    case 'not_found':
      return {
        ...config(`cannot start claude: ${exit.why}`),
        ...(exit.noRoom === true ? { class: 'infra' as const } : { missing: true }),
      };
    case 'timed_out':
      return fail(
        'timeout',
        `claude timeout after ${exit.afterMs / 1000}s (longer: timeout or claude.timeout on the node)`,
      );
    case 'signalled':
      return fail('agent', `claude failed: ended by ${exit.signal}${because(view.lastWords())}`);
    case 'exited': {
      const failed = result !== undefined && (result.isError || result.subtype.startsWith('error'));
      if (exit.code !== 0 || failed) {
        const ending = failed ? endingOf(result.subtype) : undefined;
        const said = failed && result.text !== '' ? result.text : view.lastWords();
        const how = ending ?? (exit.code === 0 ? 'it reported an error' : `exit status ${exit.code}`);
        const trouble = troubleOf(failed ? result : undefined, events, now);
        return { ...fail(trouble.class, `claude failed: ${how}${because(said)}`), ...trouble };
      }
      if (result === undefined || text === undefined || text === '') {
        const lacks = result === undefined ? 'no result line' : 'no answer';
        return fail('agent', `claude output missing: it ended with exit status 0 and ${lacks}`);
      }
      const answer = parseAnswer(text);
      return 'problem' in answer
        ? fail('agent', `claude output ${answer.problem}`)
        : { kind: 'finished', ...answer.answer, ...beside, response: `${text}\n` };
    }
  }
}
