/** Syntax colours: the highlighter and each language are loaded when a file first needs them. */
import { signal } from '@preact/signals';
import type { HLJSApi, LanguageFn } from 'highlight.js';
import { type CodeToken, tokenLines } from './text/code-tokens.ts';

type Loaded = { readonly default: LanguageFn };

const languages: Readonly<Record<string, () => Promise<Loaded>>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  csharp: () => import('highlight.js/lib/languages/csharp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  dockerfile: () => import('highlight.js/lib/languages/dockerfile'),
  elixir: () => import('highlight.js/lib/languages/elixir'),
  go: () => import('highlight.js/lib/languages/go'),
  graphql: () => import('highlight.js/lib/languages/graphql'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  kotlin: () => import('highlight.js/lib/languages/kotlin'),
  lua: () => import('highlight.js/lib/languages/lua'),
  makefile: () => import('highlight.js/lib/languages/makefile'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  perl: () => import('highlight.js/lib/languages/perl'),
  php: () => import('highlight.js/lib/languages/php'),
  protobuf: () => import('highlight.js/lib/languages/protobuf'),
  python: () => import('highlight.js/lib/languages/python'),
  ruby: () => import('highlight.js/lib/languages/ruby'),
  rust: () => import('highlight.js/lib/languages/rust'),
  scala: () => import('highlight.js/lib/languages/scala'),
  scss: () => import('highlight.js/lib/languages/scss'),
  sql: () => import('highlight.js/lib/languages/sql'),
  swift: () => import('highlight.js/lib/languages/swift'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
};

/** Languages whose files contain others. */
const contained: Readonly<Record<string, readonly string[]>> = { xml: ['css', 'javascript'] };

/** Characters that are coloured at once: more would be noticed while scrolling. */
const most = 100_000;

const highlighter = signal<HLJSApi | null>(null);
const ready = signal<ReadonlySet<string>>(new Set());
const asked = new Set<string>();

/** The coloured lines of a text; undefined without colours, and until its language is there. */
export function colouredLines(
  text: string,
  language: string | undefined,
): readonly (readonly CodeToken[])[] | undefined {
  if (language === undefined || text.length > most) return undefined;
  const known = ready.value.has(language) ? highlighter.value : null;
  if (known === null) {
    void load(language);
    return undefined;
  }
  return tokenLines(known.highlight(text, { language, ignoreIllegals: true }).value);
}

async function load(language: string): Promise<void> {
  if (asked.has(language)) return;
  asked.add(language);
  const names = [language, ...(contained[language] ?? [])];
  try {
    const [{ default: core }, ...all] = await Promise.all([
      import('highlight.js/lib/core'),
      ...names.map((name) => languages[name]?.()),
    ]);
    for (const [at, name] of names.entries()) {
      const one = all[at];
      if (one !== undefined) core.registerLanguage(name, one.default);
    }
    highlighter.value = core;
    ready.value = new Set([...ready.value, language]);
  } catch {
    // Without a connection the code stays without colours; all of it is readable.
  }
}
