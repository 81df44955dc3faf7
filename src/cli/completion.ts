/** `factory completion`: scripts by which a shell completes commands, flags, pipelines and runs. */
import { bundledPipelines } from '../app/pipelines.ts';
import { usage } from './find-run.ts';
import { type Group, type Verb, type VerbResult, verbs } from './index.ts';
import type { Io } from './io.ts';

type Word = {
  readonly name: string;
  readonly about: string;
  readonly flags: readonly { readonly name: string; readonly about: string }[];
  /** What its first argument is. */
  readonly takes: 'run' | 'pipeline' | 'file';
  /** Words that may follow it. */
  readonly steps: readonly { readonly name: string; readonly about: string }[];
};

/** Prints the script for `shell`; the names of bundled pipelines are in it, runs are looked up when one types. */
export async function completionCommand(shell: string, _options: object, io: Io): Promise<VerbResult> {
  if (shell !== 'bash' && shell !== 'zsh' && shell !== 'fish')
    return usage(`there is no completion for ${shell}`, 'bash, zsh or fish');
  const words = verbs.map(wordOf);
  const pipelines = bundledPipelines();
  io.out(shell === 'fish' ? fish(words, pipelines) : bash(words, pipelines, shell === 'zsh'));
  return 0;
}

const nameOf = (usage: string): string => usage.split(' ', 1)[0] ?? '';

function wordOf(one: Verb | Group): Word {
  const all = 'verbs' in one ? [...one.verbs, ...(one.self === undefined ? [] : [one.self])] : [one];
  const flags = new Map(
    all.flatMap((verb) => verb.options().map(({ long, description }) => [long ?? '', description] as const)),
  );
  const takes = /[<[]runs?\b/.test(one.usage)
    ? 'run'
    : /[<[]pipelines?\b/.test(one.usage)
      ? 'pipeline'
      : 'file';
  return {
    name: nameOf(one.usage),
    about: one.about,
    flags: [...flags].map(([name, about]) => ({ name, about })),
    takes,
    steps: 'verbs' in one ? one.verbs.map(({ usage, about }) => ({ name: nameOf(usage), about })) : [],
  };
}

/** A script for bash; zsh reads it too, with its own emulation of completions for bash. */
function bash(words: readonly Word[], pipelines: readonly string[], zsh: boolean): string {
  const ofKind = (kind: Word['takes']) => words.filter(({ takes }) => takes === kind).map(({ name }) => name);
  const cases = words.map(
    ({ name, flags, steps }) =>
      `    ${name}) flags='${flags.map((flag) => flag.name).join(' ')}' steps='${steps.map((step) => step.name).join(' ')}' ;;`,
  );
  return `# Completion of factory for ${zsh ? 'zsh' : 'bash'}: ${zsh ? 'source <(factory completion zsh)' : 'source <(factory completion bash)'}
${zsh ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_factory() {
  local word="\${COMP_WORDS[COMP_CWORD]}" verb="\${COMP_WORDS[1]}" flags='' steps=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${words.map(({ name }) => name).join(' ')}' -- "$word"))
    return
  fi
  case "$verb" in
${cases.join('\n')}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")); return ;;
  esac
  case "$verb" in
    ${ofKind('run').join(' | ')})
      COMPREPLY=($(compgen -W "latest $(ls .factory/runs 2>/dev/null)" -- "$word")) ;;
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
      ...flags.map((flag) => `${seen} -l ${flag.name.replace(/^--/, '')} -d ${quoted(flag.about)}`),
      ...(takes === 'run' ? [`${seen} -f -a 'latest (command ls .factory/runs 2>/dev/null)'`] : []),
      ...(takes === 'pipeline' ? [`${seen} -a '${pipelines.join(' ')}'`] : []),
    ];
  });
  return `# Completion of factory for fish: factory completion fish | source\n${lines.join('\n')}\n`;
}
