/** Which language of highlight.js the code of a file is in, by the file's name. */

/** Language, then what its files end with. */
const endings: readonly (readonly [language: string, ...endings: string[]])[] = [
  ['typescript', 'ts', 'tsx', 'mts', 'cts'],
  ['javascript', 'js', 'jsx', 'mjs', 'cjs'],
  ['json', 'json', 'jsonl', 'jsonc', 'webmanifest'],
  ['python', 'py', 'pyi'],
  ['bash', 'sh', 'bash', 'zsh', 'bats'],
  ['xml', 'html', 'htm', 'xml', 'svg', 'vue', 'svelte', 'xhtml'],
  ['css', 'css'],
  ['scss', 'scss', 'sass'],
  ['markdown', 'md', 'markdown', 'mdx'],
  ['yaml', 'yml', 'yaml'],
  ['ini', 'ini', 'toml', 'cfg', 'conf', 'editorconfig'],
  ['go', 'go'],
  ['rust', 'rs'],
  ['java', 'java'],
  ['kotlin', 'kt', 'kts'],
  ['swift', 'swift'],
  ['scala', 'scala'],
  ['c', 'c', 'h'],
  ['cpp', 'cc', 'cpp', 'cxx', 'hpp', 'hh'],
  ['csharp', 'cs'],
  ['ruby', 'rb', 'gemspec'],
  ['php', 'php'],
  ['perl', 'pl', 'pm'],
  ['lua', 'lua'],
  ['elixir', 'ex', 'exs'],
  ['sql', 'sql'],
  ['graphql', 'graphql', 'gql'],
  ['protobuf', 'proto'],
  ['dockerfile', 'dockerfile'],
  ['makefile', 'makefile', 'mk'],
  ['diff', 'diff', 'patch'],
];

const languageByEnding = new Map(endings.flatMap(([language, ...all]) => all.map((one) => [one, language])));

/** Files that are named otherwise. */
const languageByName = new Map([
  ['gemfile', 'ruby'],
  ['rakefile', 'ruby'],
  ['gnumakefile', 'makefile'],
  ['containerfile', 'dockerfile'],
  ['.bashrc', 'bash'],
  ['.profile', 'bash'],
]);

/** The name of the language; undefined for a file that is shown without colours. */
export function languageOfPath(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const ending = name.slice(name.lastIndexOf('.') + 1);
  return languageByName.get(name) ?? languageByEnding.get(ending);
}
