/** What a scenario's own text says of it: what it needs, and whether it knows its modes. Pure. */

/** Anything that opens a comment, then the word, then what is needed. What follows the opening is read in one way only: a
 *  line of sixty `#` must not be tried in every way to cut it into pieces. */
const declared = (text: string, word: string): readonly string[] =>
  text
    .split('\n')
    .flatMap(
      (line) =>
        new RegExp(`^\\s*(?:#|//|--|\\*)[#/*-]*\\s*${word}:(.*)$`).exec(line)?.[1]?.split(/[\s,]+/) ?? [],
    )
    .filter((one) => one !== '');

export type Needs = {
  /** Environment variables that live needs. */
  readonly variables: readonly string[];
  /** Hosts that live needs, as `HOST:PORT`. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
};

/** The lines `requires-env: NAME…` and `requires-network: HOST[:PORT]…` of a scenario. */
export function needsOf(text: string): Needs {
  return {
    variables: declared(text, 'requires-env'),
    hosts: declared(text, 'requires-network').map((place) => {
      const [, host = place, port = '443'] = /^(.*?)(?::(\d+))?$/.exec(place) ?? [];
      return { host, port: Number(port) };
    }),
  };
}

/** Whether it looks at SCENARIO_MODE at all. */
export const knowsModes = (text: string): boolean => text.includes('SCENARIO_MODE');
