/** Any program that speaks the Agent Client Protocol as an agent: one session, one prompt, and the text that the turn ends with. */
import type { Usage } from '../core/budget/usage.ts';
import type { Agent, AgentReport, AgentTask } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Exit } from '../core/contracts/process.ts';
import { acpFailure, providerFailure } from './acp/failure.ts';
import { acpSession } from './acp/session.ts';
import { type AcpSettings, readAcpSettings } from './acp/settings.ts';
import { type AcpTalk, acpTalk } from './acp/talk.ts';
import { type AcpUpdates, acpUpdates, longestAcpAnswer } from './acp/updates.ts';
import { acpTokensIn } from './acp/usage.ts';
import { saysOutage } from './program/failure.ts';
import { answerReport, promptAsking } from './program/free-answer.ts';
import { because, type Launch, type ProgramEnd, runProgram } from './program/run.ts';
import type { ProgramDefaults } from './program/settings.ts';
import { shower } from './program/view.ts';

export type AcpOptions = ProgramDefaults & { readonly clock: Clock };

/** The agent. It rejects only where the engine's `run` and `keep` do. */
export function acpAgent(options: AcpOptions): Agent {
  const { env, clock } = options;
  return {
    name: 'acp',
    unseen: true,
    describe: 'acp (the program that the node names, by the Agent Client Protocol)',
    work: (task, signal) =>
      runProgram(
        {
          name: 'acp',
          title: 'acp',
          install: 'install it, or name another one: acp.command on the node, FACTORY_ACP_COMMAND',
          timeoutKey: 'acp.timeout',
          env,
          clock,
          readSettings: () => readAcpSettings(task, options),
          prepare: (_, settings) => launchOf(task, settings, options, signal),
        },
        task,
        signal,
      ),
  };
}

/** Milliseconds that a program has to exit: the protocol has no farewell, and some wait for more. */
const exitMs = 2_000;

async function launchOf(
  task: AgentTask,
  settings: AcpSettings,
  { env, clock }: AcpOptions,
  signal: AbortSignal,
): Promise<Launch> {
  const isInside = (await task.sandbox?.())?.rung === 'bwrap';
  const { preset } = settings;
  const keys = [...new Set([...(preset?.keys ?? []), ...settings.envKeys])];
  const hasValue = (name: string) => (env[name]?.trim() ?? '') !== '';
  const updates: AcpUpdates = acpUpdates({
    onText: shower(task),
    acted: (action) => task.acted(action),
    used() {
      const { usage } = usageOf(talk, updates, settings);
      if (usage !== undefined) task.used?.(usage);
    },
  });
  const talk: AcpTalk = acpTalk(
    {
      prompt: settings.responseFormat === 'json' ? promptAsking(task.prompt) : task.prompt,
      cwd: settings.workdir,
      model: settings.model,
      modes: (isInside ? preset?.modesInSandbox : undefined) ?? [],
      allows: (settings.permissions ?? (isInside ? 'allow' : 'refuse')) === 'allow',
      hasKey: (name) => keys.includes(name) && hasValue(name),
      keyMethod: preset?.keys.some(hasValue) === true ? preset.keyMethod?.(env) : undefined,
    },
    updates,
    { clock, signal },
  );
  return {
    artifacts: { 'acp.args.txt': `${[settings.executable.configured, ...settings.args].join(' ')}\n` },
    args: settings.args,
    program: {
      cwd: settings.workdir,
      // Colours would be part of the answer.
      env: { NO_COLOR: '1' },
      keys,
      servers: preset?.servers ?? [],
      home: settings.home ?? preset?.home(env) ?? [],
      network: settings.network,
      unread: { hidden: settings.hidden },
    },
    talk: (input) => talk.begin(input),
    exitMs,
    events: (line) => talk.line(line),
    steps: acpSession(),
    finished: () => talk.end !== undefined,
    cleanUp: () => talk.close(),
    asked: () => talk.isAsked,
    async result(exit) {
      updates.close();
      await task.keep('acp.sent.jsonl', talk.sent.map((line) => `${line}\n`).join(''));
      const { answer, denied } = updates;
      return {
        ...(answer === '' ? {} : { response: answer }),
        ...(denied.length === 0 ? {} : { denied }),
        ...usageOf(talk, updates, settings, exit),
        exited: (end) => reportOf(task, settings, { talk, updates }, end),
      };
    },
  };
}

