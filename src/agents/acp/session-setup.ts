/** What a session offers when it is opened, and how its model and its mode are set. Pure. */
import * as z from 'zod';
import type { JsonObject } from '../../core/json.ts';
import { nearest } from '../../core/nearest.ts';
import { once } from '../../core/once.ts';

const valueSchema = once(() => z.looseObject({ value: z.string() }));
const optionSchema = once(() =>
  z.looseObject({
    id: z.string(),
    category: z.string().nullish(),
    type: z.string(),
    currentValue: z.unknown(),
    options: z.array(z.union([valueSchema(), z.looseObject({ options: z.array(valueSchema()) })])).optional(),
  }),
);
const openedSchema = once(() =>
  z.looseObject({
    sessionId: z.string(),
    configOptions: z.array(optionSchema()).nullish().catch(undefined),
    modes: z
      .looseObject({ availableModes: z.array(z.looseObject({ id: z.string() })) })
      .nullish()
      .catch(undefined),
    // What the draft of the protocol had before the options.
    models: z
      .looseObject({
        availableModels: z.array(z.looseObject({ modelId: z.string() })),
        currentModelId: z.string().nullish(),
      })
      .nullish()
      .catch(undefined),
  }),
);
const helloSchema = once(() =>
  z.looseObject({
    agentCapabilities: z
      .looseObject({ sessionCapabilities: z.looseObject({ close: z.unknown() }).nullish() })
      .nullish()
      .catch(undefined),
    authMethods: z
      .array(
        z.looseObject({
          id: z.string(),
          type: z.string().nullish(),
          vars: z
            .array(z.looseObject({ name: z.string() }))
            .nullish()
            .catch(undefined),
        }),
      )
      .nullish()
      .catch(undefined),
  }),
);

type Choice = {
  readonly current: string | undefined;
  /** A few that there are, where others may be given too. */
  readonly open?: true;
  readonly values: readonly string[];
  request(value: string): Request;
};

export type AcpSession = {
  readonly id: string;
  readonly model: string | undefined;
  readonly models: Choice | undefined;
  readonly modes: Choice | undefined;
  /** Whether it can be closed. */
  readonly closes: boolean;
};

type Request = { readonly method: string; readonly params: JsonObject };

/** The session in an answer to `session/new`; `hello` is the answer to `initialize`. */
export function sessionIn(answer: unknown, hello: unknown): AcpSession | undefined {
  const opened = openedSchema().safeParse(answer).data;
  if (opened === undefined) return undefined;
  const { sessionId, modes, models } = opened;
  const option = (category: string): Choice | undefined => {
    const found = opened.configOptions?.find((one) => one.category === category && one.type === 'select');
    return (
      found && {
        current: typeof found.currentValue === 'string' ? found.currentValue : undefined,
        values: (found.options ?? []).flatMap((one) =>
          'value' in one
            ? [one.value as string]
            : (one.options as readonly { value: string }[]).map(({ value }) => value),
        ),
        request: (value) => ({
          method: 'session/set_config_option',
          params: { sessionId, configId: found.id, value },
        }),
      }
    );
  };
  const modelChoice = option('model') ?? {
    current: models?.currentModelId ?? undefined,
    open: true as const,
    values: models?.availableModels.map(({ modelId }) => modelId) ?? [],
    request: (modelId) => ({ method: 'session/set_model', params: { sessionId, modelId } }),
  };
  const modeChoice = option('mode') ?? {
    current: undefined,
    values: modes?.availableModes.map(({ id }) => id) ?? [],
    request: (modeId) => ({ method: 'session/set_mode', params: { sessionId, modeId } }),
  };
  const capabilities = helloSchema().safeParse(hello).data?.agentCapabilities?.sessionCapabilities;
  return {
    id: sessionId,
    model: modelChoice.current,
    models: modelChoice.values.length === 0 ? undefined : modelChoice,
    modes: modeChoice.values.length === 0 ? undefined : modeChoice,
    closes: capabilities?.close != null,
  };
}

/** The request that sets the model; undefined where it is set already or none is named. */
export function modelRequest(
  { models }: AcpSession,
  model: string | undefined,
): Request | { readonly problem: string } | undefined {
  // However it is started: it takes a third party's free model where its user has none.
  if (model === undefined && models?.current?.startsWith('opencode/') === true)
    return {
      problem: `it has chosen the model ${models.current} by itself, which a third party serves: set llm_model or acp.model on the node, or pass --model`,
    };
  if (model === undefined || models?.current === model) return undefined;
  if (models === undefined)
    return {
      problem: `it offers no choice of its model, and ${model} is named: name the model in acp.command, or none on the node`,
    };
  if (models.open === true || models.values.includes(model)) return models.request(model);
  const near = nearest(model, models.values);
  const named = models.values.slice(0, 20).join(', ');
  return {
    problem: `it has no model ${model}${near === undefined ? '' : ` (did you mean ${near}?)`}: it has ${named}`,
  };
}

/** The request that sets the first of these modes that the session has, where it is in another one. */
export function modeRequest({ modes }: AcpSession, names: readonly string[]): Request | undefined {
  const mode = names.find((one) => modes?.values.includes(one));
  return mode === undefined || modes?.current === mode ? undefined : modes?.request(mode);
}

/** The way to log in whose variables the program has; else `known`, where it has that one. */
export function keyMethodIn(
  hello: unknown,
  has: (variable: string) => boolean,
  known: string | undefined,
): string | undefined {
  const ways = helloSchema().safeParse(hello).data?.authMethods ?? [];
  const named = ways.find(
    ({ type, vars }) =>
      type === 'env_var' && vars != null && vars.length > 0 && vars.every(({ name }) => has(name)),
  );
  return (named ?? ways.find(({ id }) => id === known))?.id;
}
