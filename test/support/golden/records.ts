/** A run's records as golden files hold them: what is promised, without what differs from run to run and without the
 *  wording of messages. */

/** Takes the place of temporary folders out of a text. */
export type Plain = (text: string) => string;
type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Fields = { readonly [key: string]: Json };

/** Wherever they stand: constant, of the clock, or an account of how something was decided. */
const left = new Set([
  ...[
    'schema_version',
    'run_id',
    'at',
    'seq',
    'line',
    'elapsed_ms',
    'sha256',
    'verify',
    'factory_version',
    'run_dir',
  ],
  ...[
    'chain',
    'snapshot',
    'journals',
    'stdout_sha256',
    'stderr_sha256',
    'attribution',
    'last_failure.at',
    'pid',
    'host',
    'processes_ended',
    'heartbeat',
  ],
]);
/** Of the trace: the difference says the same, and how stages are confined depends on the machine. */
const leftOfTrace = new Set([
  ...left,
  'context_before',
  'context_after',
  'sandbox',
  'workspace',
  'node_artifact_dir',
  'status_path',
]);
const wording = new Set(['why', 'lost', 'notes', 'describe', 'failure_output', 'detail']);
const reasons = new Set(['reason', 'failure_reason', 'error', 'last_failure.reason']);

/** What of a reason is promised; the rest is wording. */
const promised =
  /^(?:no route from node \S+ for outcome \S+|tool_exit_code_\d+|max_visits|max_steps|max_wall|max_tokens|max_cost_usd|holdout_leak|unfixable_failure_source|retry_exhausted|write_scope_violation|verification command failed|acceptance command failed)/;
const reasonOf = (text: string): string => {
  const found = promised.exec(text)?.[0] ?? '';
  return text === found ? text : `${found}<text>`;
};
/** Keys whose texts hold what programs printed. */
const printed: ReadonlySet<string> = new Set(['last_failure.summary', 'tool.output', 'tool_stdout']);
const summaryOf = (text: string): string =>
  text
    .replace(/^failure_reason=(.*)$/m, (_, reason: string) => `failure_reason=${reasonOf(reason)}`)
    .replace(/\d+\.\d+/g, '<seconds>');

function normal(value: Json, key: string, skipped: ReadonlySet<string>, plain: Plain): Json {
  if (typeof value === 'string') {
    if (wording.has(key)) return value === '' ? '' : '<text>';
    if (reasons.has(key)) return reasonOf(value);
    if (printed.has(key)) return plain(summaryOf(value));
    if (key === 'agent') return value.replace(/[ :].*$/s, '');
    if (/^[0-9a-f]{64}$|^[0-9a-f]{40}$/.test(value)) return '<hash>';
    return plain(value);
  }
  if (Array.isArray(value)) return value.map((one) => normal(one, key, skipped, plain));
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value as Fields).filter(([name]) => !skipped.has(name));
  // A value that was replaced is what the key around it says.
  const of = (name: string) => (name === 'before' || name === 'after' ? key : name);
  return Object.fromEntries(kept.map(([name, one]) => [name, normal(one, of(name), skipped, plain)]));
}

/** Records of a journal, one a line: counted from 1, and of one run. The epoch is kept where it is not the first. */
function lines(text: string, skipped: ReadonlySet<string>, plain: Plain): string {
  const records: Fields[] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  records.forEach((record, n) => {
    if (
      record['seq'] !== n + 1 ||
      record['schema_version'] !== 1 ||
      record['run_id'] !== records[0]?.['run_id']
    )
      throw new Error(`record ${n + 1} has other words: ${JSON.stringify(record)}`);
  });
  const later = (record: Fields) => (record['epoch'] === 1 ? new Set([...skipped, 'epoch']) : skipped);
  return records.map((one) => `${JSON.stringify(normal(one, '', later(one), plain))}\n`).join('');
}

export const eventLines = (text: string, plain: Plain): string => lines(text, left, plain);
export const traceLines = (text: string, plain: Plain): string => lines(text, leftOfTrace, plain);
export const resultText = (text: string, plain: Plain): string =>
  `${JSON.stringify(normal(JSON.parse(text), '', left, plain), null, 2)}\n`;
