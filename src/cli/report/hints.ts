/** Hints for common failures of a model, for the summary of a run. */
import type { RunResult } from '../../core/records/result.ts';

/** For failures to reach it or to get an answer. */
const hints: readonly (readonly [RegExp, string])[] = [
  // First, because the message of the server follows in the same text.
  [
    /" refused: |" answered nothing|content_filter/,
    'the model refused to answer: change the spec, or try another --model',
  ],
  [/quota|insufficient_quota/i, "the key's plan or budget is used up: see its billing, or use another key"],
  [
    /too many requests|rate.?limit|\b429\b/i,
    'the server limits how often it is asked: wait a little and run the same command again',
  ],
  [
    /<!doctype|<html|\bHTML\b|content.type/i,
    'that is a web page, not a model API: set the address of the API (OPENAI_BASE_URL, or base_url of its provider), which usually ends in /v1',
  ],
  [
    /cannot be reached|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|certificate/i,
    'check the network, and the address (OPENAI_BASE_URL, or base_url of the provider)',
  ],
  [/the key was refused|\b401\b|\b403\b/i, 'set a key that may use this model'],
  [/was not found|\b404\b/i, 'name a model of the server with --model NAME or FACTORY_MODEL'],
  [
    /was cut|in trouble|gave up|was silent|overloaded|\b5\d\d\b/i,
    'the server is overloaded or down: wait and run the same command again',
  ],
  [
    /within .* s\b|timed? ?out|timeout/i,
    'give it more time with timeout on the node, or wait and run the same command again',
  ],
  [
    /that is no response\b|without a body|ended before (?:the answer did|it was whole)/,
    'see that the address names a model API (it usually ends in /v1); else run the same command again',
  ],
  [
    /does not accept the request/,
    'the server rejects this request: fix what it names, or try another --model or server',
  ],
];

/** One line, or undefined if the reason needs no hint. */
export function hintOf({ status, exit_code, reason }: RunResult): string | undefined {
  if (status !== 'failed' || (exit_code !== 3 && exit_code !== 4)) return undefined;
  const known = exit_code === 3 ? hints.find(([words]) => words.test(reason))?.[1] : undefined;
  if (known !== undefined) return known;
  if (/larger than \d+ MiB|does not fit into (?:\d+|the) tokens/.test(reason))
    return 'ask for less in one answer: a smaller spec, or a prompt that says how long it may be';
  return exit_code === 3
    ? 'the model could not be reached: check the address and the key of its server, and --model'
    : 'the model did not answer in the required form: run the same command again, or try another --model';
}
