/** The keys of attestations: Ed25519, as `openssl genpkey -algorithm ed25519` writes them. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { sha256 } from '../../core/sha256.ts';

/** A key, and the fingerprint by which others know its signer: the SHA-256 of the public key's DER. */
export type AttestationKey = { readonly key: KeyObject; readonly fingerprint: string };

/** Why a file is no such key, and how to make one. */
export type BadKey = { readonly why: string; readonly fix: string };

const makeKey = 'make one: openssl genpkey -algorithm ed25519 -out KEY';
const makePublic = 'write it: openssl pkey -in KEY -pubout -out PUBLIC';

/** The private key in a PKCS#8 PEM. */
export function signingKeyIn(pem: string): AttestationKey | BadKey {
  const label = labelOf(pem);
  const why = label === 'PRIVATE KEY' ? undefined : (notPrivate[label] ?? 'it is no PKCS#8 key in PEM');
  if (why !== undefined) return { why, fix: makeKey };
  const key = read(() => createPrivateKey({ key: pem, format: 'pem' }));
  if (key?.asymmetricKeyType !== 'ed25519') return { why: typeWords(key), fix: makeKey };
  return { key, fingerprint: fingerprintOf(createPublicKey(key)) };
}

const notPrivate: Readonly<Record<string, string>> = {
  'OPENSSH PRIVATE KEY':
    'it is a key in the format of OpenSSH (ssh-keygen -m PKCS8 writes that for Ed25519, too), not PKCS#8',
  'ENCRYPTED PRIVATE KEY': 'it is encrypted, and no passphrase can be asked for',
  'RSA PRIVATE KEY': 'it is an RSA key, not Ed25519',
  'EC PRIVATE KEY': 'it is an EC key, not Ed25519',
  'PUBLIC KEY': 'it is a public key: signing needs the private one',
};

/** The public key in a PEM. A private key is refused: who verifies should not have it. */
export function verifyingKeyIn(pem: string): AttestationKey | BadKey {
  const label = labelOf(pem);
  if (label !== 'PUBLIC KEY')
    return {
      why: label.endsWith('PRIVATE KEY')
        ? 'it is a private key: verifying needs the public one only'
        : 'it is no public key in PEM',
      fix: makePublic,
    };
  const key = read(() => createPublicKey({ key: pem, format: 'pem' }));
  if (key?.asymmetricKeyType !== 'ed25519') return { why: typeWords(key), fix: makePublic };
  return { key, fingerprint: fingerprintOf(key) };
}

/** What the first PEM block says that it is. */
const labelOf = (pem: string): string => /-----BEGIN ([A-Z0-9 ]+)-----/.exec(pem)?.[1] ?? '';

const typeWords = (key: KeyObject | undefined): string =>
  key === undefined
    ? 'it cannot be read'
    : `it is a key of type ${key.asymmetricKeyType ?? 'unknown'}, not Ed25519`;

function read(open: () => KeyObject): KeyObject | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}

const fingerprintOf = (key: KeyObject): string => sha256(key.export({ type: 'spki', format: 'der' }));
