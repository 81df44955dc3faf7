/** The text of a program for another process: see scripts/program-text.mjs. */
declare module '*?program' {
  const text: string;
  export default text;
}
