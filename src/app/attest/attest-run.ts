/** `factory attest`: two signed statements about a run whose records hold. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Environment } from '../../core/contracts/process.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import type { Json } from '../../core/json.ts';
import { maskedValue, masker } from '../../core/policy/mask.ts';
import { textsToMask } from '../../core/policy/secrets.ts';
import type { Commit } from '../../core/records/result.ts';
import { sha256 } from '../../core/sha256.ts';
import { treesOf } from '../../git/history.ts';
import { visitsAmong } from '../../run/evidence.ts';
import type { StoredRun } from '../../run/open-run.ts';
import { resultOf } from '../../run/result.ts';
import type { Report } from '../../verify/report.ts';
import { endInRecords } from '../../verify/result.ts';
import { storedGraph } from '../read-pipeline.ts';
import { signEnvelope } from './envelope.ts';
import type { AttestationKey } from './keys.ts';
import { notCheckedIn } from './not-checked.ts';
import { type RunPredicate, runPredicateSchema } from './predicate.ts';
import { productOf } from './product.ts';
import {
  type AttestedRun,
  acceptedFactsOf,
  attestedStatus,
  commandFactsOf,
  inputFactsOf,
  judgedFactsOf,
  originFactsOf,
  runFactsOf,
  type StoredResult,
  sandboxFactsOf,
  scenarioTestsOf,
} from './run-facts.ts';
import { seenIn } from './seen.ts';
import { type AttestedProduct, runPredicateType, statementText, subjectsOf } from './statement.ts';
import { hasDoubts, testResultOf } from './test-result.ts';

export type Attestation = {
  /** The file: an envelope a line. */
  readonly text: string;
  readonly product: AttestedProduct;
  readonly predicate: RunPredicate;
  /** The result of the checks; undefined where nothing was checked. */
  readonly result: string | undefined;
  /** With it the signer can show which suite has judged; null without a suite. */
  readonly suiteKey: string | null;
};

/** Signs what is recorded of the run. `verified`: what was found of the same records; they must hold. */
export async function attestRun(
  runDir: string,
  stored: StoredRun,
  verified: Pick<Report, 'unchecked'>,
  key: AttestationKey,
  env: Environment,
): Promise<Attestation | Refusal> {
  const attested = await readAttested(runDir, stored, env);
  if ('problems' in attested) return attested;
  const { run, product } = attested;
  const suiteKey = run.manifest.holdout === undefined ? null : randomBytes(32).toString('hex');
  const mask = masker(textsToMask(env));
  const facts = maskedFacts(factsOf(run, verified, suiteKey), mask);
  const subject = subjectsOf(product);
  const tests = testResultOf(checksOf(run, facts));
  const line = tests && statementText({ ...tests, subject });
  const predicate = { ...facts, test_result: line === undefined ? null : { sha256: sha256(line) } };
  const whole = statementText({ predicateType: runPredicateType, subject, predicate });
  const lines = [whole, ...(line === undefined ? [] : [line])];
  const text = lines.map((one) => `${signEnvelope(one, key)}\n`).join('');
  return { text, product, predicate, result: tests?.predicate.result, suiteKey };
}

/** The same facts without a signature, for people; and the commits with their subjects. */
export async function attestedFacts(
  runDir: string,
  stored: StoredRun,
  verified: Pick<Report, 'unchecked'>,
  env: Environment,
): Promise<
  { readonly facts: Omit<RunPredicate, 'test_result'>; readonly commits: readonly Commit[] } | Refusal
> {
  const attested = await readAttested(runDir, stored, env);
  if ('problems' in attested) return attested;
  const { run } = attested;
  const mask = masker(textsToMask(env));
  const commits = run.result.commits.map((one) => ({ ...one, subject: mask(one.subject) }));
  return { facts: maskedFacts(factsOf(run, verified, null), mask), commits };
}

async function readAttested(
  runDir: string,
  stored: StoredRun,
  env: Environment,
): Promise<{ readonly run: AttestedRun; readonly product: AttestedProduct } | Refusal> {
  const read = await readResult(runDir, stored);
  const product = await productOf(read, env);
  if ('problems' in product) return product;
  return { run: { ...read, seen: await seenIn(read, product, env) }, product };
}

async function readResult(runDir: string, stored: StoredRun): Promise<StoredResult> {
  const { manifest, history } = stored;
  const visits = visitsAmong(history.records, history.calls).now(history.whole);
  const result = await resultOf(manifest, runDir, treesOf, endInRecords(history), visits, runDir);
  const { evidence } = result;
  if (evidence === undefined) throw new Error('Internal: a result without evidence');
  return { ...stored, runDir, result: { ...result, evidence }, graph: storedGraph(manifest) };
}

/** Without the other statement, which is made from it. */
function factsOf(
  run: AttestedRun,
  { unchecked }: Pick<Report, 'unchecked'>,
  suiteKey: string | null,
): Omit<RunPredicate, 'test_result'> {
  const { manifest, result } = run;
  const suiteHash = (of: string) =>
    createHmac('sha256', Buffer.from(suiteKey ?? '', 'hex'))
      .update(of)
      .digest('hex');
  const { evidence, audit } = result;
  const known = {
    run: runFactsOf(run),
    judged: judgedFactsOf(run),
    commands: commandFactsOf(run),
    ...originFactsOf(run),
    commits: evidence.commits,
  };
  return {
    schema_version: 1,
    ...known,
    inputs: inputFactsOf(run, suiteHash),
    more_commands: evidence.more_commands,
    proof: result.proof,
    audit:
      audit === undefined
        ? null
        : { findings: audit.findings, errors: audit.errors, warnings: audit.warnings },
    agents: { name: manifest.agent.name, asked: evidence.asked ?? [] },
    cost: result.spent,
    sandbox: sandboxFactsOf(run),
    accepted: acceptedFactsOf(run),
    not_checked: [...notCheckedIn(run, known, unchecked)],
  };
}

/** The records are masked already, by the secrets of the machines that the run was on; here by those of this one. */
const maskedFacts = (
  facts: Omit<RunPredicate, 'test_result'>,
  mask: (text: string) => string,
): Omit<RunPredicate, 'test_result'> =>
  runPredicateSchema()
    .omit({ test_result: true })
    .parse(maskedValue(facts as unknown as Json, mask));

/** Whether the commit that was verified in a clean checkout is the attested one; undefined without a proof. */
const proofOf = ({ seen: { provedCommit }, result }: AttestedRun): 'attested' | 'others' | undefined => {
  if (provedCommit === undefined) return undefined;
  return provedCommit === (result.evidence.commits.at(-1)?.commit ?? null) ? 'attested' : 'others';
};

function checksOf(run: AttestedRun, facts: Omit<RunPredicate, 'test_result'>) {
  const { evidence, audit } = run.result;
  return {
    pipeline: facts.inputs.pipeline,
    status: attestedStatus(run),
    commands: facts.commands,
    judged: scenarioTestsOf(run),
    doubts: hasDoubts({ audit, evidence, proof: proofOf(run) }),
  };
}
