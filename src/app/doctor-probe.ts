/** `factory doctor --probe`: asks the providers that are set up here, and reports what each can do. */
import { canAsk, defaultModelOf, unknownProvider } from '../agents/openai/plan.ts';
import { probeServer, type ServerProbe } from '../agents/openai/probe.ts';
import { accessProblem, baseUrlWords, showURL } from '../agents/openai/settings.ts';
import { type Prices, priceOf, pricesOf } from '../core/budget/prices.ts';
import type { FailedReport } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import {
  accessTo,
  hasOtherServer,
  type ModelServer,
  modelOfProvider,
  serverOf,
  userFileName,
  variablesToAsk,
} from '../core/model-server.ts';
import type { EnvironmentFinding } from './doctor.ts';
import { type GivenServers, modelServersFor, runProviderOf } from './model-servers.ts';
import { readPriceFile } from './run/budget.ts';

type Probes = {
  readonly cwd: string;
  readonly env: Environment;
  readonly clock: Clock;
  /** With one of these only that provider is asked which a run with these flags would ask. */
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
};

const what = 'probe';

/** One finding for each provider; none where the files of providers are wrong, which is a finding already. */
export async function probesFound(probes: Probes): Promise<readonly EnvironmentFinding[]> {
  const { cwd, env, clock } = probes;
  const given = modelServersFor(cwd, env);
  if ('problems' in given) return [];
  const file = await readPriceFile(undefined, undefined, env, cwd);
  if ('problems' in file) return file.problems.map((problem) => wrongly(problem));
  return Promise.all(
    targetsOf(probes, given).map((target) => {
      const server = serverOf(given.servers, target.provider, env);
      if (server === undefined)
        return wrongly(unknownProvider(given.servers, target.provider, target.by).problem);
      const prices = pricesOf({
        ...(file.kept === undefined ? {} : { prices: file.kept }),
        agent: { servers: { [server.provider]: server } },
      });
      return probeFound(server, target.model ?? defaultModelOf(server, env), { given, prices, env, clock });
    }),
  );
}

type Target = { readonly provider: string; readonly by: string; readonly model: string | undefined };

/** Whom a run with these flags would ask; without any also all others that can be asked here. */
function targetsOf({ provider, model, env }: Probes, given: GivenServers): readonly Target[] {
  const { servers } = given;
  const named = runProviderOf(undefined, { provider }, given, env);
  const ofRun = model ?? (env['FACTORY_MODEL']?.trim() || undefined);
  const split =
    named === undefined && !hasOtherServer(env) ? modelOfProvider(servers, ofRun ?? '') : undefined;
  const first: Target = {
    provider: named?.name ?? split?.provider ?? 'openai',
    by: named?.by ?? (model === undefined ? 'FACTORY_MODEL' : '--model'),
    model: split?.model ?? ofRun,
  };
  if (provider !== undefined || model !== undefined) return [first];
  return [...servers.keys()].flatMap((name) => {
    if (name === first.provider && (named !== undefined || canAsk(servers, name, env))) return [first];
    return canAsk(servers, name, env) ? [{ provider: name, by: '', model: undefined }] : [];
  });
}

type Deps = Pick<Probes, 'env' | 'clock'> & { readonly given: GivenServers; readonly prices: Prices };

async function probeFound(
  server: ModelServer,
  model: string | undefined,
  { given, prices, env, clock }: Deps,
): Promise<EnvironmentFinding> {
  const { provider } = server;
  const place = given.placeOf(provider);
  const at = place === undefined ? provider : `${place.file}:${place.span.start.line} ${provider}`;
  const access = accessTo(server, env);
  const problem = accessProblem(server, access);
  if (problem !== undefined)
    return { ...{ what, state: 'bad', says: `${at}: ${problem}`, more: [] }, fix: keyFix(server) };
  if (model === undefined)
    return {
      ...{ what, state: 'absent', says: `${at}: not asked, no model is named`, more: [] },
      fix: `--model ${provider}/NAME, or "models" of the provider in ${userFileName}`,
    };
  const got = await probeServer({ server, access, model, clock });
  if ('failed' in got)
    return {
      ...{ what, state: 'bad', says: `${at}: ${got.failed.reason}`, more: [] },
      fix: fixFor(got.failed, server),
    };
  return answered(got, { at, server, model, prices });
}

function answered(
  got: ServerProbe,
  {
    at,
    server,
    model,
    prices,
  }: { readonly at: string; readonly server: ModelServer; readonly model: string; readonly prices: Prices },
): EnvironmentFinding {
  const { api, tools, schema, streaming, usage } = got;
  const price =
    usage?.input_tokens == null || usage.output_tokens === null
      ? 'tokens not counted'
      : priceOf(prices, usage.model, usage.provider) === undefined
        ? 'unknown'
        : 'known';
  const can = [
    tools === 'called' ? 'tools' : `tools ${tools}`,
    schema === 'kept' ? 'schema' : `schema ${schema}`,
    streaming ? 'streaming' : 'no streaming',
    price === 'tokens not counted' ? price : `price ${price}`,
  ];
  const isAll = tools === 'called' && schema === 'kept';
  return {
    ...{ what, state: isAll ? 'good' : 'less' },
    says: `${at}: ${model} at ${showURL(server.baseURL)} answers (${api}): ${can.join(', ')}`,
    more: notesOn(got, price, usage?.model ?? model),
    ...(tools === 'called' ? {} : { fix: 'choose another model for nodes with tools' }),
    probe: { provider: server.provider, model, api, tools, schema, streaming, price },
  };
}

const notesOn = ({ tools, why, schema }: ServerProbe, price: string, priced: string): readonly string[] => [
  ...(tools === 'called' ? [] : [`tools: ${why ?? 'the model answered in words instead of the call'}`]),
  ...(schema === 'kept' ? [] : ['the form of answers is described in prompts alone, and checked']),
  ...(price === 'unknown' ? [`costs of "${priced}" are unknown: give its "prices" (docs/providers.md)`] : []),
];

const keyFix = (server: ModelServer): string => {
  const names = variablesToAsk(server);
  return names.length === 0
    ? `name the variable of its key: "key" in ${userFileName}`
    : `set ${names.join(' and ')} to what this provider gave you`;
};

function fixFor({ park, class: kind, reason }: FailedReport, server: ModelServer): string {
  if (park?.kind === 'auth' && /\bproxy\b/.test(reason)) return 'check HTTPS_PROXY, HTTP_PROXY and NO_PROXY';
  if (park?.kind === 'auth') return keyFix(server);
  if (park?.kind === 'billing') return 'pay for the account of this provider, or choose another one';
  if (park?.kind === 'quota') return 'wait, or choose another model';
  if (kind === 'config')
    return `correct the name of the model, "api" of the provider, ${baseUrlWords(server)} or the proxy`;
  if (kind === 'agent') return `check "api" of the provider and ${baseUrlWords(server)}`;
  return `check that the server runs, ${baseUrlWords(server)}, HTTPS_PROXY and NO_PROXY`;
}

const wrongly = ({ message, fix }: Diagnostic): EnvironmentFinding => ({
  ...{ what, state: 'bad', says: message, more: [] },
  ...(fix === undefined ? {} : { fix }),
});
