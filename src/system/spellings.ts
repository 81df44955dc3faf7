/** How a value may be spelled: as texts that quote it, in base64, in hex. */

/** A shorter value has encodings too short to be told from other text. */
const shortestEncoded = 8;

/** The value itself and the escapes that JSON, shells of the web and HTML put into it. */
export function textForms(value: string): Buffer[] {
  const forms = [value];
  if (value.length >= shortestEncoded) {
    const json = JSON.stringify(value).slice(1, -1);
    const backslashed = value.replaceAll('\\', '\\\\');
    forms.push(json, JSON.stringify(json).slice(1, -1));
    for (const upper of [false, true]) {
      const escaped = [
        inUnicode(json, beyondAscii, upper),
        // What a page would take for its own, as Go writes it, as templates do, and as .NET and PHP do.
        inUnicode(json, /[&<>\u0080-\uffff]/g, upper),
        inUnicode(json, /[&<>\u2028\u2029]/g, upper),
        inUnicode(json, /[&<>'\u0080-\uffff]/g, upper),
        inUnicode(json, /[&<>'\u2028\u2029]/g, upper),
        inUnicode(backslashed, /["&'<>\u0000-\u001f\u0080-\uffff]/g, upper),
        inUnicode(backslashed, /["&'<>+`\u0000-\u001f\u007f-\uffff]/g, upper),
      ];
      forms.push(...escaped, ...escaped.map((one) => one.replaceAll('/', '\\/')));
      forms.push(inUnicode(value, /[\s\S]/g, upper));
    }
    forms.push(
      value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
      value
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;'),
    );
  }
  return unique(forms);
}

const beyondAscii = /[\u0080-\uffff]/g;

/** With these characters as `\u0041`. */
const inUnicode = (text: string, which: RegExp, upper: boolean): string =>
  text.replace(which, (c) => {
    const hex = c.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${upper ? hex.toUpperCase() : hex}`;
  });

/** What stands where the value is URL-encoded, once that is decoded; a form's `+` is a blank. */
export const urlForms = (value: string): Buffer[] =>
  value.length < shortestEncoded ? [] : unique([value, value.replaceAll(' ', '+')]);

/** The characters of base64 that the value alone decides, wherever in a text it begins: three alignments. */
export function base64Forms(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  if (bytes.length < shortestEncoded) return [];
  return [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const whole = Math.floor(((shift + bytes.length) * 8) / 6);
    return Buffer.from(text.slice(Math.ceil((shift * 8) / 6), whole));
  });
}

/** In lower case. */
export const hexForms = (value: string): Buffer[] =>
  Buffer.byteLength(value) < shortestEncoded ? [] : [Buffer.from(Buffer.from(value).toString('hex'))];

const unique = (forms: readonly string[]): Buffer[] =>
  [...new Set(forms)].filter((form) => form !== '').map((form) => Buffer.from(form));
