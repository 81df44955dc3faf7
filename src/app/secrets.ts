/** Names of further secrets for a run, from its environment and its earlier processes. */
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { namedSecrets } from '../core/policy/secrets.ts';
import type { Manifest } from '../core/records/manifest.ts';

/** Why `FACTORY_SECRETS` is refused, or undefined. */
export function secretsProblem(env: Environment): Refusal | undefined {
  const named = namedSecrets(env);
  return 'bad' in named
    ? refused(
        'secrets',
        `FACTORY_SECRETS: "${named.bad}" is not the name of a variable`,
        'write names with commas between them: FACTORY_SECRETS=MY_LOGIN,MY_LICENSE',
      )
    : undefined;
}

/** What the manifest has of them, with the variables that servers of models need: names stay secret when the run is resumed in another environment. */
export function keptSecrets(
  env: Environment,
  before: Pick<Manifest, 'secrets'> = {},
  ofServers: readonly string[] = [],
): Pick<Manifest, 'secrets'> {
  const named = namedSecrets(env);
  const names = [
    ...new Set([...(before.secrets ?? []), ...('names' in named ? named.names : []), ...ofServers]),
  ];
  return names.length === 0 ? {} : { secrets: names };
}
