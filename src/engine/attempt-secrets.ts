/** The secrets that one attempt at a node knows: those of the node's environment, and those that its agents' programs get. */
import type { Node } from '../core/graph.ts';
import { type ByteMasker, masker, maskStream } from '../core/policy/mask.ts';
import { addPassed, environmentOf, passedTo, secretsIn, withheldHint } from './environment.ts';
import type { Run } from './run-context.ts';

type Environment = Readonly<Record<string, string>>;

export interface AttemptSecrets {
  /** Masks the values known by now. */
  readonly mask: (text: string) => string;
  /** The values known by now. */
  known(): readonly string[];
  /** Values that programs of this attempt got, and may have written. */
  given(): readonly string[];
  /** The environment of a program of a tool or a verification, and the values to mask in its output. */
  forTool(commandLine: string): { readonly env: Environment; readonly mask: readonly string[] };
  /** The same for a program of an agent: with the secrets of the names in `keys`. `servers` are secrets only where they hold a
   *  password. */
  forAgent(
    commandLine: string,
    keys: readonly string[],
    servers: readonly string[],
  ): { readonly env: Environment; readonly mask: readonly string[] };
  /** Called when a secret was masked in the output of an agent's program. */
  printed(): void;
  /** The variables whose values an answer holds; undefined for none. */
  readonly heldBy: (answer: string) => readonly string[] | undefined;
  /** The next piece of a text that streams in, masked. */
  stream(text: string, channel: 'answer' | 'reasoning'): string;
  /** A hint for a failure that may be due to a variable that the programs did not get. */
  withheldHint(output: string): string | undefined;
}

export function attemptSecrets(run: Run, node: Node): AttemptSecrets {
  const pass = passedTo(run, node);
  const own = environmentOf(run, pass);
  const values = new Set(own.values);
  const given = new Set<string>();
  const programs: { readonly text: string; readonly withheld: readonly string[] }[] = [];
  let { secrets, mask: masked } = own;
  let printed = false;
  // Streams are masked statefully: a secret may be split between two pieces.
  let live: Readonly<Record<'answer' | 'reasoning', ByteMasker>> | undefined;
  return {
    mask: (text) => masked(text),
    known: () => [...values],
    given: () => [...given],
    forTool(text) {
      programs.push({ text, withheld: own.withheld });
      addPassed(given, secrets, own.withheld);
      return { env: own.env, mask: own.values };
    },
    forAgent(text, keys, servers) {
      const of = environmentOf(run, [...pass, ...servers], keys);
      // Programs of one node may have different keys.
      for (const value of of.values) values.add(value);
      secrets = [...secrets, ...of.secrets];
      masked = masker([...values]);
      live = undefined;
      programs.push({ text, withheld: of.withheld });
      addPassed(given, of.secrets, of.withheld);
      return { env: of.env, mask: of.values };
    },
    printed() {
      printed = true;
    },
    heldBy: (answer) => secretsIn(answer, secrets, printed),
    stream(text, channel) {
      live ??= { answer: maskStream([...values]), reasoning: maskStream([...values]) };
      return live[channel].push(Buffer.from(text)).toString();
    },
    withheldHint: (output) => withheldHint(programs, output, node.id),
  };
}
