/** `factory.json`: of a project, and the user's own. One form for both; which of them may say what is in `foreignTo`. */
import * as z from 'zod';
import { priceSchema } from '../budget/prices.ts';
import { addressProblem, providerName, serverApis } from '../model-server.ts';
import { once } from '../once.ts';
import { secretsOf } from '../policy/secrets.ts';
import { schemaOfFile } from './json-forms.ts';

/** Whether a header of this name and text holds a secret itself, which the records of a run would then have. */
const isOpenSecret = ([name, text]: readonly [string, string]): boolean =>
  !text.includes('${') && secretsOf({ [name.replace(/[^A-Za-z0-9]/g, '_')]: text }).length > 0;

/** Whether a text is a key in place of the name of a variable: some are letters and digits alone, which no name of that length is. */
const isKeyItself = (name: string): boolean =>
  secretsOf({ name }).length > 0 || (/^[A-Za-z\d]{20,}$/.test(name) && /\d/.test(name));

const headersSchema = once(() =>
  z
    .record(
      z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is not the name of a header'),
      z.string().regex(/^[\x20-\x7e]+$/, 'is no text that a header can have'),
    )
    .refine((headers) => !Object.entries(headers).some(isOpenSecret), {
      error: 'has a secret as its text',
      params: { secret: true },
    }),
);

/** An entry of `providers`. */
export const providerSchema = once(() =>
  z.strictObject({
    base_url: z
      .string()
      .superRefine((text, { addIssue }) => {
        const message = addressProblem(text);
        if (message !== undefined) addIssue({ code: 'custom', message });
      })
      .exactOptional()
      .describe('The address; only in your own file'),
    key: z
      .string()
      .refine((name) => /^[A-Za-z_]\w*$/.test(name) && !isKeyItself(name), {
        error: 'is not the name of a variable',
        params: { secret: true },
      })
      .exactOptional()
      .describe('Name of the variable that has the key; only in your own file'),
    api: z.enum(serverApis).exactOptional().describe('Which API the server has'),
    headers: headersSchema()
      .exactOptional()
      .describe('Sent with each request, variables replaced by their values; only in your own file'),
    models: z
      .array(z.string().trim().min(1, 'has an empty name'))
      .min(1, 'is empty')
      .exactOptional()
      .describe('All models that it has; the first is asked where none is named'),
    prices: z
      .record(z.string().min(1), priceSchema())
      .exactOptional()
      .describe('USD per million tokens, by model'),
  }),
);

export const projectSchema = once(() =>
  z.strictObject({
    $schema: schemaOfFile(),
    nodes: z
      .array(z.string().trim().min(1, 'is no path'))
      .exactOptional()
      .describe('Modules with own node types; only of a project'),
    setup: z
      .array(z.string().trim().min(1, 'is no command'))
      .exactOptional()
      .describe('Commands that make a workspace ready, such as `npm ci`; only of a project'),
    provider: z
      .string()
      .regex(providerName, 'is not the name of a provider')
      .exactOptional()
      .describe('The provider of models where none is named'),
    providers: z
      .record(z.string().regex(providerName, 'is not the name of a provider'), providerSchema())
      .exactOptional(),
  }),
);
export type ServerEntry = z.infer<ReturnType<typeof providerSchema>>;
export type ProjectContent = z.infer<ReturnType<typeof projectSchema>>;

/** Whose file it is: of a project, which others write too, or the user's own. */
export type ProjectOwner = 'project' | 'user';

const sendsKeys = ['base_url', 'key', 'headers'] as const;

/** What a file of this owner must not say, with the reason: a project that was cloned would send the user's keys to its server, and
 *  settings of one project are none of another. */
export function foreignTo(
  owner: ProjectOwner,
  { nodes, setup, providers = {} }: ProjectContent,
): readonly { readonly path: readonly string[]; readonly why: string }[] {
  if (owner === 'user')
    return Object.entries({ nodes, setup }).flatMap(([name, value]) =>
      value === undefined ? [] : [{ path: [name], why: 'counts only in the factory.json of a project' }],
    );
  const why =
    'counts only in your own factory.json: a project that you have cloned could send your keys to its server';
  return Object.entries(providers).flatMap(([name, entry]) =>
    sendsKeys.flatMap((key) => (entry[key] === undefined ? [] : [{ path: ['providers', name, key], why }])),
  );
}
