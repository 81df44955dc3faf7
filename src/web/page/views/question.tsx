/** What a run asks a person: the question, its options as buttons with keys, a field for a text, and who answers. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ExecutionRow, ExecutionView } from '../../../app/inspect/execution-shapes.ts';
import type { OpenQuestion } from '../../../app/inspect/question-shapes.ts';
import type { RunRow } from '../../../app/inspect/run-row.ts';
import { dueWords, giverWords } from '../../../core/question-words.ts';
import { api, requestMessage } from '../api.ts';
import { addKeys, type KeyActions } from '../keys.ts';
import { userName } from '../settings.ts';
import { server } from '../store.ts';
import { Ago, Command } from './parts.tsx';

type Given = { readonly choice?: string; readonly text?: string };

/** A form for each question that is open. */
export function QuestionPanel({ run }: { run: RunRow }) {
  const { questions } = run;
  if (questions.length === 0) return null;
  const keyed = run.question?.id;
  return (
    <div class="questions">
      {questions.map((question) => (
        <AskedQuestion key={question.id} run={run} question={question} hasKeys={question.id === keyed} />
      ))}
    </div>
  );
}

type Asked = {
  readonly run: RunRow;
  readonly question: OpenQuestion;
  /** The keys of the keyboard select its options: of several questions those of the first. */
  readonly hasKeys: boolean;
};

function AskedQuestion({ run, question, hasKeys }: Asked) {
  return (
    <section class="question" aria-label={`Question ${question.id}`}>
      <h2 class="quiet">{question.answer === null ? `${question.id} asks` : `${question.id} asked`}</h2>
      <After question={question} />
      <p class="question-text">{question.text}</p>
      {question.answer === null ? (
        <AnswerForm run={run} question={question} hasKeys={hasKeys} />
      ) : (
        <p>
          Answered {giverWords(question.answer)}: <strong>{question.answer.words}</strong>. The run takes the
          answer when it is resumed.
        </p>
      )}
    </section>
  );
}

/** The result that the question is about. */
function After({ question: { after } }: { question: OpenQuestion }) {
  if (after === null) return null;
  const { node, outcome, notes, output = '' } = after;
  return (
    <>
      <p class="quiet">
        After {node}: {outcome.replaceAll('_', ' ')}
        {notes !== '' && `, ${notes}`}
      </p>
      {output.trim() !== '' && (
        <section class="question-output" tabIndex={0} aria-label={`End of the output of ${node}`}>
          <pre>{output.trimEnd()}</pre>
        </section>
      )}
    </>
  );
}

function AnswerForm({ run, question, hasKeys }: Asked) {
  const busy = useSignal(false);
  const problem = useSignal('');
  const done = useSignal('');
  const element = useRef<HTMLFormElement>(null);
  // Null until the server has answered.
  const isReadOnly = server.value?.read_only ?? null;
  useEffect(() => (hasKeys ? addKeys(keysOf(question, element)) : undefined), [question.id, hasKeys]);
  const send = async (given: Given) => {
    busy.value = true;
    problem.value = '';
    try {
      const by = userName.value.trim();
      const { why } = await api.answer(run.run_id, {
        ...{ question: question.id, ...given },
        ...(by === '' ? {} : { by }),
      });
      done.value = why === '' ? 'Answered.' : `Answered, but the run was not resumed: ${why}`;
    } catch (error) {
      problem.value = requestMessage(error);
    }
    busy.value = false;
  };
  const { options, text_to } = question;
  const blocked = isReadOnly !== false || busy.value || done.value !== '';
  const due = dueWords(question, question.default);
  return (
    <form
      ref={element}
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <ul class="answers">
        {options.map(({ key, label, to }) => (
          <li key={key}>
            <button
              type="button"
              data-key={key}
              disabled={blocked}
              aria-keyshortcuts={hasKeys ? key : undefined}
              onClick={() => void send({ choice: key })}
            >
              <kbd>{key}</kbd> {label}
            </button>{' '}
            <span class="quiet">
              continues with {to}
              {label === question.default && ', the default'}
            </span>
          </li>
        ))}
      </ul>
      {text_to !== null && <TextAnswer to={text_to} choices={options.length} blocked={blocked} send={send} />}
      {isReadOnly === true ? (
        <Command text={run.next} label="Copy the command that answers" />
      ) : (
        <GiverName />
      )}
      {due !== '' && <p class="quiet due">{due}</p>}
      <p role="alert" class="tone-bad">
        {problem.value}
      </p>
      <p role="status">{done.value}</p>
    </form>
  );
}

function TextAnswer({
  to,
  choices,
  blocked,
  send,
}: {
  to: string;
  choices: number;
  blocked: boolean;
  send: (given: Given) => Promise<void>;
}) {
  const text = useSignal('');
  return (
    <div class="text-answer">
      <label class="field">
        <span>{choices === 0 ? 'Answer' : 'Or answer with a text'}</span>
        <textarea
          rows={3}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || blocked) return;
            event.preventDefault();
            void send({ text: text.value });
          }}
        />
      </label>
      <p class="buttons">
        <button
          type="button"
          disabled={blocked || (choices > 0 && text.value.trim() === '')}
          onClick={() => void send({ text: text.value })}
        >
          Send
        </button>
        <span class="quiet">continues with {to}</span>
      </p>
    </div>
  );
}

/** Kept in this browser for the next answer. */
export function GiverName() {
  return (
    <label class="field name">
      <span>Your name</span>
      <input
        type="text"
        autocomplete="name"
        maxLength={100}
        value={userName.value}
        onInput={(event) => {
          userName.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

/** The key of an option selects its button: Enter answers, so that a key that was meant for something else does not. */
function keysOf({ options }: OpenQuestion, form: { readonly current: HTMLFormElement | null }): KeyActions {
  const select = (key: string) => () => {
    const button = form.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
    if (!button) return false;
    button.focus();
    return true;
  };
  return Object.fromEntries(
    options.flatMap(({ key }) => [key.toLowerCase(), key.toUpperCase()].map((one) => [one, select(key)])),
  );
}

/** What a human gate asked, and who answered, when and from where. */
export function AnsweredQuestion({ row, view }: { row: ExecutionRow; view: ExecutionView | null }) {
  const { human_answer: answer } = row;
  const question = view?.question ?? null;
  if (answer === null && question === null) return null;
  return (
    <div class="answered">
      {question !== null && <p class="question-text">{question.text}</p>}
      {answer !== null && (
        <p>
          Answered {giverWords(answer)}: <strong>{answer.words || 'no answer'}</strong>{' '}
          <Ago time={answer.at} />
        </p>
      )}
    </div>
  );
}
