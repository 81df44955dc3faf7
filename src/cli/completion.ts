/** `factory completion`: scripts by which a shell completes commands, flags, pipelines and runs. */
import { bundledPipelines } from '../app/pipelines.ts';
import { sharedFolders } from '../core/records/names.ts';
import { usage } from './find-run.ts';
import { verbName, verbs } from './index.ts';
import type { Io } from './io.ts';
import type { Group, Verb, VerbResult } from './verb.ts';

/** A flag, with the values that it takes if only some are valid. */
type Flag = { readonly name: string; readonly about: string; readonly values: readonly string[] };

const shells = ['bash', 'zsh', 'fish'];

type Word = {
  readonly name: string;
  readonly about: string;
  readonly flags: readonly Flag[];
  /** What its first argument is. */
  readonly takes: 'run' | 'pipeline' | 'job' | 'file';
  /** Words that may follow it. */
  readonly steps: readonly { readonly name: string; readonly about: string }[];
};

/** Prints the script for `shell`; the names of bundled pipelines are in it, runs are looked up when one types. */
export async function completionCommand(shell: string, _options: object, io: Io): Promise<VerbResult> {
  if (!shells.includes(shell)) return usage(`there is no completion for ${shell}`, 'bash, zsh or fish');
  const words = verbs.map(wordOf);
  const pipelines = bundledPipelines();
  io.out(shell === 'fish' ? fish(words, pipelines) : bash(words, pipelines, shell === 'zsh'));
  return 0;
}

function wordOf(one: Verb | Group): Word {
  const all = 'verbs' in one ? [...one.verbs, ...(one.self === undefined ? [] : [one.self])] : [one];
  const flags = new Map(
    all.flatMap((verb) =>
      verb.options().map(({ long, description, argChoices }): [string, Flag] => {
        const name = long ?? '';
        return [name, { name, about: description, values: argChoices ?? [] }];
      }),
    ),
  );
  const takes = /^queue\b/.test(one.usage)
    ? 'job'
    : /[<[]runs?\b/.test(one.usage)
      ? 'run'
      : /[<[]pipelines?\b/.test(one.usage)
        ? 'pipeline'
        : 'file';
  const name = verbName(one);
  const values = name === 'completion' ? shells : [];
  return {
    name,
    about: one.about,
    flags: [...flags.values()],
    takes,
    steps:
      'verbs' in one
        ? one.verbs.map((verb) => ({ name: verbName(verb), about: verb.about }))
        : values.map((value) => ({ name: value, about: '' })),
  };
}

/** Prints the ids of jobs: the names of their files have them. A sign that no id has is around them. */
const jobIds = `ls -R .factory/runs/queue 2>/dev/null | sed -n 's/^.*+\\([A-Za-z0-9._-]*\\)+[^+]*\\.json$/\\1/p'`;
const runIdsThere = `ls .factory/runs 2>/dev/null | grep '^[A-Za-z0-9._-]*$' | grep -vxE '${Object.values(sharedFolders).join('|')}'`;

/** A script for bash; zsh reads it too, with its own emulation of completions for bash. `compgen -W` executes what looks like a
 *  command in its words: names of folders are filtered before. */
function bash(words: readonly Word[], pipelines: readonly string[], zsh: boolean): string {
  const ofKind = (kind: Word['takes']) => words.filter(({ takes }) => takes === kind).map(({ name }) => name);
  const cases = words.map(
    ({ name, flags, steps }) =>
      `    ${name}) flags='${flags.map((flag) => flag.name).join(' ')}' steps='${steps.map((step) => step.name).join(' ')}' ;;`,
  );
  const valued = words.flatMap(({ name, flags }) =>
    flags
      .filter(({ values }) => values.length > 0)
      .map((flag) => `    '${name} ${flag.name}') values='${flag.values.join(' ')}' ;;`),
  );
  return `# Completion of factory for ${zsh ? 'zsh' : 'bash'}: ${zsh ? 'source <(factory completion zsh)' : 'source <(factory completion bash)'}
${zsh ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_factory() {
  local word="\${COMP_WORDS[COMP_CWORD]}" verb="\${COMP_WORDS[1]}" flags='' steps='' values=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${words.map(({ name }) => name).join(' ')}' -- "$word"))
    return
  fi
  case "$verb" in
${cases.join('\n')}
  esac
  case "$verb \${COMP_WORDS[COMP_CWORD-1]}" in
${valued.join('\n')}
  esac
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
    return
  fi
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")); return ;;
  esac
  case "$verb" in
    ${ofKind('run').join(' | ')})
      COMPREPLY=($(compgen -W "latest $(${runIdsThere})" -- "$word")) ;;
    ${ofKind('job').join(' | ')})
      if [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY=($(compgen -W "$steps" -- "$word"))
      else COMPREPLY=($(compgen -W "$(${jobIds})" -- "$word")); fi ;;
    ${ofKind('pipeline').join(' | ')})
      COMPREPLY=($(compgen -W '${pipelines.join(' ')}' -- "$word") $(compgen -f -- "$word")) ;;
    *)
      COMPREPLY=($(compgen -W "$steps" -- "$word") $(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _factory factory
`;
}

function fish(words: readonly Word[], pipelines: readonly string[]): string {
  const quoted = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`;
  const lines = words.flatMap(({ name, about, flags, takes, steps }) => {
    const seen = `complete -c factory -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c factory -f -n __fish_use_subcommand -a ${name} -d ${quoted(about)}`,
      ...steps.map((step) => `${seen} -a ${step.name} -d ${quoted(step.about)}`),
      ...flags.map(
        ({ name: flag, about: what, values }) =>
          `${seen} -l ${flag.replace(/^--/, '')} -d ${quoted(what)}${values.length === 0 ? '' : ` -x -a '${values.join(' ')}'`}`,
      ),
      ...(takes === 'run' ? [`${seen} -f -a 'latest (command ls .factory/runs 2>/dev/null)'`] : []),
      ...(takes === 'job'
        ? [
            `${seen} -f -a '(command ls -R .factory/runs/queue 2>/dev/null | string match -rg "^.*[+]([A-Za-z0-9._-]+)[+][^+]*[.]json")'`,
          ]
        : []),
      ...(takes === 'pipeline' ? [`${seen} -a '${pipelines.join(' ')}'`] : []),
    ];
  });
  return `# Completion of factory for fish: factory completion fish | source\n${lines.join('\n')}\n`;
}
