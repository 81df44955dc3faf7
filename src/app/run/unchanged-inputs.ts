/** Before a resume: checks that the inputs are unchanged. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Diagnostic, type Refusal, refused } from '../../core/diagnostic.ts';
import { allNodes, type Graph, type Node, nodeOf } from '../../core/graph.ts';
import { own } from '../../core/json.ts';
import type { RunState } from '../../core/records/checkpoint.ts';
import { keepsTexts, type Manifest } from '../../core/records/manifest.ts';
import type { SettingFlags } from '../../core/settings/run.ts';
import { sha256 } from '../../core/sha256.ts';
import { realOrSame } from '../../workspace/roots.ts';
import { readInputText } from '../input-text.ts';
import { changedTypes } from '../own-kinds.ts';
import { changedSetup } from '../project-setup.ts';
import { changedServers } from '../servers-asked.ts';
import type { Host, RunFlags } from '../types.ts';

/** Flags of a resume that were set. */
type ResumeFlags = SettingFlags & Pick<RunFlags, 'vars'>;

/** The flags about the agent for the manifest, merged over the earlier ones; `script` is the text of the named script. */
export function flagsOfAgent(
  { agent, provider, model, effort }: Pick<ResumeFlags, 'agent' | 'provider' | 'model' | 'effort'>,
  script: string | undefined,
  before: Manifest['agent']['flags'] = {},
): Pick<Manifest['agent'], 'flags'> {
  const flags = {
    ...before,
    ...(agent === undefined ? {} : { agent }),
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
    ...(script === undefined ? {} : { script_sha256: sha256(script) }),
  };
  return Object.keys(flags).length === 0 ? {} : { flags };
}

/** A diagnostic for each input that differs from the manifest. */
export async function whatChanged(
  manifest: Manifest,
  graph: Graph | undefined,
  flags: ResumeFlags,
  { cwd, env }: Pick<Host, 'cwd' | 'env'>,
  changesSetup = false,
): Promise<Diagnostic[]> {
  const fix = 'start a new run, or pass --accept-changes to resume with the changed inputs';
  const changed = (message: string): Diagnostic => ({
    code: 'resume-changed',
    severity: 'error',
    message,
    fix,
  });
  const found: Diagnostic[] = [];
  if (graph === undefined)
    found.push(changed(`the pipeline ${manifest.pipeline_path} cannot be read, or has errors`));
  else if (sha256(graph.text) !== manifest.pipeline.sha256)
    found.push(changed(`the pipeline ${graph.file} has changed since the run began`));
  for (const [reference, prompt] of Object.entries({
    ...manifest.pipelines,
    ...manifest.prompts,
    ...manifest.schemas,
  })) {
    const now = await readFile(prompt.path, 'utf8').catch(() => undefined);
    if (now === undefined) found.push(changed(`the file ${reference} (${prompt.path}) cannot be read`));
    else if (sha256(now) !== prompt.sha256)
      found.push(changed(`the file ${reference} (${prompt.path}) has changed since the run began`));
  }
  found.push(...changedTypes(manifest), ...changedServers(manifest, cwd, env).map(changed));
  if (changesSetup && changedSetup(manifest, env))
    found.push(
      changed(`the setup commands of ${manifest.original_workdir} have changed since the run began`),
    );
  for (const name of await otherVars(manifest, flags.vars, cwd))
    found.push(changed(`--var ${name} differs from the run's`));
  const { flags: before = {} } = manifest.agent;
  for (const name of ['agent', 'provider', 'model', 'effort', 'fidelity'] as const) {
    const now: string | undefined = flags[name];
    const was: string | undefined = name === 'agent' ? manifest.agent.name : manifest.agent[name];
    const named = name === 'fidelity' ? was : before[name];
    if (now !== undefined && ![named, was].includes(now))
      found.push(changed(`--${name} ${now} differs from the run's ${name}, ${was || 'none'}`));
  }
  if (flags.agent_script !== undefined) {
    const now = await readFile(resolve(cwd, flags.agent_script), 'utf8').catch(() => '');
    if (![before.script_sha256, manifest.agent.script?.sha256].includes(sha256(now)))
      found.push(changed(`--script ${flags.agent_script} differs from the run's`));
  }
  if (flags.workdir !== undefined && !isSame(resolve(cwd, flags.workdir), manifest.original_workdir)) {
    found.push(
      changed(
        `--workdir ${flags.workdir} is not the workdir of the run, ${manifest.original_workdir === '' ? 'which had none' : manifest.original_workdir}`,
      ),
    );
  }
  return found;
}

