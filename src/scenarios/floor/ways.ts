/** How a scenario reaches the product, by its text: what decides which product that does nothing it can be shown. */
import { readShell } from '../../core/policy/shell.ts';
import type { Needs } from '../discover.ts';
import {
  languageOf,
  onlyReads,
  productStarts,
  programOf,
  readsOnly,
  type ScriptFile,
  startCalls,
} from '../starts.ts';

/** `launcher`: by APP_RUN only. `mixed`: by APP_RUN and otherwise. `direct`: otherwise only. `nothing`: it starts no program but common
 *  tools of the system. `unknown`: it may reach a product in a way that its text does not show. */
export type ProductWay = 'launcher' | 'mixed' | 'direct' | 'nothing' | 'unknown';

/** `files`: the scenario and its helpers. Pure. */
export function wayOf(files: readonly ScriptFile[], needs: Needs): ProductWay {
  const launches = files.some(({ text }) => text.includes('APP_RUN'));
  const isDirect = files.some(({ name, text }) => productStarts(name, text).length > 0);
  if (launches) return isDirect ? 'mixed' : 'launcher';
  if (isDirect) return 'direct';
  // A product that runs elsewhere already.
  if (needs.hosts.length > 0) return 'unknown';
  const own = new Set(files.map(({ name }) => name.replace(/\.\w+$/, '')));
  const ways = files.map((file) => otherWay(file, own));
  return ways.find((way) => way === 'unknown') ?? ways.find((way) => way === 'direct') ?? 'nothing';
}

type OtherWay = Extract<ProductWay, 'direct' | 'nothing' | 'unknown'>;

