/** Changes of a run's manifest and inputs at a resume. */
import type { InputChange, Manifest } from '../../core/records/manifest.ts';
import { sha256 } from '../../core/sha256.ts';
import { inputsOf } from '../../run/evidence.ts';
import { manifestHash, storeManifest } from '../../run/inputs.ts';
import { keptScript } from '../types.ts';

/** What a resume changes about a run. */
export type ResumeChange = {
  readonly manifest: Manifest;
  /** Texts of file variables, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly script: string | undefined;
};

/** The texts of file variables, by the names of their files. */
export const textsIn = ({ files, manifest }: ResumeChange): (readonly [file: string, text: string])[] =>
  Object.entries(files).flatMap(([name, text]) => {
    const file = manifest.variables[name]?.file?.stored;
    return file === undefined ? [] : [[file, text] as const];
  });

/** Stores the changed manifest, with what has changed, and texts of the run. Answers the hash of the new manifest, which counts once the
 *  journal has it. */
export async function storeResumeChange(
  runDir: string,
  change: ResumeChange,
  former: { readonly manifest: Manifest; readonly sha256: string },
  at: string,
): Promise<string> {
  const { script } = change;
  const texts = textsIn(change).map(([, text]) => text);
  const kept = script === undefined ? {} : { [keptScript]: sha256(script) };
  const manifest =
    script === undefined
      ? change.manifest
      : { ...change.manifest, texts: { ...change.manifest.texts, ...kept } };
  if (manifestHash(manifest) === former.sha256) return former.sha256;
  const { changes = [], run_id } = former.manifest;
  const resumed = { run_id, at, manifest_sha256: former.sha256 };
  const changed = inputChanges(former.manifest, manifest);
  return storeManifest(
    runDir,
    { ...manifest, changes: [...changes, { ...resumed, changed }] },
    script === undefined ? texts : [...texts, script],
  );
}

/** What of the inputs and settings of a run differs in another manifest of it, by name. Pure. */
export function inputChanges(before: Manifest, after: Manifest): InputChange[] {
  const [was, is] = [namedInputs(before), namedInputs(after)];
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((what) => {
    const change = { what, before: was.get(what) ?? null, after: is.get(what) ?? null };
    return change.before === change.after ? [] : [change];
  });
}

/** Of texts their hashes, of settings their values. */
function namedInputs(manifest: Manifest): ReadonlyMap<string, string | null> {
  const { agent, caps, node_types = {}, replay_of, sandbox, setup } = manifest;
  const { pipeline, pipelines = {}, prompts, schemas, variables, agent_script, prices } = inputsOf(manifest);
  const named = (kind: string, of: Readonly<Record<string, unknown>>) =>
    Object.entries(of).map(([name, value]): [string, string | null] => [
      `${kind} ${name}`,
      value == null ? null : String(value),
    ]);
  const types = Object.entries(node_types).map(([name, { sha256: code }]) => [name, code] as const);
  return new Map<string, string | null>([
    ['pipeline', pipeline],
    ...named('called pipeline', pipelines),
    ...named('prompt', prompts),
    ...named('schema', schemas),
    ...named('variable', variables),
    ...named('node type', Object.fromEntries(types)),
    ['setup', setup?.sha256 ?? null],
    ['agent', agent.name],
    ['provider', agent.provider ?? null],
    ...named(
      'server of',
      Object.fromEntries(
        Object.entries(agent.servers ?? {}).map(([name, server]) => [name, JSON.stringify(server)]),
      ),
    ),
    ['model', agent.model ?? null],
    ['effort', agent.effort ?? null],
    ['fidelity', agent.fidelity ?? null],
    ['agent script', agent_script],
    ['prices', prices],
    ...named('limit', caps),
    ['sandbox', sandbox?.used ?? null],
    ['replay with agents', replay_of === undefined ? null : String(replay_of.live)],
  ]);
}
