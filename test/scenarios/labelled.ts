/** Failures whose owner is known: what a harness has to say of each. */
import type { ScenarioClass } from '../../src/scenarios/classify.ts';
import type { ScenarioOutcome } from '../../src/scenarios/result.ts';

export type Labelled = {
  /** What happens, as the end of a sentence. */
  readonly what: string;
  /** Lines of bash, after the selftest has passed unless `selftest` says what it does. */
  readonly live?: string;
  readonly selftest?: string;
  /** Lines at the top, before anything else. */
  readonly top?: string;
  readonly outcome: ScenarioOutcome;
  readonly class: ScenarioClass | null;
  /** Exit code of the bash harness. */
  readonly code: number;
};

const say = (word: string): string => `echo failure_class=${word} >&2`;

export const labelled: readonly Labelled[] = [
  { what: 'passes', live: 'exit 0', outcome: 'pass', class: null, code: 0 },
  { what: 'fails in live', live: 'exit 1', outcome: 'fail', class: 'product', code: 1 },
  { what: 'fails with another code', live: 'exit 7', outcome: 'fail', class: 'product', code: 7 },
  {
    what: 'shows a product that prints timeout, quota and status 401',
    live: 'cat "$1/says.txt"; exit 1',
    outcome: 'fail',
    class: 'product',
    code: 1,
  },
  {
    what: 'shows a product that prints connection refused on standard error',
    live: 'cat "$1/says.txt" >&2; exit 2',
    outcome: 'fail',
    class: 'product',
    code: 2,
  },
  {
    what: 'shows a product that mentions a class within a line',
    live: 'echo "the log says failure_class=infra here" >&2; exit 1',
    outcome: 'fail',
    class: 'product',
    code: 1,
  },
  {
    what: 'prints a class on standard output only',
    live: 'echo failure_class=infra; exit 1',
    outcome: 'fail',
    class: 'product',
    code: 1,
  },
  {
    what: 'says itself that a provider refused it',
    live: 'echo "provider said status 404 not_found_error" >&2; exit 1',
    outcome: 'fail',
    class: 'infra',
    code: 86,
  },
  {
    what: 'prints that the product should not report quotas',
    live: 'echo "FAIL: expected no word of a quota" >&2; exit 1',
    outcome: 'fail',
    class: 'product',
    code: 1,
  },
  { what: 'exits with 86', live: 'exit 86', outcome: 'fail', class: 'infra', code: 86 },
  { what: 'exits with 86 in its selftest', selftest: 'exit 86', outcome: 'fail', class: 'infra', code: 86 },
  { what: 'says infra itself', live: `${say('infra')}; exit 4`, outcome: 'fail', class: 'infra', code: 86 },
  {
    what: 'says scenario itself',
    live: `${say('scenario')}; exit 5`,
    outcome: 'broken',
    class: 'scenario',
    code: 5,
  },
  {
    what: 'says product with code 86',
    live: `${say('product')}; exit 86`,
    outcome: 'fail',
    class: 'product',
    code: 1,
  },
  {
    what: 'says two classes, of which the last one counts',
    live: `${say('infra')}; ${say('product')}; exit 3`,
    outcome: 'fail',
    class: 'product',
    code: 3,
  },
  {
    what: 'says product in its selftest',
    selftest: `${say('product')}; exit 9`,
    outcome: 'fail',
    class: 'product',
    code: 9,
  },
  { what: 'says infra and passes', live: `${say('infra')}; exit 0`, outcome: 'pass', class: null, code: 0 },
  { what: 'fails its selftest', selftest: 'exit 3', outcome: 'broken', class: 'scenario', code: 3 },
  {
    what: 'fails its selftest with words of the network',
    selftest: 'echo "connection timeout" >&2; exit 1',
    outcome: 'broken',
    class: 'scenario',
    code: 1,
  },
  { what: 'has a syntax error', top: 'if then', outcome: 'broken', class: 'scenario', code: 1 },
  {
    what: 'needs a program that is missing',
    live: 'no_such_program_here',
    outcome: 'broken',
    class: 'scenario',
    code: 127,
  },
  {
    what: 'runs something that is no program',
    live: '"$0.d/" || exit 126',
    outcome: 'broken',
    class: 'scenario',
    code: 126,
  },
  {
    what: 'calls a program that the product lacks',
    live: '"$1/bin/tool"',
    outcome: 'fail',
    class: 'product',
    code: 127,
  },
  {
    what: 'calls a program that the product lacks, from its folder',
    live: 'cd "$1" && bin/tool',
    outcome: 'fail',
    class: 'product',
    code: 127,
  },
  {
    what: 'calls a product that misses a program',
    live: 'echo no_such_program_here >"$1/tool"; chmod +x "$1/tool"; "$1/tool"',
    outcome: 'fail',
    class: 'product',
    code: 127,
  },
  {
    what: 'calls a product from its folder that misses a program',
    live: 'cd "$1"; printf "#!/bin/bash\\nno_such_program_here\\n" >own; chmod +x own; ./own',
    outcome: 'fail',
    class: 'product',
    code: 127,
  },
  {
    what: 'uses a variable that nobody set',
    live: 'set -u; echo "$nobody_has_set_this"',
    outcome: 'broken',
    class: 'scenario',
    code: 1,
  },
  { what: 'is killed', live: 'kill -KILL $$', outcome: 'fail', class: 'infra', code: 86 },
  { what: 'is ended by SIGTERM', live: 'kill -TERM $$; sleep 9', outcome: 'fail', class: 'infra', code: 86 },
  {
    what: 'dies of SIGSEGV',
    live: 'kill -SEGV $$; sleep 9',
    outcome: 'broken',
    class: 'scenario',
    code: 139,
  },
  {
    what: 'passes on the code of a product that was killed',
    live: 'exit 137',
    outcome: 'fail',
    class: 'product',
    code: 137,
  },
  {
    what: 'waits for nothing until its time is up',
    live: 'sleep 600',
    outcome: 'broken',
    class: 'scenario',
    code: 124,
  },
  {
    what: 'runs a product that does not end',
    live: 'bash "$1/hang.sh"',
    outcome: 'fail',
    class: 'product',
    code: 124,
  },
  {
    what: 'runs a product in its folder that does not end',
    live: 'cd "$1" && ./hang.sh',
    outcome: 'fail',
    class: 'product',
    code: 124,
  },
  {
    what: 'does not end its selftest',
    selftest: 'sleep 600',
    outcome: 'broken',
    class: 'scenario',
    code: 124,
  },
  {
    what: 'lacks a key that it declares',
    top: '# requires-env: PATH NO_SUCH_KEY_HERE',
    live: 'exit 0',
    outcome: 'fail',
    class: 'infra',
    code: 86,
  },
  {
    what: 'needs a host that takes no connection',
    top: '# requires-network: 127.0.0.1:1',
    live: 'exit 1',
    outcome: 'fail',
    class: 'infra',
    code: 86,
  },
  { what: 'leaves a process behind', live: 'sleep 601 & exit 0', outcome: 'pass', class: null, code: 0 },
];

/** `01_scenario.sh`, … */
export const fileOf = (at: number): string => `n${String(at + 1).padStart(2, '0')}_scenario.sh`;

export const textOf = ({ top = '', selftest = 'exit 0', live = 'exit 0' }: Labelled): string =>
  [
    `#!/usr/bin/env bash`,
    top,
    `if [ "$SCENARIO_MODE" = selftest ]; then`,
    selftest,
    'exit 0',
    'fi',
    live,
    '',
  ].join('\n');
