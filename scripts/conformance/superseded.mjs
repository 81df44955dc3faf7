/** Where the design replaces what a case expects: part of the case's id, the one difference that is meant, the reason.
 *  Such a case is run, and fails as any other when it differs in anything else. */
const superseded = [
  [
    'valid-reject-edge-target-missing',
    /got 0$|got [23] records?$|expected 0 records/,
    'an edge declares its target',
  ],
  ['tool-command-required', /^run:events\.jsonl: expected a file/, 'refused before the run'],
  ['parse-reject-subgraph', /exit code: expected 1 or 2, got 0|expected 0 records/, 'subgraphs are read'],
  ['valid-reject-v1-shapes', /^step 2 \(diamond\)/, 'diamonds are part of the language'],
  ['valid-reject-v1-types', /^step 2 \(conditional\)/, 'conditionals are part of the language'],
  ['verify-workdir-rejected', /^step [12] \((absolute|parent)\)/, 'refused before the run'],
  ['quirk-retry-negative', /./, 'refused before the run'],
  ['fake-alias-env', /^exit code: expected 0, got 1/, 'a failed node that walks into an exit fails the run'],
  [
    '14-run-pass',
    /^prompt 1: expected no grep -q world/,
    'prompts show what an order is judged by, its acceptance commands too: a programmer who cannot see them guesses',
  ],
  [
    '32-run-exhausts-attempts',
    /^branch: expected work\/x, got main/,
    'work is done on a copy, and the branch is made and switched to only when the order has passed',
  ],
  [
    '63-run-all-resume',
    /^step 2, /,
    'a batch whose orders are all committed on the branch already has nothing to do, which is a success',
  ],
  [
    'planner-http.json: ',
    /^exit code: expected 1, got 3, saying .*exit_model_failed/,
    'every way in which the model could not be asked is exit code 3, also what used to be 1 by its wording',
  ],
  [
    'no retry, no fallback',
    /^requests: /,
    'a stream that is refused for now (429, 5xx) is tried again, as every other request is, after Retry-After',
  ],
  [
    'API failure during a revision',
    /^requests: /,
    'a stream that is refused for now (429, 5xx) is tried again, as every other request is, after Retry-After',
  ],
  [
    'API failure during a revision',
    /^run\.json /,
    'run.json is closed in every ending: one that stays open cannot be told from a run that goes on',
  ],
];

/** Why a problem of this case is none, or undefined. */
export const supersededBy = (id, problem) =>
  superseded.find(([part, difference]) => id.includes(part) && difference.test(problem))?.[2];
