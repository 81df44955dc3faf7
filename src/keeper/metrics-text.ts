/** Metrics in the text format of Prometheus, version 0.0.4. */

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

export type Metric = {
  /** `factory_…`; a counter's ends with `_total`. */
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  readonly samples: readonly Sample[];
};

export type Sample = {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
};

/** The text that a scrape gets: each metric with its help and type, then its samples. A metric without samples is left out. */
export const metricsText = (metrics: readonly Metric[]): string =>
  metrics
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) =>
      [
        `# HELP ${name} ${escapeHelp(help)}`,
        `# TYPE ${name} ${type}`,
        ...samples.map((one) => line(name, one)),
      ]
        .map((text) => `${text}\n`)
        .join(''),
    )
    .join('');

function line(name: string, { labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`;
}

/** As Go reads numbers. */
const numberText = (value: number): string =>
  value === Number.POSITIVE_INFINITY
    ? '+Inf'
    : value === Number.NEGATIVE_INFINITY
      ? '-Inf'
      : Number.isNaN(value)
        ? 'NaN'
        : String(value);

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');
