import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Metric, metricsText } from '../../src/keeper/metrics-text.ts';
import { readPrometheus } from '../support/prometheus.ts';

const names = fc.stringMatching(/^factory_[a-z_]{1,20}$/);
const text = fc.string({ unit: 'grapheme' });
const sample = fc.record({
  labels: fc.dictionary(fc.stringMatching(/^[a-z][a-z_]{0,8}$/), text),
  // A reader may take the sign of a zero away.
  value: fc.double().filter((value) => !Object.is(value, -0)),
});
const metrics: fc.Arbitrary<readonly Metric[]> = fc.uniqueArray(
  fc.record({
    name: names,
    type: fc.constantFrom('gauge' as const, 'counter' as const),
    help: text,
    samples: fc.uniqueArray(sample, { selector: ({ labels }) => JSON.stringify(Object.entries(labels)) }),
  }),
  { selector: ({ name }) => name },
);

test('metrics with any text in labels and help are read back as they were', () => {
  fc.assert(
    fc.property(metrics, (some) => {
      expect(readPrometheus(metricsText(some))).toEqual(some.filter(({ samples }) => samples.length > 0));
    }),
  );
});

test('a metric is written with help, type and escaped labels', () => {
  const some: readonly Metric[] = [
    {
      ...{ name: 'factory_jobs', type: 'gauge', help: 'Jobs\nof the queue' },
      samples: [{ labels: { label: 'a"b\\c\nd' }, value: 2 }, { value: Number.POSITIVE_INFINITY }],
    },
  ];
  expect(metricsText(some)).toMatchInlineSnapshot(`
    "# HELP factory_jobs Jobs\\nof the queue
    # TYPE factory_jobs gauge
    factory_jobs{label="a\\"b\\\\c\\nd"} 2
    factory_jobs +Inf
    "
  `);
});