/** What lint does not warn of: a program that may well be a fixture of the scenario. */
function otherWay({ name, text }: ScriptFile, own: ReadonlySet<string>): OtherWay {
  const language = languageOf(name, text);
  if (language === 'shell') return wayOfShell(text);
  return language === undefined ? 'unknown' : wayOfCode(text, language, own);
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** Programs of the system and words of shells that start nothing else. */
const common = words(
  'alias awk base64 basename bc break builtin cat cd chmod cksum cmp column comm command continue cp cut date dd declare df diff ' +
    'dirname du echo egrep eval exit expand export expr false fgrep file find fold gawk getopts git grep gunzip gzip hash head ' +
    'hexdump id jq kill last let ln local ls mapfile mawk md5sum mkdir mktemp mv nl od openssl paste popd pr printf pushd pwd read ' +
    'readarray readlink readonly realpath return rev rg rm rmdir sed seq set sha1sum sha256sum shasum shift shopt shuf sleep sort ' +
    'split stat strings sum tac tail tar tee test times touch tr trap true truncate tsort type typeset umask unalias uname unexpand ' +
    'uniq unset unzip wait wc whoami xargs xmllint xxd yes zcat zip : [ [[ (( . source',
);
const keywords = words(
  'for in do done case esac if then else elif fi while until select function { } ! time',
);
const inline = /^-(?:[a-zA-Z]*[cepn]|-eval|-print|-check|-version|-)?$/;
/** Text of a program in an argument or here-document that loads or starts something. */
const loads =
  /\b(?:require|import|from)\b\s*\(?\s*["'`]?(?!node:(?:fs|path|assert|util)|(?:fs|path|assert|util|ast|csv|hashlib|json|os|pathlib|re|sys|tokenize)\b)[\w./$]|(?<!\.)\b(?:spawn|exec\w*|fork|popen|system|fetch|runpy)\b|\bsubprocess\b/i;
const fedProgram =
  /\b(?:node|python[\d.]*|perl|ruby|(?:ba|da)?sh)\b[^\n]*<<-?[ \t]*["']?(\w+)["']?[^\n]*\n([\s\S]*?)\n\s*\1\b/g;

function wayOfShell(whole: string): OtherWay {
  // The product's programs by their bare names.
  if (/(?:^|[\s;&|(])PATH\+?=/m.test(whole)) return 'unknown';
  if ([...whole.matchAll(fedProgram)].some(([, , body = '']) => loads.test(body))) return 'direct';
  // Arithmetic and lists start nothing, but do not read as commands.
  const text = whole.replace(/\(\([^\n]*?\)\)/g, ':').replace(/(?<=\w\+?=)\([^()]*\)/g, 'x');
  const names = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name.trim());
  const own = new Set([
    ...names(/(?:^|[\s;])(?:function\s+)?([\w-]+)\s*\(\s*\)/g),
    ...names(/(?:^|[\s;])function\s+([\w-]+)/g),
    // Patterns of `case`.
    ...names(/(?:^|;;&?|;&|\bin\s)\s*\(?([^()\n;]+)\)/gm).flatMap((all) => all.split(/\s*\|\s*/)),
  ]);
  const mode = new Set(names(/(?:^|[\s;])(\w+)=[^\n]*SCENARIO_MODE/g));
  return readShell(text).commands.every(({ words: all }) => isHarmless(all, own, mode))
    ? 'nothing'
    : 'direct';
}

type Word = { readonly text: string; readonly raw: string };

/** Whether a command starts nothing but a common tool. `own`: names of the script's functions; `mode`: variables with SCENARIO_MODE. */
function isHarmless(all: readonly Word[], own: ReadonlySet<string>, mode: ReadonlySet<string>): boolean {
  const [program, ...args] = programOf(all);
  if (program === undefined || keywords.has(program.text)) return true;
  if (all.some(({ text }, at) => text === 'command' && /^-[vV]$/.test(all[at + 1]?.text ?? ''))) return true;
  // `"$mode"` calls one of the script's own functions.
  const variable = /^"?\$\{?(\w+)\}?"?$/.exec(program.raw)?.[1];
  if (variable !== undefined) return variable === 'SCENARIO_MODE' || mode.has(variable);
  // `trap 'rm -r "$work"' EXIT`
  const [first = ''] = program.text.trim().split(/\s+/);
  const name = first.split('/').at(-1) ?? '';
  if (name === '' || name === '-' || common.has(name) || own.has(name) || own.has(program.text)) return true;
  // `node -e`, `python3 -c`, `bash -n`, `python3 -m json.tool`.
  return (
    interpreter.test(name) &&
    (readsOnly(args) ||
      (args.some(({ text }) => inline.test(text)) && !args.some(({ text }) => loads.test(text))))
  );
}

const interpreter = /^(?:ba|da)?sh$|^(?:node|python[\d.]*|perl|ruby)$/;

/** Modules that start and reach nothing. */
const pythonModules = words(
  'abc argparse array ast base64 binascii bisect bz2 calendar cmath codecs collections configparser contextlib copy csv dataclasses ' +
    'datetime decimal difflib enum errno fcntl filecmp fnmatch fractions functools getopt getpass glob grp gzip hashlib heapq hmac ' +
    'html inspect io ipaddress itertools json keyword linecache locale logging lzma math mimetypes numbers operator optparse os ' +
    'pathlib pickle platform pprint pwd queue random re secrets shlex shutil signal sqlite3 stat statistics string struct ' +
    'subprocess symtable sys tarfile tempfile textwrap threading time timeit token tokenize tomllib traceback types typing ' +
    'unicodedata unittest uuid warnings weakref xml zipfile zlib zoneinfo __future__',
);
const nodeModules = words(
  'assert buffer child_process console constants crypto events fs module os path perf_hooks process querystring readline stream ' +
    'string_decoder timers tty url util zlib test',
);

function wayOfCode(text: string, language: 'python' | 'node', own: ReadonlySet<string>): OtherWay {
  const modules =
    language === 'python'
      ? [...text.matchAll(/^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))/gm)].flatMap(
          ([, from, names = '']) =>
            (from ?? names).split(',').map((one) => one.trim().split(/[.\s]/)[0] ?? ''),
        )
      : [...text.matchAll(/\b(?:require|import)\s*\(\s*([^)]*)\)|\bfrom\s+(["'][^"']+["'])/g)].map(
          ([, called, from = '']) => (called ?? from).trim(),
        );
  const isKnown = (one: string): boolean => {
    if (language === 'python') return pythonModules.has(one) || own.has(one);
    const [, path = ''] = /^["'`]([^"'`$]+)["'`]$/.exec(one) ?? [];
    return path.startsWith('./') || nodeModules.has(path.replace(/^node:/, '').split('/')[0] ?? '');
  };
  const reaches =
    language === 'node'
      ? /\bfetch\s*\(|\bimport\s+["']/
      : /\b(?:exec|eval)\s*\(|\bsys\.path\b|\bimportlib\b|\b__import__\b/;
  if (reaches.test(text) || !modules.every(isKnown)) return 'unknown';
  return startCalls(text, language).every(startsCommon) ? 'nothing' : 'direct';
}

/** Whether the arguments of a call begin with the name of a common program: `["grep", …`, `"grep -q x"`. */
const startsCommon = (call: string): boolean =>
  onlyReads.test(call) || common.has(/^\s*[[(]?\s*["'`]([\w.-]+)(?:["'`]|\s)/.exec(call)?.[1] ?? '');
