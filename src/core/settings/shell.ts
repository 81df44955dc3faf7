/** The attribute `shell`: the program that reads a `tool_command`, with its options. */
import { nearest } from '../nearest.ts';
import type { AttributeType, Read } from './types.ts';

/** Shells that take their text after `-c` and read it as POSIX says: the guardrails rely on that. */
const names: readonly string[] = ['sh', 'bash', 'dash', 'ash', 'ksh', 'mksh', 'zsh'];
/** Not with `c`, `s` and `i`: the command follows by itself, without a terminal. `l` would load files of the home. */
const letters = /^[-+](?!.*[csil])[A-Za-z]+$/;
const optionName = /^[a-z]+$/;

/** Options that are set by name, of which a misspelt one is known. */
const commonNames: readonly string[] = [
  'errexit',
  'errtrace',
  'noclobber',
  'noglob',
  'nounset',
  'pipefail',
  'verbose',
  'xtrace',
];

const problem = (why: string): Read<never> => ({ ok: false, why });

const nearNamed = (option: string): string | undefined =>
  commonNames.includes(option) ? undefined : nearest(option, commonNames);

/** `bash -eo pipefail` in words. */
export const shell = (): AttributeType<readonly string[]> => ({
  wants: `a shell (${names.join(', ')}) with options; the command follows by itself`,
  example: 'bash -eo pipefail',
  read({ text }) {
    const [program = '', ...options] = text.trim().split(/\s+/);
    if (!names.includes(program)) {
      const name = program.split('/').at(-1) ?? '';
      return names.includes(name)
        ? {
            ...problem(`names a path: write ${name}, which is found on PATH`),
            meant: [name, ...options].join(' '),
          }
        : problem(`is no shell that can be used`);
    }
    const bad = options.find((option, at) => {
      if (letters.test(option)) return false;
      return !(/^[-+][a-zA-Z]*o$/.test(options[at - 1] ?? '') && optionName.test(option));
    });
    const named = options.find((option) => optionName.test(option) && nearNamed(option) !== undefined);
    if (bad === undefined && named !== undefined) {
      const meant = nearNamed(named) ?? '';
      return {
        ...problem(`has "${named}", which is no option`),
        meant: [program, ...options.map((one) => (one === named ? meant : one))].join(' '),
      };
    }
    return bad === undefined
      ? { ok: true, value: [program, ...options] }
      : problem(
          `has "${bad}", which is none of the options that can be set (such as -e, -u, -x, -o pipefail)`,
        );
  },
});
