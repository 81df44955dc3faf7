/** Log records on standard error: readable lines, or JSON with `FACTORY_LOG_FORMAT=json`. */
import type { Log } from '../engine/watch.ts';
import type { RunEvent } from '../model/event.ts';
import { unreachable } from '../model/json.ts';
import { toldReason } from '../model/outcome.ts';
import { forkWords } from '../model/point.ts';
import type { Clock } from '../system/clock.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** What is wrong with the variables that choose how records look, or undefined. */
export function logWishProblem(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const level = env['FACTORY_LOG_LEVEL']?.trim() ?? '';
  if (level !== '' && !/^(?:debug|info|warn|warning|error)$/i.test(level))
    return `FACTORY_LOG_LEVEL=${level} is none of debug, info, warn, error; info is used`;
  const format = env['FACTORY_LOG_FORMAT']?.trim() ?? '';
  if (format !== '' && !/^(?:json|text)$/i.test(format))
    return `FACTORY_LOG_FORMAT=${format} is neither json nor text; text is used`;
  return undefined;
}

/** `debug`, `info`, `warn`/`warning`, `error`; anything else counts as `info`. */
export function logLevel(word: string | undefined): LogLevel {
  switch (word?.trim().toLowerCase()) {
    case 'debug':
      return 'debug';
    case 'warn':
    case 'warning':
      return 'warn';
    case 'error':
      return 'error';
    default:
      return 'info';
  }
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** Whether a record of level `at` is told where the least that counts is `least`. */
export const isLogged = (at: LogLevel, least: LogLevel): boolean =>
  levels.indexOf(at) >= levels.indexOf(least);

/** A log that writes to `to` at once, so that nothing is lost at an exit. A logging library is not worth its weight here:
 *  to load one takes as long as to run two stages. */
export function openLog(
  to: (line: string) => void,
  level: LogLevel,
  format: 'json' | 'text',
  clock: Pick<Clock, 'now'>,
): Log {
  return (at, message, fields = {}) => {
    if (!isLogged(at, level)) return;
    const time = clock.now().toISOString();
    const word = at.toUpperCase();
    to(
      format === 'json'
        ? `${JSON.stringify({ level: word, time, ...fields, msg: message })}\n`
        : recordLine(time.slice(11, 19), word.padEnd(5), message, fields),
    );
  };
}

/** `10:20:30 INFO  stage started node=plan visit=1` */
export function recordLine(when: string, level: string, message: string, fields: object = {}): string {
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${quoted(value)}`);
  return `${[when, level, message, ...shown].join(' ')}\n`;
}

function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' && (text === '' || /[\s"=\p{Cc}]/u.test(text))
    ? JSON.stringify(text)
    : text;
}

/** An event as a log record. */
export function recordOf(event: RunEvent): Parameters<Log> {
  switch (event.type) {
    case 'PipelineStarted':
      return [
        'info',
        event.resumed ? 'pipeline resumed' : 'pipeline starting',
        {
          agent: event.agent,
          ...(event.forked_from === undefined ? {} : { forked_from: forkWords(event.forked_from) }),
        },
      ];
    case 'StageStarted':
      return ['info', 'stage started', { node: event.node_id, visit: event.visit }];
    case 'StageRetrying':
      return [
        'info',
        'stage requested retry',
        {
          node: event.node_id,
          retry_count: event.retry_count,
          delay_ms: event.delay_ms,
          reason: event.reason,
        },
      ];
    case 'AgentActed':
      return [
        'debug',
        'agent acted',
        { node: event.node_id, action: event.action, detail: event.detail, status: event.status },
      ];
    case 'ReplayRan':
      return ['warn', 'the record does not fit; the stage runs', { node: event.node_id, why: event.why }];
    case 'ScenarioRerun':
      return [
        event.result === 'alike' ? 'info' : 'warn',
        'failed scenario run again in a clean copy',
        {
          node: event.node_id,
          result: event.result,
          ...(event.failure_reason === '' ? {} : { reason: event.failure_reason }),
        },
      ];
    case 'GuardrailViolation':
      return ['warn', 'guardrail violation', { node: event.node_id, paths: event.paths }];
    case 'StageCompleted':
      return [
        'info',
        'stage completed',
        {
          node: event.node_id,
          outcome: event.outcome,
          elapsed_ms: event.elapsed_ms,
          ...(event.replayed === true ? { replayed: true } : {}),
          ...(event.notes === '' ? {} : { notes: event.notes }),
        },
      ];
    case 'StageFailed':
      return [
        'warn',
        'stage failed',
        {
          node: event.node_id,
          reason: toldReason(event.failure_reason, event.attribution),
          class: event.failure_class,
          elapsed_ms: event.elapsed_ms,
          ...(event.replayed === true ? { replayed: true } : {}),
        },
      ];
    case 'CheckpointSaved':
      return ['debug', 'checkpoint saved', { node: event.last_completed_node }];
    case 'PipelineCompleted':
      return ['info', 'pipeline completed'];
    case 'PipelineFailed':
      return ['error', 'pipeline failed', { error: event.error }];
    case 'PipelineInterrupted':
      return ['warn', 'pipeline interrupted', { signal: event.signal, next: event.next_node }];
    case 'PipelineParked':
      return [
        'warn',
        'pipeline parked',
        {
          status: event.status,
          node: event.node_id,
          ...(event.wake_at === null ? {} : { wake_at: event.wake_at }),
          reason: event.reason,
        },
      ];
    default:
      return unreachable(event);
  }
}
