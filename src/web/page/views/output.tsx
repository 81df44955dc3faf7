/** Output of programs and texts of models: lines with numbers and colours, cut where they are long, to search. */
import { useSignal, useSignalEffect } from '@preact/signals';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { ExecutionView, ShownText } from '../../../app/inspect/execution-shapes.ts';
import type { RunView } from '../../../app/inspect/shapes.ts';
import { countedItems, sizeWords } from '../../../core/amounts.ts';
import { filePart, filePath, requestMessage } from '../api.ts';
import { fragment } from '../place.ts';
import { follow } from '../settings.ts';
import { liveTextsOf } from '../store.ts';
import { lineOf } from '../text/address.ts';
import { ansiReader } from '../text/ansi.ts';
import { linesWith, outputLines, shownPart } from '../text/output-lines.ts';
import { Excerpt } from './card.tsx';

/** Lines that are drawn at once, and in one block that the browser skips while it is out of view. */
const most = 2_000;
const block = 100;
/** A text of more bytes is shown in part only: the raw file has the rest. */
const mostBytes = 8_000_000;

/** What the programs of an execution printed, or print. */
export function Output({ run, view }: { run: RunView; view: ExecutionView }) {
  const live = liveTextsOf(view);
  if (view.state === 'running' && live !== undefined) {
    const channels = ['stdout', 'stderr'].filter((name) => live[name] !== undefined);
    if (channels.length > 0)
      return (
        <>
          {channels.map((name, at) => (
            <TextView
              key={name}
              name={name}
              text={live[name] ?? ''}
              live
              mark={at === 0 ? '' : String(at + 1)}
            />
          ))}
        </>
      );
  }
  const texts = view.output.filter(({ bytes }) => bytes > 0);
  return (
    <>
      <Commands view={view} />
      {view.failed !== null && <Failed failed={view.failed} />}
      {texts.map((text, at) => (
        <TextView
          key={text.name}
          name={text.name}
          text={text.text}
          shown={text}
          of={{ run, view }}
          mark={at === 0 ? '' : String(at + 1)}
        />
      ))}
      {texts.length === 0 && !view.withheld && (
        <p class="loading">{view.state === 'running' ? 'Nothing printed so far.' : 'Nothing was printed.'}</p>
      )}
    </>
  );
}

/** The lines that say what failed, as on the card of the run. */
function Failed({ failed: { excerpt, place } }: { failed: NonNullable<ExecutionView['failed']> }) {
  return (
    <section class="excerpt">
      <h3>What failed</h3>
      {place !== null && (
        <p>
          <code>
            {place.file}:{place.line}
          </code>
        </p>
      )}
      {excerpt !== null && <Excerpt excerpt={excerpt} />}
    </section>
  );
}

