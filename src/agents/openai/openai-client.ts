/** The client of OpenAI's SDK for one request. */
import type { OpenAI } from 'openai';
import type { Arrived, ModelResponse } from './answer.ts';
import type { Request } from './request.ts';
import { exchangeBy, type Sdk, type Wire, wireFor, withoutHeadersIn } from './transport.ts';
import type { Watch } from './watch.ts';

/** The SDK, loaded when it is used. */
async function openaiSdk(): Promise<Sdk<OpenAI>> {
  const sdk = await import('openai');
  return { errors: sdk, client: (request, wire) => new sdk.OpenAI(optionsFor(request, wire)) };
}

/** `exchangeBy` with this SDK. */
export const exchange = (
  request: Request,
  watch: Watch,
  sent: { readonly path: string; readonly body?: object; readonly stream?: boolean },
  arrived: () => Arrived,
  read: (client: OpenAI) => Promise<ModelResponse>,
): Promise<ModelResponse> => exchangeBy(openaiSdk, request, watch, sent, arrived, read);

/** A client for a request of which nothing is read. */
export async function connect(request: Request): Promise<OpenAI> {
  const sdk = await openaiSdk();
  return sdk.client(
    request,
    wireFor(request, () => {}, false),
  );
}

function optionsFor({ server, access }: Request, wire: Wire) {
  return {
    ...wire,
    // The SDK insists on a key; without one the header is left out.
    apiKey: access.apiKey === '' ? 'none' : access.apiKey,
    adminAPIKey: null,
    ...(server.provider === 'openai' ? {} : { organization: null, project: null }),
    defaultHeaders: {
      ...(server.provider === 'openai' ? {} : withoutHeadersIn('OPENAI_CUSTOM_HEADERS')),
      ...(access.apiKey === '' ? { authorization: null } : {}),
      ...access.headers,
    },
  };
}
