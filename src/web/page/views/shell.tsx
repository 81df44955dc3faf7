/** The frame around every view: the head, the bar for connection, the help. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { countedItems } from '../../../core/amounts.ts';
import { slowNow } from '../clock.ts';
import { helpOpen, keyHelp } from '../keys.ts';
import { connection } from '../live.ts';
import { address } from '../place.ts';
import { theme } from '../settings.ts';
import { jobsForPeople, readJobsForPeople, server } from '../store.ts';
import { clockTime, pathEnd } from '../text/format.ts';
import { Dialog } from './parts.tsx';

export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Head />
      <ConnectionBar />
      <main id="main" tabIndex={-1} class={`view-${address.value.view}`}>
        {children}
      </main>
      {helpOpen.value && <Help />}
    </>
  );
}

function Head() {
  const info = server.value;
  return (
    <header class="head">
      <a href="/" class="logo">
        factory
      </a>
      <span class="where path" title={info?.runs_dir}>
        {info === null ? '' : pathEnd(info.runs_dir, 3)}
      </span>
      {info?.read_only === true && <span class="badge">read-only</span>}
      <span class="grow" />
      <QueueLink />
      {info !== null && !info.read_only && (
        <a class="button primary" href="/new">
          New run
        </a>
      )}
      <ThemeSwitch />
      <button
        type="button"
        class="plain"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={() => {
          helpOpen.value = true;
        }}
      >
        ?
      </button>
    </header>
  );
}

/** The way to the queue, with the number of jobs that need a person. */
function QueueLink() {
  const isThere = address.value.view === 'queue';
  const time = slowNow.value;
  useEffect(() => {
    if (!isThere) void readJobsForPeople();
  }, [isThere, time]);
  const count = jobsForPeople.value ?? 0;
  return (
    <a href="/queue" class="button plain" aria-current={isThere ? 'page' : undefined}>
      Queue
      {count > 0 && (
        <span
          class="badge number tone-warn"
          title={`${countedItems(count, 'job needs', 'jobs need')} a person`}
        >
          {count}
          <span class="hidden"> {count === 1 ? 'job needs' : 'jobs need'} a person</span>
        </span>
      )}
    </a>
  );
}

const themes = { system: 'light', light: 'dark', dark: 'system' } as const;

function ThemeSwitch() {
  return (
    <button
      type="button"
      class="plain"
      title={`Colours: ${theme.value}. Switch to ${themes[theme.value]}`}
      aria-label={`Colours: ${theme.value}. Switch to ${themes[theme.value]}`}
      onClick={() => {
        theme.value = themes[theme.value];
      }}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        {theme.value === 'dark' ? (
          <path d="M6 2a6 6 0 1 0 8 8A6 6 0 0 1 6 2z" fill="currentColor" />
        ) : theme.value === 'light' ? (
          <circle cx="8" cy="8" r="4.5" fill="none" stroke="currentColor" stroke-width="1.5" />
        ) : (
          <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 1.5v9a4.5 4.5 0 0 1 0-9z" fill="currentColor" />
        )}
      </svg>
    </button>
  );
}

function ConnectionBar() {
  const what = connection.value;
  return (
    <div role="status" class={what === null ? 'bar empty' : 'bar'}>
      {what?.kind === 'lost' &&
        `No connection to the server since ${clockTime(new Date(what.since).toISOString())}. Runs continue without it; the page tries again by itself.`}
      {what?.kind === 'token' &&
        'This browser has no access, or its access has expired. Open the address that factory serve has printed.'}
    </div>
  );
}

function Help() {
  return (
    <Dialog
      title="Keyboard shortcuts"
      closed={() => {
        helpOpen.value = false;
      }}
    >
      <dl class="keys">
        {keyHelp.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
