/** What `factory doctor` says of the providers of models: those that the files and variables set up. */
import { canAsk } from '../agents/openai/plan.ts';
import { showURL } from '../agents/openai/settings.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type ServerDraft, serverOf } from '../core/model-server.ts';
import type { EnvironmentFinding } from './doctor.ts';
import { modelServersFor } from './model-servers.ts';

/** The providers that the agent openai can ask; none of them is asked here. */
export function providersFound(cwd: string, env: Environment): EnvironmentFinding {
  const what = 'providers';
  const given = modelServersFor(cwd, env);
  if ('problems' in given) {
    const [first] = given.problems;
    const at = first?.place === undefined ? '' : `${first.place.file}:${first.place.span.start.line} `;
    const fix = first?.fix === undefined ? {} : { fix: first.fix };
    return {
      what,
      state: 'bad',
      says: `${at}${first?.message ?? ''}`,
      more: ['runs that ask models are refused'],
      ...fix,
    };
  }
  const { servers, userFile } = given;
  const names = [...servers.keys()].filter((name) => canAsk(servers, name, env));
  const without = [...servers.values()].filter(({ provider }) => !names.includes(provider));
  const lines = names.flatMap((name) => {
    const server = serverOf(servers, name, env);
    return server === undefined ? [] : [`${name}: ${showURL(server.baseURL)}, ${keyWords(server)}`];
  });
  const more = [...lines, ...without.map((one) => `${one.provider}: not set up (${lacks(one)})`)];
  const says = `${names.join(', ')}${userFile === undefined ? '' : `; your own: ${userFile}`}`;
  return { what, state: 'good', says, more };
}

const keyWords = ({ keyVariable }: ServerDraft): string =>
  keyVariable === undefined ? 'no key' : `key ${keyVariable}`;
const lacks = ({ baseURL, keyVariable }: ServerDraft): string =>
  baseURL === undefined ? 'no base_url' : `${keyVariable} is not set`;
