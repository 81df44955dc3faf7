/** A request to start a run, checked: its pipeline, and every path that it names, is one that this server offers. */
import { extname, join, relative, resolve } from 'node:path';
import type { GivenText } from '../app/given-texts.ts';
import { knownHoldouts } from '../app/named-holdouts.ts';
import { type PipelineFindings, pipelineFindings } from '../app/pipeline-findings.ts';
import { type NamedPipeline, namedPipelines } from '../app/pipelines.ts';
import type { Environment } from '../core/contracts/process.ts';
import { own } from '../core/json.ts';
import { workdirOf } from '../core/pipeline.ts';
import { variablesOf } from '../core/variables.ts';
import { ignoreOf } from '../workspace/copy.ts';
import { isWithin, realOrSame } from '../workspace/roots.ts';
import { type OfferedPlaces, offeredPlace } from './offered-places.ts';
import { givesVariable } from './start-arguments.ts';
import type { StartBody } from './start-contract.ts';
import { problem } from './web.ts';

export type StartHost = OfferedPlaces & {
  /** The folder of the server. */
  readonly cwd: string;
  readonly env: Environment;
};

export type StartRequest = {
  /** Real: where the command is executed. */
  readonly cwd: string;
  /** The project is the folder of the server. */
  readonly isHere: boolean;
  readonly read: PipelineFindings;
  readonly texts: Readonly<Record<string, GivenText>>;
  /** Real path of the holdout that is named. */
  readonly holdout: string | undefined;
};

const refused = (message: string, fix = ''): Response => problem(400, 'bad-request', message, fix);
const seeFiles = 'see GET /api/v1/files';

/** The project of a request: the folder of the server, if none is named. */
export function projectOf(project: string | undefined, host: StartHost): { readonly cwd: string } | Response {
  const named = project ?? (offersFolder(host.cwd, host) ? host.cwd : (host.roots[0] ?? host.cwd));
  const place = offeredPlace(named, host.cwd, 'folder', host);
  if ('real' in place) return { cwd: place.real };
  return refused(
    `the project ${named} ${place.why}`,
    'GET /api/v1/folders lists the folders; factory serve --root DIR offers another one',
  );
}

const offersFolder = (path: string, host: StartHost): boolean =>
  'real' in offeredPlace(path, path, 'folder', host);

/** Whether a pipeline is offered: a bundled one, or a file of the project. */
export const isOfferedPipeline =
  (cwd: string, host: OfferedPlaces) =>
  ({ file, from }: NamedPipeline): boolean =>
    from === 'bundled' || 'real' in offeredPlace(file, cwd, 'file', host);

/** The request, or why it is refused. */
export async function startRequest(body: StartBody, host: StartHost): Promise<StartRequest | Response> {
  const project = projectOf(body.project, host);
  if (project instanceof Response) return project;
  const { cwd } = project;
  const named = namedPipelines(cwd).filter(isOfferedPipeline(cwd, host));
  const pipeline = named.find(({ name }) => name === body.pipeline);
  if (pipeline === undefined)
    return refused(`there is no pipeline ${body.pipeline}`, 'see GET /api/v1/pipelines');
  const file = pipeline.from === 'bundled' ? pipeline.file : pipeline.name;
  // The code of a project is executed by its runs alone, not by this server.
  const read = await pipelineFindings(file, cwd, { inert: true, env: host.env });
  const holdout = holdoutOf(body, cwd, host);
  if (holdout instanceof Response) return holdout;
  const { graph } = read;
  const files = graph === undefined ? [] : variablesOf(graph).filter((one) => one.file);
  const seen = files.flatMap(({ name, value = '' }) =>
    givesVariable(body, name) ? [] : [resolve(cwd, file, '..', value)],
  );
  const bad =
    holdoutProblem(seen, { ...host, holdout: holdout.real }) ??
    fileProblem(
      body,
      files.map(({ name }) => name),
      cwd,
      { ...host, holdout: holdout.real },
    ) ??
    workdirProblem(read, body, cwd, { ...host, holdout: holdout.real });
  if (bad !== undefined) return bad;
  const texts = Object.entries(body.texts).map(([name, text]) => {
    const extension = extname(files.find((one) => one.name === name)?.value ?? '');
    return [name, { text, extension: /^\.\w{1,10}$/.test(extension) ? extension : '.md' }] as const;
  });
  const isHere = cwd === realOrSame(host.cwd);
  return { cwd, isHere, read, texts: Object.fromEntries(texts), holdout: holdout.real };
}