/** What the end of the turn reported; without one, the cost that was reported until then. */
function usageOf(
  { end, model }: AcpTalk,
  { costUsd }: AcpUpdates,
  { preset }: AcpSettings,
  exit?: Exit,
): { readonly usage?: Usage } {
  const tokens = end?.kind === 'turn' ? acpTokensIn(end.result) : undefined;
  if (tokens === undefined && costUsd === undefined) return {};
  const whole = end?.kind === 'turn' && exit?.kind === 'exited' && preset?.partOfUsage !== true;
  return {
    usage: {
      model: model ?? 'acp',
      ...(tokens ?? { input_tokens: null, output_tokens: null }),
      cost_usd: costUsd ?? null,
      ...(whole ? {} : { incomplete: true as const }),
    },
  };
}

type Work = { readonly talk: AcpTalk; readonly updates: AcpUpdates };

function reportOf(
  task: AgentTask,
  settings: AcpSettings,
  { talk, updates }: Work,
  end: ProgramEnd,
): AgentReport {
  const { fail } = end;
  switch (talk.end?.kind) {
    case undefined:
      return diedReport(talk, end);
    case 'unfit':
      return fail('config', `acp failed: ${talk.end.why}`);
    case 'flood':
      return fail('agent', `the answer of the agent is larger than ${longestAcpAnswer} characters`);
    case 'error': {
      const { class: failureClass, reason, ...wait } = acpFailure(talk.end, end.now, settings.preset);
      return { ...fail(failureClass, `acp failed: ${reason}`), ...wait };
    }
    case 'turn':
      return turnReport(task, settings, { stopReason: talk.end.stopReason, updates }, end);
  }
}

/** It ended before its turn did. */
function diedReport({ isAsked, stray }: AcpTalk, { code, lastWords, fail }: ProgramEnd): AgentReport {
  const when = isAsked
    ? 'in the middle of its turn'
    : 'before its turn: does it speak the Agent Client Protocol with these arguments?';
  const reason = `acp failed: it ended with exit status ${code} ${when}${because(lastWords || stray?.slice(0, 300))}`;
  return saysOutage(lastWords)
    ? { ...fail('infra', reason), park: { kind: 'outage' } }
    : fail('agent', reason);
}

function turnReport(
  task: AgentTask,
  { responseFormat, preset }: AcpSettings,
  {
    stopReason,
    updates: { answer, denied, isSilenced, isBroken },
  }: { readonly stopReason: string; readonly updates: AcpUpdates },
  { fail, now }: ProgramEnd,
): AgentReport {
  if (isBroken) {
    const why = answer.trim().slice(0, 600);
    const { class: failureClass = 'agent', ...wait } = providerFailure(why, now, preset) ?? {};
    return { ...fail(failureClass, `acp failed: it reported an error${because(why)}`), ...wait };
  }
  if (stopReason !== 'end_turn') return fail('agent', `acp failed: its turn ended by ${stopReason}`);
  // The end of a turn is no success: some agents end it because they were refused something.
  if (isSilenced)
    return fail(
      'agent',
      `acp failed: it was refused ${denied.join(', ')}, and said nothing after that (acp.permissions=allow allows it)`,
    );
  const nothing = 'acp failed: its turn ended, and it said nothing';
  if (answer.trim() === '') return fail('agent', nothing);
  return answerReport(task, answer, responseFormat, { fail, answer: 'the answer of the agent', nothing });
}
