/** Shape, word and colour of each state. */
import type { ExecutionGroup, ExecutionRow, GraphView, RunRow } from '../../../app/inspect/shapes.ts';

export type ShownState =
  | RunRow['status']
  | ExecutionRow['state']
  | ExecutionGroup['state']
  | GraphView['nodes'][number]['state'];

export interface Look {
  readonly shape:
    | 'dot'
    | 'check'
    | 'cross'
    | 'half'
    | 'pause'
    | 'slash'
    | 'dash'
    | 'ring'
    | 'again'
    | 'alert';
  readonly word: string;
  readonly tone: 'run' | 'good' | 'bad' | 'warn' | 'quiet';
}

const looks: Readonly<Record<ShownState, Look>> = {
  running: { shape: 'dot', word: 'running', tone: 'run' },
  completed: { shape: 'check', word: 'completed', tone: 'good' },
  done: { shape: 'check', word: 'done', tone: 'good' },
  success: { shape: 'check', word: 'success', tone: 'good' },
  partial_success: { shape: 'half', word: 'partial success', tone: 'warn' },
  failed: { shape: 'cross', word: 'failed', tone: 'bad' },
  fail: { shape: 'cross', word: 'failed', tone: 'bad' },
  crashed: { shape: 'alert', word: 'crashed', tone: 'bad' },
  unreadable: { shape: 'alert', word: 'unreadable', tone: 'bad' },
  interrupted: { shape: 'slash', word: 'interrupted', tone: 'quiet' },
  paused_quota: { shape: 'pause', word: 'suspended: quota', tone: 'warn' },
  paused_outage: { shape: 'pause', word: 'suspended: outage', tone: 'warn' },
  paused_auth: { shape: 'pause', word: 'suspended: key', tone: 'warn' },
  paused_billing: { shape: 'pause', word: 'suspended: billing', tone: 'warn' },
  suspended: { shape: 'pause', word: 'suspended', tone: 'warn' },
  paused_disk: { shape: 'pause', word: 'suspended: disk full', tone: 'warn' },
  retry: { shape: 'again', word: 'retry', tone: 'warn' },
  skipped: { shape: 'dash', word: 'skipped', tone: 'quiet' },
  waiting: { shape: 'ring', word: 'waiting', tone: 'quiet' },
  none: { shape: 'ring', word: 'not executed', tone: 'quiet' },
};

export const lookOf = (state: ShownState): Look => looks[state];