/** A file that a pipeline names by itself may be anywhere, but in no holdout. */
function holdoutProblem(paths: readonly string[], { runsDir, holdout }: WithHoldout): Response | undefined {
  const holdouts = [...knownHoldouts(runsDir), ...(holdout === undefined ? [] : [holdout])];
  const bad = paths.find((path) => holdouts.some((one) => isWithin(one, realOrSame(path))));
  return bad === undefined
    ? undefined
    : refused(`${bad} belongs to the holdout of a run`, 'set another file');
}

type WithHoldout = OfferedPlaces & { readonly holdout: string | undefined };

function holdoutOf(
  { holdout_from: named }: StartBody,
  cwd: string,
  host: StartHost,
): { readonly real: string | undefined } | Response {
  if (named === undefined) return { real: undefined };
  // An earlier run may have named the same one.
  const place = offeredPlace(named, cwd, 'folder', { ...host, allowsHoldouts: true });
  if ('real' in place) return { real: place.real };
  return refused(
    `the holdout ${named} ${place.why}`,
    'name a folder of this server that holds the scenarios',
  );
}

/** A variable whose value is a file that is not offered, and one with two values. */
function fileProblem(
  { vars, texts }: StartBody,
  fileVariables: readonly string[],
  cwd: string,
  host: WithHoldout,
): Response | undefined {
  for (const [name, value] of Object.entries(vars)) {
    if (own(texts, name) !== undefined)
      return refused(`${name} has a value and a text`, 'leave out one of them');
    if (!value.startsWith('@') && !fileVariables.includes(name)) continue;
    const path = value.replace(/^@/, '');
    const place = offeredPlace(path, cwd, 'file', host);
    if ('why' in place) return refused(`${path} is no file of the folder: it ${place.why}`, seeFiles);
    if (host.holdout !== undefined && isWithin(host.holdout, place.real))
      return refused(`${path} belongs to the holdout of this run`, 'name a file outside of it');
  }
  return undefined;
}

/** Why the run may not build on its workdir: it is not offered, or agents would see a holdout in it. */
function workdirProblem(
  { graph }: PipelineFindings,
  { on_project }: StartBody,
  cwd: string,
  host: WithHoldout,
): Response | undefined {
  const workdir = graph === undefined ? undefined : workdirOf(graph, on_project ? { workdir: cwd } : {}, cwd);
  // One that does not exist is refused by the command, with its place in the pipeline.
  const real = workdir === undefined ? undefined : realOrSame(workdir);
  if (graph === undefined || workdir === undefined || real === undefined) return undefined;
  const place = offeredPlace(workdir, cwd, 'folder', host);
  if ('why' in place && place.why !== 'is no folder')
    return refused(
      `the workdir ${workdir} of the pipeline ${place.why}`,
      'build on the project, or start factory serve with --root for that folder',
    );
  const seen = knownHoldouts(host.runsDir).find(
    (one) => one !== host.holdout && isWithin(real, one) && !isLeftOut(real, one, graph.settings.holdout),
  );
  if (seen === undefined) return undefined;
  return refused(
    `${workdir} has the holdout of an earlier run in it, which agents of this run would see: ${seen}`,
    'name it as the holdout of this run, exclude it with a line in .factoryignore, or move it out of the folder',
  );
}

/** Whether a run of `workdir` neither copies that folder, nor shows it to agents. */
function isLeftOut(workdir: string, folder: string, sealed: readonly string[]): boolean {
  const path = relative(workdir, folder);
  if (sealed.some((one) => isWithin(join(workdir, one), folder))) return true;
  const ignores = ignoreOf(workdir);
  const names = path.split('/');
  return names.some((_, at) => ignores(names.slice(0, at + 1).join('/'), true));
}
