/** Cases whose expectation the design replaces: part of the case's id, the intended difference, the reason. Such a case
 *  is run, and fails like any other if it has other differences. */
const superseded = [
  [
    'valid-reject-edge-target-missing',
    /got 0$|got [23] records?$|expected 0 records/,
    'an edge creates its target node',
  ],
  ['tool-command-required', /^run:events\.jsonl: expected a file/, 'refused before the run'],
  [
    'parse-reject-subgraph',
    /exit code: expected 1 or 2, got 0|expected 0 records/,
    'subgraphs are supported',
  ],
  [
    'valid-reject-v1-shapes',
    /^step [12] \((?:hexagon|diamond)\)/,
    'human gates and diamonds are part of the language',
  ],
  [
    'valid-reject-v1-types',
    /^step [12] \((?:wait_human|conditional)\)/,
    'human gates and conditionals are part of the language',
  ],
  ['verify-workdir-rejected', /^step [12] \((absolute|parent)\)/, 'refused before the run'],
  ['quirk-retry-negative', /./, 'refused before the run'],
  ['fake-alias-env', /^exit code: expected 0, got 1/, 'an exit reached from a failed node fails the run'],
  [
    '14-run-pass',
    /^prompt 1: expected no grep -q world/,
    'prompts show all checks of an order, including its acceptance commands: without them the model would guess',
  ],
  [
    '32-run-exhausts-attempts',
    /^branch: expected work\/x, got main/,
    'the work is done on a copy, and the branch is created and checked out only when the order has passed',
  ],
  [
    '63-run-all-resume',
    /^step 2, /,
    'a batch whose orders are all committed on the branch already is a success',
  ],
  [
    'planner-http.json: ',
    /^exit code: expected 1, got 3, saying .*exit_model_failed/,
    'every failure to reach the model is exit code 3, independent of its message',
  ],
  [
    'HTTP 404: no retry, no fallback',
    /^requests: /,
    'a server that has no Responses API is asked over chat completions',
  ],
  [
    'no retry, no fallback',
    /^requests: /,
    'a stream that is refused temporarily (429, 5xx) is retried after Retry-After, like every other request',
  ],
  [
    'API failure during a revision',
    /^requests: /,
    'a stream that is refused temporarily (429, 5xx) is retried after Retry-After, like every other request',
  ],
  [
    'API failure during a revision',
    /^run\.json /,
    'run.json is completed in every ending: an incomplete one looks like a running run',
  ],
];

/** The reason if a problem of this case is intended, or undefined. */
export const supersededBy = (id, problem) =>
  superseded.find(([part, difference]) => id.includes(part) && difference.test(problem))?.[2];
