/** The command line that starts the run of a request. The page has it from the server: the table of settings is large. */
import { flagWords } from '../app/typed-command.ts';
import { own } from '../core/json.ts';
import { flagOfSetting, runSettings, type SettingName } from '../core/settings/run.ts';
import type { StartBody } from './start-contract.ts';

/** The settings of the body, by their names. */
export function settingsGiven(
  body: Pick<StartBody, 'limits'> & { readonly [K in PlainSetting]?: string },
): readonly (readonly [SettingName, string | number])[] {
  const { name, agent, provider, model, effort, fidelity, sandbox, holdout_from, limits } = body;
  const all = { name, agent, provider, model, effort, fidelity, sandbox, holdout_from, ...limits };
  return Object.entries(all).flatMap(([key, value]) =>
    value === undefined ? [] : [[key as SettingName, value] as const],
  );
}
type PlainSetting =
  | 'name'
  | 'agent'
  | 'provider'
  | 'model'
  | 'effort'
  | 'fidelity'
  | 'sandbox'
  | 'holdout_from';

/** `texts`: the files of the texts, by variable. */
export const startArguments = (
  body: Omit<StartBody, 'texts' | 'project'>,
  texts: Readonly<Record<string, string>> = {},
): readonly string[] => [
  'run',
  body.pipeline.startsWith('-') ? `./${body.pipeline}` : body.pipeline,
  ...Object.entries(body.vars).map(([name, value]) => `--var=${name}=${value}`),
  ...Object.entries(texts).map(([name, path]) => `--var=${name}=@${path}`),
  // A value is never read as another flag.
  ...settingsGiven(body).map(([name, value]) => `${flagOfSetting(runSettings[name])}=${value}`),
  ...flagWords({
    workdir: body.on_project ? '.' : undefined,
    ...{ wait: body.wait, allow_dirty: body.allow_dirty, notify: body.notify },
  }),
];

/** Whether the request sets the variable, by a value or by a text. */
export const givesVariable = ({ vars, texts }: Pick<StartBody, 'vars' | 'texts'>, name: string): boolean =>
  own(vars, name) !== undefined || own(texts, name) !== undefined;
