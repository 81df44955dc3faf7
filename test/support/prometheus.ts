/** A strict reader of the text format of Prometheus, as its documentation writes the grammar: it throws at the first line
 *  that is none. */

export type ScrapedMetric = {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
};

const name = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const label = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"';
const helpLine = new RegExp(`^# HELP (${name}) ((?:[^\\\\\\n]|\\\\[\\\\n])*)$`);
const typeLine = new RegExp(`^# TYPE (${name}) (counter|gauge|histogram|summary|untyped)$`);
const sampleLine = new RegExp(
  `^(${name})(?:\\{(${label}(?:,${label})*)\\})? ([+-]?(?:\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?|Inf)|NaN)$`,
);

/** The metrics of a text. Each has a help and a type before its samples, and stands in one group; no sample comes twice. */
export function readPrometheus(text: string): readonly ScrapedMetric[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line does not end');
  const metrics = new Map<string, ScrapedMetric>();
  const seen = new Set<string>();
  const lines = text.split('\n').slice(0, -1);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const help = helpLine.exec(line);
    if (help !== null) {
      const type = typeLine.exec(lines[++at] ?? '');
      if (type === null || type[1] !== help[1] || metrics.has(help[1] ?? ''))
        throw new Error(`after: ${line}`);
      const one = { name: help[1] ?? '', type: type[2] ?? '', help: unescaped(help[2] ?? ''), samples: [] };
      metrics.set(one.name, one);
      continue;
    }
    const sample = sampleLine.exec(line);
    const current = [...metrics.values()].at(-1);
    if (sample === null || current?.name !== sample[1]) throw new Error(`line ${at + 1}: ${line}`);
    const key = `${sample[1]}{${sample[2] ?? ''}}`;
    if (seen.has(key)) throw new Error(`twice: ${key}`);
    seen.add(key);
    current?.samples.push({ labels: labelsOf(sample[2] ?? ''), value: numberOf(sample[3] ?? '') });
  }
  return [...metrics.values()];
}

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, value]) => [
      key ?? '',
      unescaped(value ?? ''),
    ]),
  );

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, what: string) => (what === 'n' ? '\n' : what));

const numberOf = (text: string): number => Number(text.replace('Inf', 'Infinity'));
