/** The only module that loads code of a project. A separate file of the build: the script with all others has no `import()`. */

/** Everything that the module exports. */
export const importModule = (url: string): Promise<Readonly<Record<string, unknown>>> =>
  import(url) as Promise<Readonly<Record<string, unknown>>>;
