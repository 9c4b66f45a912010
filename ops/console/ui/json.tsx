import { Button } from '@mantine/core';
import { useState } from 'react';

/** More than this makes a page slow; all of it can be saved as a file. */
const MAX_SHOWN = 50_000;

/** A field with a megabyte of text freezes the page for longer than 10 s, since all its lines are laid out at once. */
export const MAX_EDITED = 20_000;

/** Characters that turn the text after them around are shown by their codes: a name must not look like another. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

export function withoutTurning(text: string): string {
  return text.replace(TURNING, codeOf);
}

/** A value as text: what a tenant has stored is never read as markup. */
export function JSONView({ value, label }: { value: unknown; label: string }) {
  const [isAll, setAll] = useState(false);
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined');
  const isCut = text.length > MAX_SHOWN && !isAll;
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section className="json" tabIndex={0} aria-label={label}>
        <pre dir="auto">{withoutTurning(isCut ? text.slice(0, MAX_SHOWN) : text)}</pre>
      </section>
      {isCut && (
        <p>
          The first {MAX_SHOWN.toLocaleString()} of {text.length.toLocaleString()} characters.{' '}
          <Button size="compact-xs" variant="default" onClick={() => setAll(true)}>
            Show all
          </Button>
        </p>
      )}
    </div>
  );
}

function codeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16)}`;
}
