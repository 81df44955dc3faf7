/** What no message may repeat of a request. */
import type { ModelServer, ServerAccess } from '../../core/model-server.ts';
import { masker } from '../../core/policy/mask.ts';
import { hiddenIn } from './settings.ts';

/** Masks what requests to a server carry of secrets. */
export function maskFor({ baseURL }: ModelServer, { hidden }: ServerAccess): (text: string) => string {
  // A shorter word is a placeholder for a local server, and may be part of any text.
  const secrets = hidden.filter((text) => text.length >= 6);
  return masker([
    ...secrets.flatMap((text) => [text, JSON.stringify(text).slice(1, -1)]),
    ...hiddenIn(baseURL),
  ]);
}
