/** Next to the form of a new run: the command that does the same, what earlier runs needed, and what is wrong, while one types. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Estimate } from '../../../app/estimate.ts';
import { estimateBasis, estimateWords } from '../../../app/estimate-words.ts';
import { countedItems } from '../../../core/amounts.ts';
import type { CheckReport, StartBody } from '../../start-contract.ts';
import { api, requestMessage } from '../api.ts';
import { Command } from './parts.tsx';

/** Milliseconds without a key after which the form is checked. */
const restMs = 300;

export type StartCheck = {
  /** Null before the first answer, and where the request itself is refused. */
  readonly report: CheckReport | null;
  readonly problem: string;
  /** The request that it is about, as JSON. */
  readonly of: string;
};

/** The last check; `of` differs from the request while a new one is on its way. */
export function useCheck(body: Partial<StartBody>): StartCheck {
  const checked = useSignal<StartCheck>({ report: null, problem: '', of: '' });
  const asked = JSON.stringify(body);
  useEffect(() => {
    let isLate = false;
    const note = (report: CheckReport | null, problem: string) => {
      if (!isLate) checked.value = { report, problem, of: asked };
    };
    const waiting = setTimeout(
      () => {
        api.check(body).then(
          (report) => note(report, ''),
          (error: unknown) => note(null, requestMessage(error)),
        );
      },
      checked.value.of === '' ? 0 : restMs,
    );
    return () => {
      isLate = true;
      clearTimeout(waiting);
    };
  }, [asked]);
  return checked.value;
}

export const isRefused = ({ report, problem }: StartCheck): boolean =>
  problem !== '' || report?.findings.some(({ severity }) => severity === 'error') === true;

export function StartAside({ checked, estimate }: { checked: StartCheck; estimate: Estimate | null }) {
  const { report, problem } = checked;
  return (
    <aside class="start-aside" aria-label="Command, earlier runs and findings">
      <section>
        <h2>Command</h2>
        <p class="quiet">This command does the same:</p>
        {report !== null && <Command text={report.command} />}
      </section>
      {estimate !== null && <EarlierRuns estimate={estimate} />}
      <section>
        <h2>Findings</h2>
        <div role="status" class="findings">
          {report === null && problem === '' && <p class="quiet">Checking…</p>}
          {problem !== '' && <p class="tone-bad">{problem}</p>}
          {report !== null && <Findings report={report} />}
        </div>
      </section>
    </aside>
  );
}

function EarlierRuns({ estimate }: { estimate: Estimate }) {
  return (
    <section>
      <h2>Earlier runs</h2>
      <p class="quiet">{estimateBasis(estimate)}</p>
      {estimate.runs > 0 && (
        <dl class="facts">
          {Object.entries(estimateWords(estimate)).map(([name, words]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="number">{words}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

const tones = { error: 'tone-bad', warning: 'tone-warn', hint: 'quiet' } as const;

function Findings({ report: { missing, findings } }: { report: CheckReport }) {
  if (missing.length + findings.length === 0) return <p>No findings.</p>;
  return (
    <>
      {missing.length > 0 && <p>Still missing: {missing.join(', ')}</p>}
      {findings.length > 0 && <p class="hidden">{countedItems(findings.length, 'finding')}</p>}
      <ul>
        {findings.map(({ code, severity, message, fix, place }, at) => (
          <li key={`${code} ${at}`}>
            <span class={tones[severity]}>{severity}</span> {message}
            {place !== null && (
              <code class="quiet">
                {place.file}:{place.line}:{place.column}
              </code>
            )}
            {fix !== '' && <p class="quiet">Fix: {fix}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}
