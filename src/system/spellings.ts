/** The ways programs write a value: unchanged, escaped for JSON, encoded for a URL, in base64. */

/** Encodings of a shorter value may occur in other text by chance. */
const shortestEncoded = 8;

/** Every spelling of a value and, where it has several lines, of each line that is long enough; one character per byte
 *  (latin1), no duplicates. */
export function spellingsOf(value: string): string[] {
  const lines = value.split(/[\r\n]+/).filter((line) => line.length >= shortestEncoded && !armour.test(line));
  const spellings = [value, ...lines].flatMap((part) =>
    part.length < shortestEncoded
      ? [latin1(part)]
      : [...[part, ...jsonForms(part), ...urlForms(part)].map(latin1), ...base64Forms(part)],
  );
  return [...new Set(spellings)].filter((spelling) => spelling !== '');
}

/** The lines around a PEM block are no secret. */
const armour = /^-----/;

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** As JSON escapes it, with characters beyond ASCII escaped (Python) or those of HTML (Go); each also in a JSON
 *  text within a JSON text. */
function jsonForms(value: string): string[] {
  const json = quoted(value);
  const forms = [json, escaped(json, /[\u0080-\uffff]/g), escaped(json, /[&<>]/g)];
  return [...forms, ...forms.map(quoted)];
}

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
const escaped = (text: string, which: RegExp): string =>
  text.replace(which, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** As a component of a URL and in a form; with and without `!'()*` and `/` encoded, in either case. */
function urlForms(value: string): string[] {
  const form = new URLSearchParams([['', value]]).toString().slice(1);
  const component = form.replaceAll('+', '%20');
  const lax = component.replace(/%(?:21|27|28|29|7E)/g, (code) => decodeURIComponent(code));
  const forms = [form, component, lax].flatMap((one) => [one, one.replaceAll('%2F', '/')]);
  return [...forms, ...forms.map((one) => one.replace(/%../g, (code) => code.toLowerCase()))];
}

/** The base64 characters, in either alphabet, that depend on the value alone: one spelling for each of the three
 *  offsets at which it may begin. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const decided = text.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
    return [decided, decided.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