/** The commands that the execution ran, each with its exit code. */
function Commands({ view }: { view: ExecutionView }) {
  if (view.commands.length === 0) return null;
  return (
    <ul class="commands">
      {view.commands.map(({ command, exit_code }, at) => (
        <li key={at}>
          <code>{command}</code>
          <span class={exit_code === 0 ? 'quiet' : 'tone-bad'}>
            {exit_code === null ? 'no exit code' : `exit ${exit_code}`}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface TextProps {
  readonly name: string;
  readonly text: string;
  /** It grows. */
  readonly live?: boolean;
  /** Prose: wrapped, without colours. */
  readonly plain?: boolean;
  /** Where the text is from, so that the rest can be read. */
  readonly shown?: ShownText;
  readonly of?: { readonly run: RunView; readonly view: ExecutionView };
  /** Precedes the `L` of line addresses where a page has several texts. */
  readonly mark?: string;
}

export function TextView(props: TextProps) {
  const { name, shown, of, mark = '' } = props;
  const whole = useSignal<string | null>(null);
  const problem = useSignal('');
  const search = useSignal('');
  const at = useSignal(0);
  const earlier = useSignal(0);
  const cut = shown !== undefined && shown.from > 0 && whole.value === null;
  const text = whole.value ?? props.text;
  // A text that begins in the middle of a file begins in the middle of a line.
  const lines = useMemo(() => (cut ? outputLines(text).slice(1) : outputLines(text)), [text, cut]);
  const count = countOfLines(lines.length, cut ? 'last' : firstOnly(whole.value, shown));
  const found = useMemo(() => linesWith(lines, search.value), [lines, search.value]);
  const targetLine = cut ? undefined : lineOf(fragment.value, mark);
  const focused = found[Math.min(at.value, found.length - 1)];
  const part = shownPart(
    lines,
    most + earlier.value,
    focused === undefined ? targetLine : focused + 1,
    block,
  );
  const read = async () => {
    if (shown === undefined || of === undefined) return;
    try {
      whole.value = await filePart(
        of.run.run_id,
        of.view.node,
        of.view.visit,
        shown.name,
        Math.min(shown.bytes, mostBytes),
      );
    } catch (error) {
      problem.value = requestMessage(error);
    }
  };
  useEffect(() => {
    if (cut && lineOf(fragment.value, mark) !== undefined) void read();
  }, []);
  return (
    <section class={props.plain ? 'text-view plain-text' : 'text-view'} aria-label={name}>
      <TextHead props={props} count={count} search={search} found={found.length} at={at} />
      {cut && (
        <p class="note">
          The end of {sizeWords(shown.bytes)} is shown.{' '}
          {of !== undefined && (
            <button type="button" class="small" onClick={read}>
              {shown.bytes > mostBytes ? `Show the first ${sizeWords(mostBytes)}` : 'Show all'}
            </button>
          )}{' '}
          {problem.value}
        </p>
      )}
      {part.first > 0 && (
        <p class="note">
          <button
            type="button"
            class="small"
            onClick={() => {
              earlier.value += most;
            }}
          >
            {countedItems(part.first, 'line')} above: show {Math.min(part.first, most)}
          </button>
        </p>
      )}
      <Lines
        part={part}
        numbered={!cut}
        mark={mark}
        shownLine={targetLine}
        found={new Set(found)}
        focused={focused}
        live={props.live === true}
      />
    </section>
  );
}

/** Whether a text that was asked for whole is only the beginning of its file. */
const firstOnly = (whole: string | null, shown: ShownText | undefined): 'first' | 'all' =>
  whole !== null && shown !== undefined && shown.bytes > mostBytes ? 'first' : 'all';

/** How many lines are here, and which of the file. */
const countOfLines = (count: number, which: 'first' | 'last' | 'all'): string =>
  which === 'all' ? countedItems(count, 'line') : `${which} ${countedItems(count, 'line')}`;

interface HeadProps {
  readonly props: TextProps;
  readonly count: string;
  readonly search: { value: string };
  readonly found: number;
  readonly at: { value: number };
}

function TextHead({ props: { name, shown, of }, count, search, found, at }: HeadProps) {
  const step = (by: number) => {
    if (found > 0) at.value = (Math.min(at.value, found - 1) + by + found) % found;
  };
  return (
    <p class="tools text-head">
      <span class="path">{name}</span>
      <span class="quiet number">
        {count}
        {shown !== undefined && `, ${sizeWords(shown.bytes)}`}
      </span>
      {shown !== undefined && of !== undefined && (
        <a
          href={filePath(of.run.run_id, of.view.node, of.view.visit, shown.name, false)}
          target="_blank"
          rel="noreferrer"
        >
          raw
        </a>
      )}
      <span class="grow" />
      <span class="quiet number" role="status">
        {search.value === ''
          ? ''
          : found === 0
            ? 'not found'
            : `${Math.min(at.value, found - 1) + 1} of ${found}`}
      </span>
      <input
        type="search"
        placeholder="Search"
        aria-label={`Search in ${name}`}
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          step(event.shiftKey ? -1 : 1);
        }}
      />
    </p>
  );
}

interface LinesProps {
  readonly part: { readonly first: number; readonly lines: readonly string[] };
  readonly numbered: boolean;
  readonly mark: string;
  readonly shownLine: number | undefined;
  readonly found: ReadonlySet<number>;
  readonly focused: number | undefined;
  readonly live: boolean;
}

function Lines({ part, numbered, mark, shownLine, found, focused, live }: LinesProps) {
  const element = useRef<HTMLDivElement>(null);
  const target = focused === undefined ? shownLine : focused + 1;
  useLayoutEffect(() => {
    if (target !== undefined)
      element.current?.querySelector(`[data-line="${target}"]`)?.scrollIntoView({ block: 'center' });
  }, [target]);
  useSignalEffect(() => {
    if (follow.value && live) element.current?.lastElementChild?.scrollIntoView({ block: 'end' });
  });
  useLayoutEffect(() => {
    if (follow.value && live) element.current?.lastElementChild?.scrollIntoView({ block: 'end' });
  }, [part.lines.length, part.first]);
  const blocks: { first: number; lines: readonly string[] }[] = [];
  // Blocks begin at multiples of their size, so that a growing text draws its last one only.
  for (let from = part.first; from < part.first + part.lines.length; ) {
    const to = Math.min(part.first + part.lines.length, (Math.floor(from / block) + 1) * block);
    blocks.push({ first: from, lines: part.lines.slice(from - part.first, to - part.first) });
    from = to;
  }
  return (
    <div ref={element} class={numbered ? 'lines' : 'lines unnumbered'}>
      {blocks.map(({ first, lines }) => (
        <Block
          key={Math.floor(first / block)}
          first={first}
          text={lines.join('\n')}
          numbered={numbered}
          mark={mark}
          shownLine={
            shownLine !== undefined && shownLine > first && shownLine <= first + lines.length ? shownLine : 0
          }
          found={lines.flatMap((_, at) => (found.has(first + at) ? [first + at] : [])).join()}
        />
      ))}
    </div>
  );
}

interface BlockProps {
  readonly first: number;
  readonly text: string;
  readonly numbered: boolean;
  readonly mark: string;
  readonly shownLine: number;
  /** Indices of lines with a match, joined with commas. */
  readonly found: string;
}

const Block = memo(({ first, text, numbered, mark, shownLine, found }: BlockProps) => {
  const read = ansiReader();
  const matches = new Set(found === '' ? [] : found.split(',').map(Number));
  return (
    <div class="block">
      {text.split('\n').map((line, at) => {
        const number = first + at + 1;
        const classes = [
          'line',
          ...(number === shownLine ? ['wanted'] : []),
          ...(matches.has(first + at) ? ['match'] : []),
        ];
        return (
          <div key={number} class={classes.join(' ')} data-line={number}>
            {numbered && (
              <a class="line-number" href={`#${mark}L${number}`} tabIndex={-1}>
                {number}
              </a>
            )}
            <span class="text">
              {read(line).map((piece, index) => (
                <span
                  key={index}
                  class={piece.classes}
                  style={{ color: piece.color ?? '', backgroundColor: piece.background ?? '' }}
                >
                  {piece.text}
                </span>
              ))}
            </span>
          </div>
        );
      })}
    </div>
  );
});
