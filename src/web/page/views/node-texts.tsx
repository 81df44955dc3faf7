/** The texts of an execution: prompt and answer, changes of the context, files. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ExecutionView } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { sizeWords } from '../../../core/amounts.ts';
import { filePath } from '../api.ts';
import { changesOfPath } from '../selection.ts';
import { liveTextsOf } from '../store.ts';
import { type AnswerParts, answerParts } from '../text/answer-parts.ts';
import { laterView } from './later-view.tsx';
import { TextView } from './output.tsx';

const StructuredAnswer = laterView(() => import('./answer.tsx').then((part) => part.StructuredAnswer));

/** The prompt with the answer next to it, or the answer alone. */
export function Conversation({ run, view, both }: { run: RunView; view: ExecutionView; both: boolean }) {
  const live = liveTextsOf(view);
  const answer = view.answer?.text ?? live?.['answer'];
  const reasoning = view.answer === null ? live?.['reasoning'] : undefined;
  if (view.prompt === null && answer === undefined && reasoning === undefined)
    return <p class="loading">{view.withheld ? '' : 'No model was asked.'}</p>;
  return (
    <div class={both ? 'conversation' : ''}>
      {both && view.prompt !== null && (
        <TextPart title="Prompt">
          <TextView
            name={view.prompt.name}
            text={view.prompt.text}
            shown={view.prompt}
            of={{ run, view }}
            plain
          />
        </TextPart>
      )}
      <div>
        {reasoning !== undefined && (
          <TextPart title="Reasoning">
            <TextView name="reasoning" text={reasoning} live plain />
          </TextPart>
        )}
        <Answer run={run} view={view} text={answer} />
      </div>
    </div>
  );
}

/** Whether structured answers are shown as the texts that they came as. */
const rawAnswers = signal(false);

function Answer({ run, view, text }: { run: RunView; view: ExecutionView; text: string | undefined }) {
  const whole = view.answer?.from === 0 ? view.answer.text : undefined;
  const parts = useMemo(() => (whole === undefined ? undefined : answerParts(whole)), [whole]);
  if (text === undefined)
    return (
      <TextPart title="Answer">
        <p class="quiet note">{view.state === 'running' ? 'Nothing so far.' : 'No answer.'}</p>
      </TextPart>
    );
  return (
    <TextPart title="Answer" tools={parts && <AnswerTools run={run} view={view} parts={parts} />}>
      {parts !== undefined && !rawAnswers.value ? (
        <StructuredAnswer parts={parts} />
      ) : (
        <TextView
          name="answer"
          text={text}
          live={view.answer === null}
          plain
          {...(view.answer === null ? {} : { shown: view.answer, of: { run, view } })}
        />
      )}
    </TextPart>
  );
}

/** The diff that a proposal became, and the switch to the text that came. */
function AnswerTools({ run, view, parts }: { run: RunView; view: ExecutionView; parts: AnswerParts }) {
  const at = run.executions.findIndex((one) => one.node === view.node && one.visit === view.visit);
  const next = run.executions.slice(at + 1).find(({ node }) => node === view.next);
  return (
    <>
      {parts.kind === 'proposal' && next !== undefined && (
        <a href={changesOfPath(run.run_id, next)}>changes of {`${next.node}@${next.visit}`}</a>
      )}
      <button
        type="button"
        class="small"
        aria-pressed={rawAnswers.value}
        onClick={() => {
          rawAnswers.value = !rawAnswers.value;
        }}
      >
        Raw
      </button>
    </>
  );
}

function TextPart({
  title,
  tools,
  children,
}: {
  title: string;
  tools?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="text-part">
      <h3>
        {title} {tools !== undefined && <span class="part-tools">{tools}</span>}
      </h3>
      {children}
    </section>
  );
}

export function ContextChanges({ view }: { view: ExecutionView }) {
  const set = Object.entries(view.context.set);
  if (set.length === 0 && view.context.unset.length === 0)
    return <p class="loading">This execution changed nothing in the context.</p>;
  return (
    <dl class="facts context">
      {set.map(([key, value]) => (
        <div key={key}>
          <dt>
            <code>{key}</code>
          </dt>
          <dd>
            <pre>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
          </dd>
        </div>
      ))}
      {view.context.unset.map((key) => (
        <div key={key}>
          <dt>
            <code>{key}</code>
          </dt>
          <dd class="quiet">removed</dd>
        </div>
      ))}
    </dl>
  );
}

export function Files({ run, view }: { run: RunView; view: ExecutionView }) {
  if (view.files.length === 0) return <p class="loading">No files.</p>;
  const path = (name: string, whole: boolean) => filePath(run.run_id, view.node, view.visit, name, whole);
  return (
    <ul class="files">
      {view.files.map(({ name, bytes }) => (
        <li key={name}>
          <a class="path" href={path(name, false)} target="_blank" rel="noreferrer">
            {name}
          </a>
          <span class="quiet number">{sizeWords(bytes)}</span>
          <a href={path(name, true)} download aria-label={`Download ${name}`}>
            download
          </a>
        </li>
      ))}
    </ul>
  );
}
