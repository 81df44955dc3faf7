/** What nodes say of a program that works as an agent, whichever it is. */
import {
  type AttributeTable,
  anyPath,
  attr,
  duration,
  list,
  paths,
  trimmed,
} from '../../core/settings/types.ts';

type Prefixed<A extends string, T extends AttributeTable> = {
  readonly [K in keyof T & string as `${A}.${K}`]: T[K];
};

/** The attributes under an agent's name. `model` and `home`: what its model is for, and what it is shown of the home where the node
 *  says nothing. */
export function programAttributes<A extends string>(
  agent: A,
  { model, home }: { readonly model: string; readonly home?: string },
) {
  return prefixed(agent, {
    workdir: attr(anyPath(), 'Its working directory; may be absolute.', { unset: 'the workspace' }),
    model: attr(trimmed(), model, { unset: 'llm_model' }),
    env_keys: attr(list(), 'Secret variables that it gets.', { example: 'OPENROUTER_API_KEY' }),
    home: attr(list(), 'Paths outside the workspace that it needs, writable or with `:ro`.', {
      example: '~/.config/agent, ~/.cache/agent:ro',
      ...(home === undefined ? {} : { unset: home }),
    }),
    timeout: attr(
      duration(),
      "How long it may take; replaces the default timeout of the node, not the node's own.",
    ),
    heartbeat: attr(duration(), 'The interval of log records while it runs.', { unset: '15s' }),
    block_read_paths: attr(paths(), 'Paths of the workspace that the agent cannot read.'),
  });
}

const prefixed = <A extends string, T extends AttributeTable>(agent: A, table: T): Prefixed<A, T> =>
  Object.fromEntries(Object.entries(table).map(([name, spec]) => [`${agent}.${name}`, spec])) as Prefixed<
    A,
    T
  >;
