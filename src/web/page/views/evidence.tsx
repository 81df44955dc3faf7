/** What was checked, with which result, and what was not. */
import type { ComponentChildren } from 'preact';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { countedItems } from '../../../core/amounts.ts';
import { acceptanceWords } from '../../../core/records/acceptance.ts';
import type { Strength } from '../../../core/records/strength.ts';
import { isTooWeak, strengthWords } from '../../../core/strength.ts';
import { executionPath } from '../selection.ts';
import { pathOf } from '../text/address.ts';
import { State } from './icon.tsx';
import { Command } from './parts.tsx';

const changesPath = (run: string, of: string): string => pathOf({ view: 'run', run, tab: 'changes', of });

type Result = NonNullable<RunView['result']>;

export function EvidencePanel({ run }: { run: RunView }) {
  const { result } = run;
  if (result === null)
    return <p class="loading">The evidence is written when the run ends. Executions show theirs already.</p>;
  return (
    <div class="evidence">
      <Commands run={run} result={result} />
      <Commits run={run} result={result} />
      <Verdicts run={run} result={result} />
      <NotChecked run={run} result={result} />
      {result.verify !== undefined && (
        <Part title="Check it yourself">
          <Command text={result.verify} />
        </Part>
      )}
      <Inputs result={result} />
    </div>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Hash({ of, name }: { of: string | null; name: string }) {
  return of === null ? null : (
    <code class="quiet" title={`SHA-256 of ${name}: ${of}`}>
      {of.slice(0, 10)}
    </code>
  );
}

function Commands({ run, result }: { run: RunView; result: Result }) {
  const commands = result.evidence?.commands ?? [];
  if (commands.length === 0) return null;
  return (
    <Part title="Commands">
      <div class="scroll">
        <table class="table">
          <thead>
            <tr>
              <th>Outcome</th>
              <th>Node</th>
              <th>Command</th>
              <th class="right">Exit code</th>
              <th>Output</th>
            </tr>
          </thead>
          <tbody>
            {commands.map((one) => (
              <tr key={`${one.node}@${one.visit} ${one.command}`}>
                <td>
                  <State state={one.outcome} worded />
                </td>
                <td>
                  <a href={executionPath(run.run_id, one.node, one.visit)}>
                    {one.node}@{one.visit}
                  </a>{' '}
                  <span class="quiet">{one.what}</span>
                </td>
                <td class="wide">
                  <code>{one.command}</code>
                </td>
                <td class="number right">{one.exit_code ?? 'none'}</td>
                <td>
                  <Hash of={one.stdout_sha256} name="standard output" />{' '}
                  <Hash of={one.stderr_sha256} name="standard error" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {(result.evidence?.more_commands ?? 0) > 0 && (
        <p class="quiet">
          and {countedItems(result.evidence?.more_commands ?? 0, 'more command', 'more commands')}
        </p>
      )}
    </Part>
  );
}

function Commits({ run, result }: { run: RunView; result: Result }) {
  if (result.commits.length === 0) return null;
  return (
    <Part title="Commits">
      <table class="table">
        <tbody>
          {result.commits.map((one) => (
            <tr key={one.work_order}>
              <td>{one.work_order}</td>
              <td>
                {one.commit === null ? (
                  <span class="quiet">nothing changed</span>
                ) : (
                  <a href={changesPath(run.run_id, one.work_order)} title={`Diff of commit ${one.commit}`}>
                    <code>{one.commit.slice(0, 10)}</code>
                  </a>
                )}
              </td>
              <td class="wide">{one.subject}</td>
              <td class="quiet">{countedItems(one.attempts, 'attempt')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Part>
  );
}

function Verdicts({ run, result }: { run: RunView; result: Result }) {
  const { proof, evidence, audit } = result;
  const judged = evidence?.judged;
  const scenarios = evidence?.inputs.scenarios;
  const { accepted_weakness: accepted } = run;
  if (proof === null && judged === undefined && audit === undefined) return null;
  return (
    <Part title="Acceptance">
      <dl class="facts">
        {proof !== null && (
          <Fact
            name="Proof"
            state={result.status === 'completed' || result.status === 'overridden' ? 'success' : 'fail'}
          >
            {proof.length === 0 ? 'no commands' : 'on a clean checkout of the last commit: '}
            {proof.map((command) => (
              <code key={command}>{command}; </code>
            ))}
          </Fact>
        )}
        {judged !== undefined && (
          <Fact
            name="Scenarios"
            state={judged.passed === judged.total && judged.floor !== 'failed' ? 'success' : 'fail'}
          >
            {judged.passed} of {judged.total} passed
            {judged.floor !== undefined && `, floor ${judged.floor.replace('_', ' ')}`}
            {judged.passed_before !== undefined && `, ${judged.passed_before} before the work`}
            {judged.isolation !== undefined && `, isolation ${judged.isolation}`}
            {scenarios && `, sealed: ${countedItems(scenarios.files, 'file')}`}
          </Fact>
        )}
        {judged !== undefined && (
          <Fact name="Strength" state={strengthState(judged.strength)}>
            {strengthWords(judged.strength).replace(/^strength /, '')}
          </Fact>
        )}
        {accepted !== null && (
          <Fact name="Accepted" state="partial_success">
            {acceptanceWords(accepted)}
          </Fact>
        )}
        {audit !== undefined && (
          <Fact
            name="Audit"
            state={audit.errors > 0 ? 'fail' : audit.findings > 0 ? 'partial_success' : 'success'}
          >
            {audit.findings === 0
              ? 'nothing found'
              : `${countedItems(audit.errors, 'error')}, ${countedItems(audit.warnings, 'warning')}`}
          </Fact>
        )}
      </dl>
    </Part>
  );
}

type FactState = 'success' | 'fail' | 'partial_success';

/** Only a required strength is a verdict. */
const strengthState = (strength: Strength | undefined): FactState | undefined =>
  strength?.required == null ? undefined : isTooWeak(strength) ? 'fail' : 'success';

function Fact({
  name,
  state,
  children,
}: {
  name: string;
  state?: FactState | undefined;
  children: ComponentChildren;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {state !== undefined && <State state={state} />} {children}
      </dd>
    </div>
  );
}

function NotChecked({ run, result }: { run: RunView; result: Result }) {
  const { evidence, proof, audit } = result;
  const missing = [
    ...(proof === null ? ['no proof: the commits were not checked in a fresh checkout'] : []),
    ...(evidence?.unjudged !== undefined
      ? [evidence.unjudged]
      : evidence?.judged === undefined
        ? ['no holdout scenario judged the product']
        : []),
    ...(evidence?.judged?.floor === 'off' || evidence?.judged?.floor === 'not_checked'
      ? ['whether the scenarios reject a product that does nothing']
      : []),
    ...(evidence?.judged !== undefined && evidence.judged.strength === undefined
      ? ['how many defects of the product the scenarios notice (strength)']
      : []),
    ...(evidence?.judged?.strength?.left_out ?? []).map((what) => `strength: ${what}`),
    ...(audit === undefined ? ['no audit for leaks and weakened tests'] : []),
    ...(evidence?.unchecked_orders ?? []).map((order) => `${order}: its only acceptance command is true`),
    ...(evidence?.unchanged_orders ?? []).map((order) => `${order}: it changed no file`),
    ...(evidence?.outdated ?? []).map(
      ({ work_order, command }) => `${work_order}: this acceptance command no longer succeeds: ${command}`,
    ),
    ...run.not_enforced.map((what) => `not enforced by the sandbox: ${what}`),
    ...(result.denied ?? []).map(({ node, calls }) => `${node}: denied ${calls.join(', ')}`),
  ];
  if (missing.length === 0) return null;
  return (
    <Part title="Not checked">
      <ul class="bullets">
        {missing.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Part>
  );
}

function Inputs({ result }: { result: Result }) {
  const { evidence } = result;
  if (evidence === undefined) return null;
  const { inputs } = evidence;
  const rows = [
    ['pipeline', inputs.pipeline],
    ...Object.entries(inputs.pipelines ?? {}).map(([name, hash]) => [name, hash]),
    ...Object.entries(inputs.variables).map(([name, hash]) => [`variable ${name}`, hash]),
    ...Object.entries(inputs.prompts).map(([name, hash]) => [name, hash]),
    ...Object.entries(inputs.schemas).map(([name, hash]) => [name, hash]),
    ...(inputs.scenarios === null ? [] : [['scenarios', inputs.scenarios.sha256]]),
    ['all executions', evidence.chain],
  ] as const;
  return (
    <details>
      <summary>Hashes of the inputs</summary>
      <dl class="facts">
        {rows.map(([name = '', hash = '']) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{hash}</code>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
