/** Canonical names and typed values of attributes. */
import { durationMs } from '../model/attribute.ts';
import type { Attribute, Value } from '../model/graph.ts';
import { literalText } from './literal.ts';
import type { Positions } from './positions.ts';
import type { Range } from './scan.ts';

/** Synonyms of attribute names that other pipelines use. */
export const synonyms: Readonly<Record<string, string>> = {
  node_type: 'type',
  script: 'tool_command',
  llm_prompt: 'prompt',
  model: 'llm_model',
  provider: 'llm_provider',
  max_node_visits: 'max_visits',
  agent: 'agent.backend',
  default_max_retry: 'default_max_retries',
};

const float = /^[+-]?(\d+\.\d*|\.\d+|\d+)(e[+-]?\d+)?$/i;

/** The value of an unquoted word. Everything except booleans, numbers and durations is a string (`nan`, `inf`, `0x1f`). */
export function bareValue(text: string): Value {
  if (text === 'true' || text === 'false') return { kind: 'boolean', text, value: text === 'true' };
  const ms = durationMs(text);
  if (ms !== undefined) return { kind: 'duration', text, ms };
  if (/^[+-]?\d+$/.test(text)) return { kind: 'integer', text, value: Number(text) };
  if (float.test(text) && Number.isFinite(Number(text))) return { kind: 'float', text, value: Number(text) };
  return { kind: 'string', text };
}

/** One `key=value` from the text, under its canonical name. */
export function attributeOf(text: string, key: Range, value: Range, positions: Positions): Attribute {
  const written = literalText(text, key);
  const said = literalText(text, value);
  const quoted = text[value.start] === '"';
  return {
    key: Object.hasOwn(synonyms, written) ? (synonyms[written] ?? written) : written,
    written,
    value: quoted ? { kind: 'string', text: said } : bareValue(said),
    quoted,
    keySpan: positions.span(key.start, key.end),
    valueSpan: positions.span(value.start, value.end),
  };
}