/** The variables in `vars` whose values differ from the run's. */
async function otherVars(
  manifest: Manifest,
  vars: ResumeFlags['vars'],
  cwd: string,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [name, value] of Object.entries(vars)) {
    const was = manifest.variables[name];
    const path = resolve(cwd, value.replace(/^@/, ''));
    const same =
      was?.file === undefined
        ? was?.value === value
        : was.file.source === path && (await hashOfInput(path)) === was.file.sha256;
    if (!same) found.push(name);
  }
  return found;
}

async function hashOfInput(path: string): Promise<string | undefined> {
  const read = await readInputText(path, '');
  return 'problem' in read ? undefined : sha256(read.text);
}

/** Refuses a changed variable that a resume could not use: a replay keeps the inputs of the run that it follows, and without
 *  its pipeline file a run keeps all its texts. */
async function ignoredVariable(
  manifest: Manifest,
  graph: Graph | undefined,
  { vars }: ResumeFlags,
  cwd: string,
): Promise<Diagnostic | undefined> {
  const replays = manifest.replay_of !== undefined;
  if (graph !== undefined && !replays) return undefined;
  const [name] = await otherVars(manifest, vars, cwd);
  if (name === undefined) return undefined;
  const why = replays
    ? `run ${manifest.run_id} is a replay, which keeps the inputs of the run that it follows`
    : `the pipeline ${manifest.pipeline_path} cannot be read, or has errors`;
  return {
    code: 'resume-changed',
    severity: 'error',
    message: `--var ${name} cannot be changed: ${why}`,
    fix: `leave out --var${replays ? '' : ', or fix the pipeline'}`,
  };
}

/** Whether two paths name one folder; a missing folder is compared by its name. */
const isSame = (path: string, was: string): boolean =>
  path === was || (was !== '' && realOrSame(path) === realOrSame(was));

/* Checks before a resume that the inputs of the run are unchanged; changes are refused without `--accept-changes`. */

/** The accepted changes, or a refusal. `stored` is the pipeline in the manifest, `graph` the current file's. With `keeps`, the
 *  run keeps its texts, and their files are not compared. */
export async function checkUnchangedInputs(
  manifest: Manifest,
  texts: { readonly stored: Graph | undefined; readonly graph: Graph | undefined; readonly keeps: boolean },
  flags: RunFlags,
  host: Pick<Host, 'cwd' | 'env'>,
): Promise<{ readonly accepted: readonly Diagnostic[] } | Refusal> {
  const { stored, graph } = texts;
  const replays = manifest.replay_of !== undefined;
  if (flags.live === true && !replays)
    return refused('usage', `run ${manifest.run_id} is not a replay: it is live anyway`, 'leave out --live');
  // A replay keeps the texts of the recorded run, a fork those of the forked run, unless it was given others.
  const keeps =
    texts.keeps ||
    flags.keepsTexts === true ||
    (graph === undefined && keepsTexts(manifest) && !flags.acceptChanges);
  const differs =
    replays || keeps
      ? await whatChanged(
          {
            ...manifest,
            pipelines: {},
            prompts: {},
            schemas: {},
            ...(texts.keeps ? { node_types: {} } : {}),
          },
          replays ? stored : (graph ?? stored),
          flags,
          host,
        )
      : await whatChanged(manifest, graph, flags, host, true);
  if (differs.length > 0 && !flags.acceptChanges) return { problems: differs };
  const lost = await ignoredVariable(manifest, graph, flags, host.cwd);
  if (lost !== undefined) return { problems: [lost] };
  const { holdout } = manifest;
  if (flags.holdout_from !== undefined && resolve(host.cwd, flags.holdout_from) !== holdout?.from)
    return refused(
      'resume-changed',
      `--holdout ${flags.holdout_from} differs from the run's holdout: ${holdout === undefined ? 'none' : holdout.from === 'workdir' ? `${holdout.paths.join(', ')} of its workdir` : holdout.from}`,
      'leave out the flag, or start a new run: the holdout of a run cannot be changed',
    );
  return { accepted: differs };
}

