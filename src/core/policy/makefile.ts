/** The parts of a makefile or justfile that decide what a target does, by their names in messages. */

export const isMakefile = (path: string): boolean =>
  /(?:^|\/)(?:GNUmakefile|[Mm]akefile|\.?[Jj]ustfile)$|\.mk$/.test(path);
const isJustfile = (path: string): boolean => /ustfile$/.test(path);

/** Everything that applies to all targets: includes, conditions, exports, special targets, pattern rules. */
export const makeDirectives = 'directives';
const special = /^(?:SHELL|VPATH|GPATH|MAKE\w*|GNUMAKEFLAGS|\..*)$/;
const assignment =
  /^ *((?:(?:export|override|private|unexport) +)*)([^\s:#=+?!'"]+) *(?:\?|:{1,3}|\+|!)?=(.*)$/s;
const running = /\$[({](?:shell|eval|file|guile)\b|^[^=]*!=/;
/** Targets of make that say something about those that they name. */
const about = /^\.(?:PHONY|SILENT|IGNORE|PRECIOUS|INTERMEDIATE|SECONDARY|DELETE_ON_ERROR)$/;

/** `target NAME`: its rules with their recipes; `variable NAME`; `directives`. A variable that make itself uses, that is
 *  exported, or whose value runs something is a directive. */
export function makeSettings(path: string, text: string): Map<string, string> {
  const found = new Map<string, string>();
  const add = (name: string, line: string) => found.set(name, `${found.get(name) ?? ''}${line}\n`);
  let current: readonly string[] = [];
  let defined: string | undefined;
  const isRecipe = isJustfile(path) ? /^[ \t]/ : /^\t/;
  for (const line of text.replace(/\r/g, '').split(/(?<!\\)\n/)) {
    if (defined !== undefined) {
      add(defined, line);
      if (/^\s*endef\b/.test(line)) defined = undefined;
    } else if (isRecipe.test(line) && current.length > 0) for (const name of current) add(name, line);
    else if (line.trim() === '' || /^\s*#/.test(line)) continue;
    else {
      const { names, defines, mark } = namesOf(line, isJustfile(path));
      for (const name of names) add(name, mark ?? line);
      if (defines) [defined] = names;
      else current = names.every((name) => !name.startsWith('variable ')) ? names : [];
    }
  }
  return found;
}

/** What a line outside a recipe belongs to. */
function namesOf(
  line: string,
  isJust: boolean,
): {
  readonly names: readonly string[];
  readonly defines?: true;
  /** What the line says of each of them. */
  readonly mark?: string | undefined;
} {
  const define = /^ *(?:override +)?define +(\S+)/.exec(line);
  if (define !== null) return { names: [`variable ${define[1]}`], defines: true };
  const [, exported = '', name, value = ''] = assignment.exec(line) ?? [];
  if (name !== undefined)
    return { names: [isGlobal(exported, name, line, value) ? makeDirectives : `variable ${name}`] };
  // A recipe of just has parameters after its name.
  const recipe = isJust ? /^@?([\w-]+)(?:\s[^:]*)?:(?!=)/.exec(line)?.[1] : undefined;
  if (recipe !== undefined) return { names: [`target ${recipe}`] };
  const [, left, right = ''] = /^([^\t#=][^:#=]*?)\s*::?(?![:=])(.*)$/s.exec(line) ?? [];
  if (left === undefined) return { names: [makeDirectives] };
  const targets = left.split(/\s+/);
  const named = targets.some((one) => about.test(one)) ? right.trim().split(/\s+/) : targets;
  const isPlain = named.every((one) => /^[\w./@+-]+$/.test(one) && !/^\.[A-Z_]+$/.test(one));
  if (!isPlain || named[0] === '') return { names: [makeDirectives] };
  return { names: named.map((one) => `target ${one}`), mark: targets.find((one) => about.test(one)) };
}

const isGlobal = (exported: string, name: string, line: string, value: string): boolean =>
  special.test(name) || /export/.test(exported) || running.test(line) || running.test(value);

/** Names of the variables that a text expands. */
export const makeVariables = (text: string): readonly string[] =>
  [...text.matchAll(/\$(?:[({]([\w.-]+)|([A-Za-z](?!\w)))|\{\{\s*(\w+)/g)].map(
    ([, long, short, just]) => long ?? short ?? just ?? '',
  );

/** The files that directives include: patterns in which `*` stands for what is not known. */
export const includedIn = (directives: string): readonly string[] =>
  [...directives.matchAll(/^ *(?:-include|sinclude|include|import\??|mod\??) +(.+)$/gm)].flatMap(
    ([, files = '']) =>
      files
        .replace(/\$[({]wildcard +([^)}]*)[)}]/g, '$1')
        .replace(/\$[({][^)}]*[)}]/g, '*')
        .replace(/#.*|['"]/g, '')
        .trim()
        .split(/\s+/)
        .map((file) => file.replace(/^(?:\.\/)+/, '')),
  );

/** The lines of a target that run, without the characters that only make or just reads. */
export const recipeOf = (text: string): readonly string[] =>
  text
    .split(/(?<!\\)\n/)
    .filter((line) => /^[ \t]/.test(line))
    .map((line) => line.trim().replace(/^[@+-]+/, ''));

/** The other targets that a target needs. */
export const targetsNeeded = (text: string): string =>
  text
    .split(/(?<!\\)\n/)
    .filter((line) => !/^[ \t]/.test(line) && !/^\.[A-Z]/.test(line))
    .map((line) => line.slice(line.indexOf(':') + 1).replace(/#.*|\\\n|\|/g, ' '))
    .join(' ')
    .trim();
