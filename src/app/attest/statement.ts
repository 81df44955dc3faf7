/** in-toto statements (version 1) about what a run has made. */
import * as z from 'zod';
import { once } from '../../core/once.ts';

export const statementType = 'https://in-toto.io/Statement/v1';
/** The result of its checks, in the vetted form that policies of others read. */
export const testResultType = 'https://in-toto.io/attestation/test-result/v0.1';
/** Everything else that is known of the run. */
export const runPredicateType = 'urn:factory:attestation:run:v1';

const subjectSchema = once(() => z.object({ digest: z.record(z.string(), z.string()) }));
const gitHash = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The last commit and its tree; without commits the tree of the workspace. */
export type AttestedProduct = { readonly commit: string | null; readonly tree: string };

export const subjectsOf = ({ commit, tree }: AttestedProduct) => [
  ...(commit === null ? [] : [{ name: 'commit', digest: { gitCommit: commit } }]),
  { name: 'tree', digest: { gitTree: tree } },
];

/** The product that subjects name: one tree, at most one commit; undefined for anything else. */
export function productIn(subject: unknown): AttestedProduct | undefined {
  const read = subjectSchema().array().safeParse(subject);
  const digests = read.success ? read.data.map(({ digest }) => Object.entries(digest)) : [];
  const all = digests.flat();
  const of = (kind: string) => all.filter(([name, hash]) => name === kind && gitHash.test(hash));
  const [commits, trees] = [of('gitCommit'), of('gitTree')];
  const [, tree] = trees[0] ?? [];
  const isOurs = digests.every(({ length }) => length === 1) && commits.length + trees.length === all.length;
  if (tree === undefined || trees.length > 1 || commits.length > 1 || !isOurs) return undefined;
  return { commit: commits[0]?.[1] ?? null, tree };
}

export type Statement = {
  readonly predicateType: string;
  readonly subject: unknown;
  readonly predicate: unknown;
};

export const statementText = ({ predicateType, subject, predicate }: Statement): string =>
  JSON.stringify({ _type: statementType, subject, predicateType, predicate });

/** The statement in a payload; undefined for anything else. */
export function statementIn(payload: Buffer): Statement | undefined {
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payload));
    const { _type, subject, predicateType, predicate } = value;
    return _type === statementType && typeof predicateType === 'string'
      ? { subject, predicateType, predicate }
      : undefined;
  } catch {
    return undefined;
  }
}
