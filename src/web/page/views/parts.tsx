/** Small parts of several views. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { now, slowNow } from '../clock.ts';
import { agoText, durationText, exactTime } from '../text/format.ts';

/** A time relative to now, exact on hover. */
export function Ago({ time }: { time: string | null }) {
  if (time === null || time === '') return null;
  return (
    <time dateTime={time} title={exactTime(time)}>
      {agoText(time, slowNow.value)}
    </time>
  );
}

/** A duration that grows while something runs. `received` is when `ms` was true. */
export function Elapsed({ ms, received, runs }: { ms: number; received: number; runs: boolean }) {
  return <span class="number">{durationText(runs ? ms + Math.max(0, now.value - received) : ms)}</span>;
}

/** A command with a button that copies it. */
export function Command({ text, label = 'Copy the command' }: { text: string; label?: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => {
        copied.value = true;
        setTimeout(() => {
          copied.value = false;
        }, 2000);
      },
      () => undefined,
    );
  };
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="small" onClick={copy} aria-label={`${label}: ${text}`}>
        {copied.value ? 'Copied' : 'Copy'}
      </button>
      <span class="hidden" role="status">
        {copied.value ? 'Copied' : ''}
      </span>
    </span>
  );
}

/** A modal dialog, open while it is drawn. `closed` is called on Esc and the button. */
export function Dialog({
  title,
  closed,
  children,
}: {
  title: string;
  closed: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => before?.focus();
  }, []);
  return (
    <dialog ref={element} aria-label={title} onClose={closed}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => element.current?.close()}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** Tabs of links: each has an address. */
export function Tabs<T extends string>({
  label,
  tabs,
  shown,
  href,
  panel,
}: {
  label: string;
  tabs: readonly { readonly id: T; readonly title: string }[];
  shown: T;
  href: (tab: T) => string;
  panel: string;
}) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = all[(at + step + all.length) % all.length];
    next?.focus();
    next?.click();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ id, title }) => (
        <a
          key={id}
          role="tab"
          href={href(id)}
          aria-selected={id === shown}
          aria-controls={panel}
          tabIndex={id === shown ? 0 : -1}
        >
          {title}
        </a>
      ))}
    </div>
  );
}
