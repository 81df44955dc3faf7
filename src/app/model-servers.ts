/** The servers of models that a run may ask: built in, and those of the user's `factory.json` and of the project's. */
import { lstatSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic, Place, Refusal } from '../core/diagnostic.ts';
import { builtInServers, type ModelServers, serversWith, variablesToAsk } from '../core/model-server.ts';
import { providerWord } from '../core/providers.ts';
import { layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { realOrSame } from '../workspace/roots.ts';
import { projectFileOf, type ReadProject, readProjectFile, userFileOf } from './project-file.ts';

export type GivenServers = {
  readonly servers: ModelServers;
  /** The provider of nodes that name none, and the file that names it. */
  readonly provider: { readonly name: string; readonly by: string } | undefined;
  /** Variables that keys and headers name: they are secrets whatever they are called. */
  readonly secrets: readonly string[];
  /** The user's file, whether it is there or not. */
  readonly userFile: string | undefined;
  /** Where a file describes a provider; the user's word comes first. */
  readonly placeOf: (provider: string) => Place | undefined;
};

/** Where no file is read. */
export const onlyBuiltIn: GivenServers = {
  ...{ servers: builtInServers, provider: undefined, secrets: [], userFile: undefined },
  placeOf: () => undefined,
};

/** `workdir`: the source of the run's files, else the current folder. */
export function modelServersFor(workdir: string, env: Environment): GivenServers | Refusal {
  const userFile = userFileOf(env);
  const users = readUsers(userFile);
  const projectFile = projectFor(workdir, userFile);
  const projects = projectFile === undefined ? undefined : readIfThere(projectFile, 'project');
  const found = [users, projects].flatMap((one) => (one !== undefined && 'found' in one ? one.found : []));
  if (found.length > 0) return { problems: found };
  const user = users as ReadProject | undefined;
  const project = projects as ReadProject | undefined;
  const servers = serversWith(user?.content.providers, project?.content.providers);
  const strange = project === undefined ? [] : strangeApis(project, serversWith(user?.content.providers));
  if (strange.length > 0) return { problems: strange };
  const named = [project, user].find((one) => one?.content.provider !== undefined);
  return {
    ...{ servers, userFile },
    provider:
      named?.content.provider === undefined ? undefined : { name: named.content.provider, by: named.file },
    secrets: keysIn(user, servers),
    placeOf: (name) =>
      [user, project]
        .find((one) => Object.hasOwn(one?.content.providers ?? {}, name))
        ?.placeOf(['providers', name]),
  };
}

/** The variables of the user's file alone, for a run that asks no model: a file that cannot be read has none. */
export function userSecrets(env: Environment): readonly string[] {
  const read = readUsers(userFileOf(env));
  return read === undefined || 'found' in read ? [] : keysIn(read, serversWith(read.content.providers));
}

/** The providers of the user's file that can be asked, besides those that are built in: a file that cannot be read has none. */
export function userProviders(env: Environment): readonly string[] {
  const read = readUsers(userFileOf(env));
  const named = read === undefined || 'found' in read ? {} : read.content.providers;
  return [...serversWith(named).values()].flatMap(({ provider, baseURL }) =>
    baseURL === undefined || builtInServers.has(provider) ? [] : [provider],
  );
}

const keysIn = (user: ReadProject | undefined, servers: ModelServers): readonly string[] =>
  Object.keys(user?.content.providers ?? {}).flatMap((name) => {
    const server = servers.get(name);
    return server === undefined ? [] : variablesToAsk(server);
  });

const readUsers = (file: string | undefined) =>
  file === undefined || isInRun(file) ? undefined : readIfThere(file, 'user');

export type RunProvider = GivenServers['provider'];

/** The provider that is named for the whole run. A run that continues keeps its own. */
export function runProviderOf(
  before: Pick<Manifest, 'agent'> | undefined,
  { provider: flag }: { readonly provider?: string | undefined },
  given: GivenServers,
  env: Environment,
): RunProvider {
  const named = (name: string | undefined, by: string): RunProvider =>
    name === undefined || name.trim() === '' ? undefined : { name: providerWord(name), by };
  if (flag !== undefined) return named(flag, '--provider');
  if (before !== undefined) return named(before.agent.provider, 'the run');
  return named(env['FACTORY_PROVIDER'], 'FACTORY_PROVIDER') ?? given.provider;
}

/** What a verb with a default model is given of its agent. */
export type ModelChoice = {
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly agent?: string | undefined;
  readonly agent_script?: string | undefined;
};

/** The model for verbs that record one before the run: of a provider without a named model its first, `otherwise` of other agents and
 *  of openai. Undefined where a provider has no list: the start refuses the run. */
export function modelFor(
  { model, provider, agent, agent_script }: ModelChoice,
  otherwise: string,
  { workdir, env }: { readonly workdir: string; readonly env: Environment },
): string | undefined {
  const word = (text: string | undefined) => text?.trim() || undefined;
  const named = word(model) ?? word(env['FACTORY_MODEL']);
  if (named !== undefined) return named;
  const ofOpenai = word(env['OPENAI_MODEL']) ?? otherwise;
  const by = word(agent) ?? (provider === undefined ? word(env['FACTORY_AGENT']) : undefined);
  const given = modelServersFor(workdir, env);
  if (agent_script !== undefined || (by !== undefined && by !== 'openai') || 'problems' in given)
    return ofOpenai;
  const { name = 'openai' } = runProviderOf(undefined, { provider }, given, env) ?? {};
  return name === 'openai' ? ofOpenai : given.servers.get(name)?.models?.[0];
}

const readIfThere = (file: string, owner: 'user' | 'project') =>
  isThere(file) ? readProjectFile(file, owner) : undefined;

function isThere(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** The file of the project of a workdir: never one that a run has in its workspace, nor the user's own. */
export function projectFor(workdir: string, userFile: string | undefined): string | undefined {
  if (isInRun(workdir)) return undefined;
  const file = projectFileOf(workdir);
  const isUsers =
    file !== undefined && userFile !== undefined && realPlace(dirname(file)) === realPlace(dirname(userFile));
  return isUsers ? undefined : file;
}

const realPlace = (path: string): string => realOrSame(resolve(path));

/** Whether a path lies in the directory of a run: an agent may have written it. */
function isInRun(path: string): boolean {
  for (let at = realPlace(path); dirname(at) !== at; at = dirname(at)) {
    const run = dirname(at);
    if (basename(at) !== basename(layout(run).workspace)) continue;
    if (statSync(join(run, 'manifest.json'), { throwIfNoEntry: false }) !== undefined) return true;
  }
  return false;
}

/** Of a provider that neither factory nor the user knows a project cannot say how it is asked. */
const strangeApis = ({ content, placeOf }: ReadProject, known: ModelServers): readonly Diagnostic[] =>
  Object.entries(content.providers ?? {}).flatMap(([name, { api }]) =>
    api === undefined || known.has(name)
      ? []
      : [
          {
            code: 'project-file',
            severity: 'error',
            message: `"providers.${name}.api" is for a provider that is unknown here`,
            place: placeOf(['providers', name, 'api']),
            fix: 'the address of a provider, and its API, are in your own factory.json',
          },
        ],
  );
