/** DSSE envelopes (version 1) with one Ed25519 signature, one to a line. */
import { sign, verify } from 'node:crypto';
import type { AttestationKey } from './keys.ts';

const statementPayload = 'application/vnd.in-toto+json';

/** What is signed: type and content of the payload, each behind its length in bytes. */
const preAuthEncoding = (payload: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`DSSEv1 ${Buffer.byteLength(statementPayload)} ${statementPayload} ${payload.length} `),
    payload,
  ]);

export type SignedEnvelope = {
  readonly payload: Buffer;
  /** Not signed by itself: a name that anyone can write. */
  readonly keyid: string;
  readonly signature: Buffer;
};

export function signEnvelope(statement: string, { key, fingerprint: keyid }: AttestationKey): string {
  const payload = Buffer.from(statement);
  return envelopeLine({ payload, keyid, signature: sign(null, preAuthEncoding(payload), key) });
}

/** The one spelling of an envelope. DSSE allows others; a file with one of them is not what we wrote. */
const envelopeLine = ({ payload, keyid, signature }: SignedEnvelope): string =>
  JSON.stringify({
    payloadType: statementPayload,
    payload: payload.toString('base64'),
    signatures: [{ keyid, sig: signature.toString('base64') }],
  });

/** The envelope of a line; undefined for anything else, and for an envelope in another spelling. */
export function envelopeIn(line: Buffer): SignedEnvelope | undefined {
  try {
    const { payload, signatures } = JSON.parse(line.toString('utf8'));
    const [{ keyid, sig }] = signatures;
    const envelope = {
      payload: Buffer.from(payload, 'base64'),
      keyid: String(keyid),
      signature: Buffer.from(sig, 'base64'),
    };
    return Buffer.from(envelopeLine(envelope)).equals(line) ? envelope : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the owner of the key has signed it. */
export const isSignedBy = ({ payload, keyid, signature }: SignedEnvelope, by: AttestationKey): boolean =>
  keyid === by.fingerprint && verify(null, preAuthEncoding(payload), by.key, signature);