/** The finished nodes whose text a resume with accepted changes has edited: their results stay unchanged. Pure. */
type Texts = Readonly<Record<string, { readonly sha256: string }>>;

/** Ids of nodes that have run, whose attributes, prompt file or schema file differ. The next node runs with its new text. */
export function editedAfterwards(
  before: { readonly graph: Graph | undefined; readonly texts: Pick<Manifest, 'prompts' | 'schemas'> },
  now: { readonly graph: Graph; readonly prompts: Texts; readonly schemas: Texts },
  { visits, next_node }: Pick<RunState, 'visits' | 'next_node'>,
): readonly string[] {
  const old = before.graph;
  if (old === undefined) return [];
  const { prompts, schemas = {} } = before.texts;
  const is = (graph: Graph, id: string, texts: readonly Texts[]) => described(nodeOf(graph, id), texts);
  return [...allNodes(now.graph).keys()].filter(
    (id) =>
      id !== next_node &&
      (own(visits, id) ?? 0) > 0 &&
      is(old, id, [prompts, schemas]) !== is(now.graph, id, [now.prompts, now.schemas]),
  );
}

/** A node that the changed pipeline has in addition. */
export type AddedNode = {
  readonly id: string;
  /** The nearest node before it that has run: started again, it leads to the new one. */
  readonly after: string;
  /** Whether the run can still come to it. */
  readonly reachable: boolean;
};

/** New nodes that the run has passed: it cannot come to them any more, or only by a way back. */
export function addedBefore(
  stored: Graph | undefined,
  now: Graph,
  { visits, next_node }: Pick<RunState, 'visits' | 'next_node'>,
): readonly AddedNode[] {
  if (stored === undefined || next_node === null) return [];
  const ran = (id: string) => (own(visits, id) ?? 0) > 0;
  const added = [...now.nodes.keys()].filter((id) => !stored.nodes.has(id));
  const ahead = added.length === 0 ? new Set() : new Set([next_node, ...walked(now, next_node, 'to')]);
  return added.flatMap((id) => {
    const after = [...walked(now, id, 'from', ran)].find(ran);
    const reachable = ahead.has(id);
    if (after === undefined || (reachable && ![...walked(now, id, 'to', ran)].some(ran))) return [];
    return [{ id, after, reachable }];
  });
}

/** The nodes behind (`to`) or before (`from`) one, the nearest first; the walk ends at those that `stops` accepts. */
function walked(graph: Graph, id: string, way: 'to' | 'from', stops = (_: string) => false): Set<string> {
  const found = new Set<string>();
  let edge = [id];
  while (edge.length > 0) {
    const next = graph.edges
      .filter((one) => edge.includes(way === 'to' ? one.from : one.to))
      .map((one) => one[way])
      .filter((one) => !found.has(one));
    for (const one of next) found.add(one);
    edge = [...new Set(next)].filter((one) => !stops(one));
  }
  return found;
}

/** A node's attributes, and the content of the files that they name. */
function described(node: Node | undefined, texts: readonly Texts[]): string {
  const attrs = [...(node?.attrs.values() ?? [])].map(({ key, value }) => [key, value.text] as const).sort();
  const files = attrs.map(([, text]) => texts.map((some) => own(some, text)?.sha256));
  return JSON.stringify([attrs, files]);
}
