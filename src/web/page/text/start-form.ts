/** What a form for a new run holds, and the request that it makes. */
import type { OfferedPipeline } from '../../../app/answers.ts';
import type { Estimate } from '../../../app/estimate.ts';
import { estimateWords } from '../../../app/estimate-words.ts';
import type { StartBody, StartSettings } from '../../start-contract.ts';

export type StartSetting = StartSettings['settings'][number];
type Variable = OfferedPipeline['variables'][number];

export type StartForm = {
  readonly project: string;
  readonly onProject: boolean;
  readonly vars: Readonly<Record<string, string>>;
  readonly texts: Readonly<Record<string, string>>;
  /** Variables whose text is typed, not a file's. */
  readonly typed: readonly string[];
  /** By the names of the table. */
  readonly settings: Readonly<Record<string, string>>;
  readonly wait: boolean;
  readonly allowDirty: boolean;
  readonly notify: string;
};

export const emptyForm = (project: string): StartForm => ({
  ...{ project, onProject: false, vars: {}, texts: {}, typed: [], settings: {} },
  ...{ wait: false, allowDirty: false, notify: '' },
});

/** The request of the form; what is empty is left out. `home`: the project that the server takes if none is named. */
export function startBodyOf(
  form: StartForm,
  pipeline: Pick<OfferedPipeline, 'name' | 'variables' | 'workdir'>,
  settings: readonly StartSetting[],
  home: string,
): Partial<StartBody> & { readonly pipeline: string } {
  const { project, typed, notify } = form;
  const names = pipeline.variables.map(({ name }) => name);
  const filled = (values: Readonly<Record<string, string>>, accepts: (name: string) => boolean) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = values[name] ?? '';
        return accepts(name) && value.trim() !== '' ? [[name, value]] : [];
      }),
    );
  const texts = filled(form.texts, (name) => typed.includes(name));
  const given = (limit: boolean) =>
    Object.fromEntries(
      settings.flatMap((one) => {
        const value = form.settings[one.name]?.trim() ?? '';
        return one.limit === limit && value !== '' ? [[one.name, settingValue(one, value)]] : [];
      }),
    );
  return {
    pipeline: pipeline.name,
    ...(project === home ? {} : { project }),
    ...(form.onProject && pipeline.workdir !== project ? { on_project: true } : {}),
    vars: filled(form.vars, (name) => !typed.includes(name)),
    ...(Object.keys(texts).length === 0 ? {} : { texts }),
    ...given(false),
    limits: given(true),
    ...(form.wait ? { wait: true } : {}),
    ...(notify.trim() === '' ? {} : { notify: notify.trim() }),
    ...(form.allowDirty ? { allow_dirty: true } : {}),
  };
}

/** A text that is no number goes as it is: the check says what is expected. */
const settingValue = ({ type }: StartSetting, text: string): string | number =>
  type === 'string' || Number.isNaN(Number(text)) ? text : Number(text);

/** Those that a run needs, or that say what it builds, then the rest. */
export function formVariables(variables: readonly Variable[]): {
  readonly first: readonly Variable[];
  readonly rest: readonly Variable[];
} {
  const isFirst = ({ required, name }: Variable) => required || name === 'spec';
  return { first: variables.filter(isFirst), rest: variables.filter((one) => !isFirst(one)) };
}

/** What a run begins with, for people. */
export const workdirText = (workdir: string | null): string =>
  workdir === null ? 'an empty folder' : `a copy of ${workdir}`;

const figures: Readonly<Record<string, 'cost' | 'tokens' | 'time'>> = {
  ...{ max_cost_usd: 'cost', max_tokens: 'tokens', max_wall: 'time' },
};

/** Limits of which earlier runs say something come first. */
export const limitOrder = (a: StartSetting, b: StartSetting): number =>
  Number(b.name in figures) - Number(a.name in figures);

/** What earlier runs needed of that limit; empty for another setting. */
export function earlierText(name: string, estimate: Estimate | null): string {
  const figure = figures[name];
  if (figure === undefined || estimate === null) return '';
  return `earlier runs: ${estimate.runs === 0 ? 'unknown' : estimateWords(estimate)[figure]}`;
}

/** A limit at which most earlier runs would have ended. */
export function isBelowMedian(name: string, text: string, estimate: Estimate | null): boolean {
  const value = Number(text);
  const figure =
    name === 'max_cost_usd' ? estimate?.cost_usd : name === 'max_tokens' ? estimate?.tokens : undefined;
  return text.trim() !== '' && figure != null && value < figure.median;
}
