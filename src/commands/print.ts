/** All words for people about a run: pure functions of events and results. */
import pc from 'picocolors';
import type { RunEvent } from '../model/event.ts';
import { unreachable } from '../model/json.ts';
import type { RunResult } from '../model/result.ts';

export type Paint = ReturnType<typeof pc.createColors>;
export const painter = (colour: boolean): Paint => pc.createColors(colour);

/** `1234` → `1.2s`, `61000` → `1m01s`. */
export function elapsedWords(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}

const oneLine = (text: string, most: number): string => {
  const flat = text.replace(/\s+/g, ' ').trim();
  const characters = [...flat];
  return characters.length <= most ? flat : `${characters.slice(0, most - 1).join('')}…`;
};

/** One line of the live view, or nothing for events that people need not see. `clock` is the run's time so far, in
 *  milliseconds; `width` the terminal's columns. */
export function liveLine(event: RunEvent, clock: number, paint: Paint, width: number): string | undefined {
  const at = paint.dim(elapsedWords(clock).padStart(7));
  const room = Math.max(20, width - 40);
  switch (event.type) {
    case 'PipelineStarted':
      return `${event.resumed ? 'resuming' : 'starting'} with agent ${paint.bold(event.agent)}`;
    case 'StageStarted':
      return undefined;
    case 'StageRetrying':
      return `${at} ${paint.yellow('↻')} ${event.node_id}  again in ${elapsedWords(event.delay_ms)}: ${oneLine(event.reason, room)}`;
    case 'GuardrailViolation':
      return `${at} ${paint.red('!')} ${event.node_id}  wrote outside its scope, put back: ${oneLine(event.paths.join(', '), room)}`;
    case 'StageCompleted': {
      const again = event.visit > 1 ? paint.dim(` #${event.visit}`) : '';
      const word = event.outcome === 'success' ? '' : ` ${paint.yellow(event.outcome)}`;
      const notes = event.notes === '' ? '' : `  ${paint.dim(oneLine(event.notes, room))}`;
      return `${at} ${paint.green('✓')} ${event.node_id}${again} ${paint.dim(elapsedWords(event.elapsed_ms))}${word}${notes}`;
    }
    case 'StageFailed': {
      const again = event.visit > 1 ? paint.dim(` #${event.visit}`) : '';
      return `${at} ${paint.red('✗')} ${event.node_id}${again} ${paint.dim(elapsedWords(event.elapsed_ms))}  ${oneLine(event.failure_reason === '' ? 'failed' : event.failure_reason, room)}`;
    }
    case 'CheckpointSaved':
    case 'PipelineCompleted':
    case 'PipelineFailed':
    case 'PipelineInterrupted':
      return undefined;
    default:
      return unreachable(event);
  }
}

/** The last word on a run: outcome, cause first when it failed, then figures, places and the next command. */
export function summary(result: RunResult, paint: Paint): string {
  const rows: [string, string][] = [];
  const head =
    result.status === 'completed'
      ? paint.green(`✓ success in ${elapsedWords(result.elapsed_ms)}`)
      : result.status === 'interrupted'
        ? paint.yellow(`■ ${result.reason} after ${elapsedWords(result.elapsed_ms)}`)
        : paint.red(`✗ failed: ${result.reason}`);
  if (result.status === 'failed') {
    if (result.failed_node !== null) {
      rows.push([
        'cause',
        `stage ${result.failed_node}${result.failure_class === null ? '' : ` (${result.failure_class})`}`,
      ]);
      rows.push(['look at', `${result.run_dir}/${result.failed_node}/`]);
    }
    rows.push(['time', elapsedWords(result.elapsed_ms)]);
  }
  const tried = result.commits.reduce((sum, commit) => sum + commit.attempts, 0);
  rows.push([
    'stages',
    [
      `${result.stages}`,
      ...(result.failed_stages > 0 ? [`${result.failed_stages} failed on the way`] : []),
      ...(result.retries > 0 ? [`${result.retries} ${result.retries === 1 ? 'retry' : 'retries'}`] : []),
    ].join(', '),
  ]);
  if (result.commits.length > 0) {
    rows.push(['commits', `${result.commits.filter((c) => c.commit !== null).length} in ${tried} attempts`]);
    for (const { commit, subject, attempts } of result.commits) {
      rows.push([
        '',
        `${commit === null ? '(no change)' : commit.slice(0, 10)} ${subject}${attempts > 1 ? paint.dim(` (${attempts} attempts)`) : ''}`,
      ]);
    }
  }
  if (result.proof !== null) {
    rows.push([
      'proof',
      result.proof.length === 0
        ? paint.yellow('nothing could be run: only that every promised file is there')
        : result.proof.map((command) => oneLine(command, 80)).join(', '),
    ]);
  }
  if (result.agent !== '') rows.push(['agent', result.agent]);
  rows.push(['run', result.run_dir], ['files', result.workspace]);
  const table = rows.map(([name, text]) => `  ${paint.dim(name.padEnd(9))} ${text}`);
  const next = result.next === '' ? [] : [`  ${paint.dim('next'.padEnd(9))} ${paint.bold(result.next)}`];
  return [head, ...table, ...next].join('\n');
}
