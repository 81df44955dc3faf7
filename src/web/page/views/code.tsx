/** Lines of code, drawn as text: colours are classes of parts, never markup that came with the text. */
import type { LinePart } from '../text/code-tokens.ts';

export function CodeParts({ parts }: { parts: readonly LinePart[] }) {
  return (
    <>
      {parts.map(({ text, colour, changed }, at) =>
        colour === '' && !changed ? (
          text
        ) : (
          <span key={at} class={changed ? `${colour} word` : colour}>
            {text}
          </span>
        ),
      )}
    </>
  );
}
