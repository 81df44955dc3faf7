/** The texts of an execution: prompt and answer, changes of the context, files. */
import type { ComponentChildren } from 'preact';
import type { ExecutionView, RunView } from '../../../app/inspect/shapes.ts';
import { sizeWords } from '../../../core/amounts.ts';
import { filePath } from '../api.ts';
import { liveTextsOf } from '../store.ts';
import { TextView } from './output.tsx';

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
        <TextPart title="Answer">
          {answer === undefined ? (
            <p class="quiet note">{view.state === 'running' ? 'Nothing so far.' : 'No answer.'}</p>
          ) : (
            <TextView
              name="answer"
              text={answer}
              live={view.answer === null}
              plain
              {...(view.answer === null ? {} : { shown: view.answer, of: { run, view } })}
            />
          )}
        </TextPart>
      </div>
    </div>
  );
}

function TextPart({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="text-part">
      <h3>{title}</h3>
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
