/** The client of Anthropic's SDK for one request. */
import type { Messages } from './anthropic-sdk.ts';
import type { Request } from './request.ts';
import { type Sdk, type Wire, withoutHeadersIn } from './transport.ts';

/** The SDK, loaded when it is used. */
export async function anthropicSdk(): Promise<Sdk<Messages>> {
  const sdk = await import('./anthropic-sdk.ts');
  return {
    errors: sdk,
    client: (request, wire) => new sdk.Messages(new sdk.BaseAnthropic(optionsFor(request, wire))),
  };
}

function optionsFor({ server, access }: Request, wire: Wire) {
  return {
    ...wire,
    // The SDK adds `/v1` itself.
    baseURL: wire.baseURL.replace(/\/v1\/*$/, '').replace(/\/+$/, ''),
    // Without a word the SDK would look for a login on this machine. The header that it makes of it is left out.
    apiKey: 'none',
    openTelemetry: false as const,
    defaultHeaders: {
      ...(server.provider === 'anthropic' ? {} : withoutHeadersIn('ANTHROPIC_CUSTOM_HEADERS')),
      authorization: null,
      // The version that every server of this API has; the SDK's own asks for keys in another header.
      'anthropic-version': '2023-06-01',
      'x-api-key': access.apiKey === '' ? null : access.apiKey,
      ...access.headers,
    },
  };
}
