/** Reads a scenario's requirements and modes from its text. Pure. */

/** The values of comment lines `word: VALUE…`. The pattern has only one way to match the comment's start: otherwise a long line
 *  of `#` would take exponential time. */
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

/** Whether it uses SCENARIO_MODE. */
export const knowsModes = (text: string): boolean => text.includes('SCENARIO_MODE');
