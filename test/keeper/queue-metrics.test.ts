import { expect, test } from 'vitest';
import type { QueueReport } from '../../src/core/records/queue-report.ts';
import { metricsText } from '../../src/keeper/metrics-text.ts';
import { queueMetrics, runCounts } from '../../src/keeper/queue-metrics.ts';
import { readPrometheus } from '../support/prometheus.ts';
import { madeQueue } from '../support/queue-report.ts';

const now = Date.parse('2026-03-01T22:00:00Z');
const textOf = (report: QueueReport | undefined) =>
  metricsText(
    queueMetrics(
      report,
      runCounts([
        { status: 'running', needs_attention: false },
        { status: 'failed', needs_attention: true },
      ]),
      '0.1.0',
    ),
  );
/** `name{label="text"}` → value. */
const valuesOf = (text: string): ReadonlyMap<string, number> =>
  new Map(
    readPrometheus(text).flatMap(({ name, samples }) =>
      samples.map(({ labels, value }) => [`${name} ${Object.values(labels).join(' ')}`.trim(), value]),
    ),
  );

test('a scrape has the figures of the report', () => {
  const values = valuesOf(textOf(madeQueue(now)));
  const some = Object.fromEntries([...values].filter(([, value]) => value !== 0));
  expect(some).toMatchInlineSnapshot(`
    {
      "factory_build_info 0.1.0": 1,
      "factory_cap_limit cost_usd": 50,
      "factory_cap_limit runs gpu": 1,
      "factory_cap_limit tokens docs": 2000000,
      "factory_cap_reserved cost_usd": 2.1,
      "factory_cap_spent cost_usd": 31.4,
      "factory_cap_spent tokens docs": 1990000,
      "factory_cap_stopped_runs tokens docs": 1,
      "factory_engine_starts_total build-1~4711~88123": 14,
      "factory_engine_starts_total build-2~812~5512": 3,
      "factory_engine_starts_total build-3~99~1204": 7,
      "factory_hold_until_timestamp_seconds openai gpt-5.2": 1772406000,
      "factory_hold_waiting_runs openai gpt-5.2": 1,
      "factory_holds openai gpt-5.2": 1,
      "factory_jobs held": 4,
      "factory_jobs later": 3,
      "factory_jobs running": 1,
      "factory_jobs waiting": 2,
      "factory_jobs_needing_person": 3,
      "factory_jobs_not_due after": 1,
      "factory_jobs_not_due attention": 1,
      "factory_jobs_not_due not_before": 1,
      "factory_jobs_not_due person": 1,
      "factory_jobs_not_due question": 2,
      "factory_jobs_not_due quota": 1,
      "factory_labelled_jobs running docs": 1,
      "factory_labelled_jobs waiting gpu": 1,
      "factory_oldest_wait_seconds": 2400,
      "factory_queue_up": 1,
      "factory_runs failed": 1,
      "factory_runs running": 1,
      "factory_runs_needing_attention": 1,
      "factory_schedule_next_timestamp_seconds nightly": 1772413200,
      "factory_schedule_paused weekly": 1,
      "factory_slots": 3,
      "factory_slots_busy": 2,
      "factory_take_overs_total build-1~4711~88123": 1,
      "factory_workers alive": 1,
      "factory_workers dead": 1,
      "factory_workers draining": 1,
    }
  `);
});

test('no title and no text of a job is in a metric', () => {
  const report = madeQueue(now);
  const text = textOf(report);
  for (const { title, why, run_id, submitted_by } of report.jobs)
    for (const word of [title, why, run_id, submitted_by].filter((one) => one !== ''))
      expect(text).not.toContain(word);
});

test('a queue that cannot be read is down, and the runs are still counted', () => {
  const values = valuesOf(textOf(undefined));
  expect(values.get('factory_queue_up')).toBe(0);
  expect(values.get('factory_runs failed')).toBe(1);
  expect([...values.keys()].some((name) => name.startsWith('factory_jobs'))).toBe(false);
});

test('every metric has a name of ours, and only counters end with _total', () => {
  for (const { name, type } of readPrometheus(textOf(madeQueue(now)))) {
    expect(name).toMatch(/^factory_[a-z_]+$/);
    expect(name.endsWith('_total'), name).toBe(type === 'counter');
  }
});
