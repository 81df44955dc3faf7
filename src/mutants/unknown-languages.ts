/** Languages of programs that have no table of operators. Markup, styles, templates, data and settings are none of them. */
import { mutantLanguage } from './languages/index.ts';

const byEnding: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    Ada: 'adb ads',
    Assembly: 'asm s',
    Astro: 'astro',
    AWK: 'awk',
    Batch: 'bat cmd',
    C: 'c h',
    'C++': 'cc cpp cxx hh hpp hxx',
    'C#': 'cs csx',
    Clojure: 'clj cljc cljs',
    CoffeeScript: 'coffee',
    'Common Lisp': 'lisp',
    Crystal: 'cr',
    CUDA: 'cu cuh',
    Cython: 'pyx',
    Dart: 'dart',
    Elixir: 'ex exs',
    Elm: 'elm',
    'Emacs Lisp': 'el',
    Erlang: 'erl hrl',
    'F#': 'fs fsx',
    fish: 'fish',
    Fortran: 'f f77 f90 f95 f03',
    Gleam: 'gleam',
    GLSL: 'frag glsl vert',
    Groovy: 'groovy',
    Haskell: 'hs lhs',
    Julia: 'jl',
    Jupyter: 'ipynb',
    Kotlin: 'kt kts',
    'Korn shell': 'ksh',
    Lua: 'lua luau',
    Nim: 'nim',
    Nix: 'nix',
    'Objective-C': 'm mm',
    OCaml: 'ml mli',
    Pascal: 'pas pp',
    Perl: 'pl pm',
    PHP: 'php',
    PowerShell: 'ps1 psm1',
    Prolog: 'pro',
    R: 'r',
    Racket: 'rkt',
    Ruby: 'rb rake',
    Scala: 'sc scala',
    Scheme: 'scm ss',
    Solidity: 'sol',
    SQL: 'sql',
    Svelte: 'svelte',
    Swift: 'swift',
    Tcl: 'tcl',
    Verilog: 'sv v',
    VHDL: 'vhd vhdl',
    'Visual Basic': 'vb vbs',
    Vue: 'vue',
    WebAssembly: 'wat',
    WGSL: 'wgsl',
    Zig: 'zig',
    'Z shell': 'zsh',
  }).flatMap(([language, endings]) => endings.split(' ').map((ending) => [ending, language])),
);

/** The language of a program that cannot be mutated: by the ending of its name, else by its interpreter. Undefined for one that can be,
 *  and for what is no program. */
export function unknownLanguage(path: string, text = ''): string | undefined {
  if (mutantLanguage(path, text) !== undefined) return undefined;
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase();
  if (ending !== undefined && Object.hasOwn(byEnding, ending)) return byEnding[ending];
  if (/^html?$/.test(ending ?? '')) return hasScripts(text) ? 'HTML with scripts' : undefined;
  return interpreterIn(text);
}

/** `perl` of `#!/usr/bin/env -S perl -w`. */
const interpreterIn = (text: string): string | undefined =>
  /^#! *(?:\S*\/env +(?:-\S+ +|\w+=\S* +)*)?(?:\S*\/)?([\w.+-]+)/.exec(text)?.[1];

/** In the page itself, and not only data. */
const hasScripts = (text: string): boolean =>
  [...text.matchAll(/<script\b([^>]*)>\s*([^\s<])?/gi)].some(
    ([, attributes = '', first]) =>
      first !== undefined && !/\btype\s*=\s*["']?[\w/+.-]*(?:json|importmap)/i.test(attributes),
  );
