/** What of the engine's environment a stage gets, and what of it must be masked. */
import { confinedEnvironment } from '../policy/confinement.ts';
import { masker, stageEnvironment } from '../policy/secrets.ts';
import type { Confinement } from '../system/sandbox/confinement.ts';

/** Variables of an enclosing git operation or engine, which a stage must not act on, and the place of the engine's keys. */
const dropped = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_COMMON_DIR',
  'GIT_PREFIX',
  'FACTORY_KEYS',
];

export type StageEnvironment = {
  readonly env: Readonly<Record<string, string>>;
  /** What must not appear in what is written. */
  readonly values: readonly string[];
  readonly mask: (text: string) => string;
};
/** What a run says of it; the same object for all its stages. */
type Setting = { readonly env: Readonly<Record<string, string | undefined>>; readonly sealed?: unknown };

/** Names that no stage of a run gets: where something is sealed, nothing says where its key lies. */
export const droppedFrom = ({ sealed }: Setting): readonly string[] =>
  sealed === undefined ? dropped : [...dropped, 'XDG_STATE_HOME'];

const environments = new WeakMap<Setting, Map<string, StageEnvironment>>();

/** What stages get of the engine's environment when these secrets are passed; worked out once for a run. */
export function environmentOf(setting: Setting, pass: readonly string[]): StageEnvironment {
  const known = environments.get(setting) ?? new Map<string, StageEnvironment>();
  environments.set(setting, known);
  const key = JSON.stringify(pass);
  let found = known.get(key);
  if (found === undefined) {
    const { env: given, mask: values } = stageEnvironment(setting.env, pass);
    for (const name of droppedFrom(setting)) delete given[name];
    found = { env: given, values, mask: masker(values) };
    known.set(key, found);
  }
  return found;
}

/** A stage's environment, as it can be used where it runs. */
export const seenBy = (
  confinement: Confinement,
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> =>
  confinement.rung === 'bwrap' ? confinedEnvironment(env, confinement) : env;
